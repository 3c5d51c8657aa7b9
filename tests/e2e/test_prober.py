"""A guest that fails while nothing runs is put back before a turn meets it: real workers and a real face host."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from thetis_kernel.gateway.probing import prober_of
from thetis_kernel.protocol.events import SHIPPED, Incident
from thetis_kernel.protocol.worker import GuestBundle, ProbeAgent

from tests.e2e.gates import compiled
from tests.support.gateways import Opened, gateway

pytestmark = pytest.mark.runtimes
AGENTS = {
    "exit": "def health() -> dict:\n    raise SystemExit(3)\n",
    "type": "def health() -> dict:\n    return {}\n",
    "error": "def health() -> dict:\n    return {}['gone']\n",
    "": "from thetis_guest import sys\ndef health() -> dict:\n    sys.kv_get('x')\n    return {'ok': True}\n",
}
RENDERERS = {"exit": "def render_events(events: list) -> list:\n    raise SystemExit(3)\n"}


async def changed(opened: Opened) -> str:
    """A conversation at rest whose agent and renderer are its own, in their second revisions, with a living worker."""
    session = await opened.start("hello")
    await opened.client.wait_idle(session)
    for path, old in (("aspects/agent_core/prompt.py", "# How to talk"), ("aspects/gateway_tui/main.py", "from __future__")):
        for words in ("# first\n", "# second\n"):
            text = (await opened.client.devkit(session, "read-code", path=path, limit="100000"))["text"]
            assert old in text
            answer = await opened.client.devkit(session, "write-code", path=path, contents=f"{text}\n{words}")
            assert answer["ok"], answer
    return session


async def test_an_agent_and_a_renderer_that_fail_at_rest_are_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway(tmp_path) as opened:
        session = await changed(opened)
        prober, guests = prober_of(opened.gateway), opened.gateway.guests
        state = await opened.gateway.log.state(session)
        before = {aspect: change.revision for aspect, change in state.guests.items()}
        worker = opened.worker_pid(session)
        await prober.look()
        assert {aspect: change.revision for aspect, change in state.guests.items()} == before  # both are well

        agent, renderer = await guests.agent(session), await guests.renderer(session)
        good = {"agent": agent, "renderer": renderer}

        def serving(name: str, bundle: str) -> None:
            async def now(asked: str = "") -> GuestBundle:
                return msgspec.structs.replace(good[name], key=f"{name}-broken", bundle=bundle)

            monkeypatch.setattr(guests, name, now)

        serving("agent", compiled(AGENTS["exit"]))
        serving("renderer", compiled(RENDERERS["exit"]))
        await prober.look()
        state = await opened.gateway.log.state(session)
        assert all(state.guests[aspect].revision not in (SHIPPED, before[aspect]) for aspect in before)  # their first ones
        told = [event for event in await opened.log(session) if isinstance(event, Incident)]
        assert [(one.code, one.data["aspect"], one.data["kind"]) for one in told] == [
            ("guest-put-back", "agent", "exit"), ("guest-put-back", "gateway/tui", "exit")]  # fmt: skip
        assert all("while nothing ran" in one.data["detail"] for one in told)
        assert opened.worker_pid(session) == worker


@pytest.mark.parametrize("kind", AGENTS)
async def test_the_worker_says_how_the_health_went(tmp_path: Path, kind: str) -> None:
    async with gateway(tmp_path) as opened:
        session = (await opened.client.create(origin="headless")).id
        worker = await opened.gateway.workers.ensure(session)
        told = await worker.peer.call(ProbeAgent(agent=GuestBundle("agent", "k", compiled(AGENTS[kind]))), timeout=60)
        assert told.failure == kind and bool(told.detail) == bool(kind)
