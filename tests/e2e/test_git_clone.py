"""git_clone through a whole gateway: consent, progress, the files in the workspace, and nothing left of what failed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from thetis_kernel.protocol.client import Delta
from thetis_kernel.protocol.events import Approval, ToolInvocation, ToolResult, TurnFinished

from tests.support.gateways import Opened
from tests.support.gateways import gateway as open_gateway
from tests.support.git_server import bare, git, git_server

pytestmark = pytest.mark.runtimes
FILES = {"README.md": "# One\n", "src/a.py": "print()\n"}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    bare(tmp_path / "served", "one", FILES)
    return tmp_path / "served"


async def finished(gateway: Opened, count: int = 1) -> None:
    await gateway.until_event(TurnFinished, count)


async def result(gateway: Opened, session: str) -> ToolResult:
    found: list[ToolResult] = [body for body in await gateway.log(session) if isinstance(body, ToolResult)]
    return found[-1]


async def test_a_person_says_yes_and_it_lies_in_the_workspace(tmp_path: Path, base: Path) -> None:
    with git_server(base) as server:
        async with open_gateway(tmp_path) as gateway:
            await gateway.client.attend("screen")
            session = await gateway.start(f"clone {server.url}/ok/one.git")
            await gateway.until_event(Approval)
            [request] = await gateway.client.approvals(session)
            assert "within your own network" in request.where
            assert server.paths == []
            await gateway.client.decide(request, session, "allow-once")
            await finished(gateway)
            done = await result(gateway, session)
            assert (done.outcome, "/workspace/one" in done.content) == ("ok", True)
            told = [tell for tell in gateway.heard if isinstance(tell, Delta) and tell.kind == "output"]
            assert any("of" in tell.text for tell in told)
            assert {tell.call for tell in told} == {done.call}
            place = gateway.gateway.paths.workspace / "one"
            assert (place / "src" / "a.py").read_text() == FILES["src/a.py"]
            assert git(place, "status", "--porcelain") == ""
            assert not list((gateway.gateway.paths.base / "clones").iterdir())

            await gateway.client.submit(session, f"clone {server.url}/ok/one.git")
            await gateway.until_event(Approval, 3)
            [request] = await gateway.client.approvals(session)
            await gateway.client.decide(request, session, "allow-once")
            await finished(gateway, 2)
            assert "is there already" in (await result(gateway, session)).content


async def test_headless_it_is_refused_with_the_way_out(tmp_path: Path, base: Path) -> None:
    with git_server(base) as server:
        async with open_gateway(tmp_path) as gateway:
            session = await gateway.start(f"clone {server.url}/ok/one.git")
            await finished(gateway)
            done = await result(gateway, session)
            assert done.outcome == "refused"
            assert "nobody to ask" in done.content
            assert server.paths == []
            assert not (gateway.gateway.paths.workspace / "one").exists()


async def test_a_stop_ends_a_silent_clone_and_leaves_nothing(tmp_path: Path, base: Path) -> None:
    with git_server(base) as server:
        async with open_gateway(tmp_path) as gateway:
            await gateway.client.attend("screen")
            session = await gateway.start(f"clone {server.url}/silent/one.git")
            await gateway.until_event(Approval)
            [request] = await gateway.client.approvals(session)
            await gateway.client.decide(request, session, "allow-once")
            await gateway.eventually(server.silent.is_set)
            await gateway.client.stop(session)
            await finished(gateway)
            bodies = await gateway.log(session)
            assert [body.outcome for body in bodies if isinstance(body, ToolResult)][-1] in ("cancelled", "interrupted")
            assert len([body for body in bodies if isinstance(body, ToolInvocation)]) == 1
            clones = gateway.gateway.paths.base / "clones"
            await gateway.eventually(lambda: not list(clones.iterdir()))
            assert not os.path.lexists(gateway.gateway.paths.workspace / "one")
