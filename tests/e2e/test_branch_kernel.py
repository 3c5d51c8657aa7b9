"""A branch's kernel: runs nothing before a person approved exactly that tree, is tried, and falls back when it dies early."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from thetis_kernel.client import GatewayClient
from thetis_kernel.config.loading import load
from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.fleet import worker_name
from thetis_kernel.gateway.gateway import Gateway
from thetis_kernel.gateway.trust import root_is_trusted
from thetis_kernel.paths import builtin_root, root_paths
from thetis_kernel.protocol.events import Incident, TurnFinished

from tests.support.thetis import World

pytestmark = pytest.mark.runtimes
SERVICE = "kernel/thetis_kernel/hosts/worker/service.py"
WORKER = "kernel/thetis_kernel/hosts/worker/__init__.py"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A trusted repository that is a checkout of Thetis: its agent, contract and kernel."""
    made = World(tmp_path)
    made.repository.mkdir()
    for name in ("aspects", "kernel", "wit"):
        shutil.copytree(builtin_root() / name, made.repository / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    made.make_repository({"README.md": "# Thetis\n"})
    for name in ("THETIS_STATE", "THETIS_REHEARSAL_DELAY_MS", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, made.environ[name])
    made.run("trust", "--yes")
    return made


@asynccontextmanager
async def opened(world: World) -> AsyncIterator[tuple[Gateway, GatewayClient]]:
    loaded = load(world.repository, world.base / "none.toml", environ={}, trusted=root_is_trusted(world.repository))
    gateway = await Gateway.open(root_paths(world.repository), loaded)
    try:
        yield gateway, await gateway.connect()
    finally:
        await gateway.close()


async def say(client: GatewayClient, session: str, text: str) -> None:
    await client.submit(session, text)
    await client.wait_idle(session)


def runs(gateway: Gateway, session: str) -> str:
    """The tree the conversation's worker was started with, "" for the kernel that runs here."""
    child = gateway.fleet.supervisor.get(worker_name(session))
    assert child is not None
    words = Path(f"/proc/{child.pid}/cmdline").read_bytes().split(b"\0")
    kernels = [Path(word.decode()) for word in words if b"/kernels/" in word]
    return kernels[0].parent.name if kernels else ""


async def logged(client: GatewayClient, session: str, kind: type) -> list[object]:
    return [event.body for event in (await client.read(session, 0, 1000)).events if isinstance(event.body, kind)]


async def test_it_runs_after_approval_of_exactly_that_tree(world: World) -> None:
    async with opened(world) as (gateway, client):
        session = (await client.create(origin="headless")).id
        await say(client, session, "list")
        assert (await client.kernel(session)).how == "same" and runs(gateway, session) == ""
        await say(client, session, f'replace "REMEMBERED = 64" with "REMEMBERED = 65" in {SERVICE}')
        waiting = await client.kernel(session)
        assert (waiting.how, [each.path for each in waiting.changed]) == ("waiting", [SERVICE])
        await gateway.workers.discard(session)
        await say(client, session, "list")
        assert runs(gateway, session) == "", "nothing of it runs before a person's word"
        for tree in ("0" * 40, waiting.tree[:10]):
            with pytest.raises(ThetisError, match="another kernel"):
                await client.kernel(session, tree)
        assert (await client.kernel(session, waiting.tree)).how == "approved"
        await say(client, session, "list")
        assert runs(gateway, session) == waiting.tree
        assert [end.stopped_by for end in await logged(client, session, TurnFinished)] == ["stop"] * 4  # type: ignore[attr-defined]

        # any change of it waits again
        await say(client, session, f'replace "REMEMBERED = 65" with "REMEMBERED = 66" in {SERVICE}')
        assert (await client.kernel(session)).how == "waiting"
        await gateway.workers.discard(session)
        await say(client, session, "list")
        assert runs(gateway, session) == ""


async def test_one_that_does_not_start_is_not_adopted(world: World) -> None:
    async with opened(world) as (gateway, client):
        session = (await client.create(origin="headless")).id
        await say(client, session, f'replace "from __future__ import annotations" with "raise SystemExit(3)" in {WORKER}')
        tree = (await client.kernel(session)).tree
        await client.kernel(session, tree)
        await say(client, session, "list")
        assert runs(gateway, session) == "" and (await client.kernel(session)).how == "abandoned"
        [told] = await logged(client, session, Incident)
        assert told.code == "branch-kernel-abandoned" and "does not start" in told.message  # type: ignore[attr-defined]


async def test_two_early_deaths_fall_back_and_the_turn_is_carried_out(world: World) -> None:
    async with opened(world) as (gateway, client):
        session = (await client.create(origin="headless")).id
        await say(client, session, f'replace "            opened = stores_opened()" with "            os._exit(9)" in {SERVICE}')
        tree = (await client.kernel(session)).tree
        await client.kernel(session, tree)
        await say(client, session, "list")
        assert (await logged(client, session, TurnFinished))[-1].stopped_by == "stop"  # type: ignore[attr-defined]
        assert runs(gateway, session) == "" and (await client.kernel(session)).how == "abandoned"
        told = [each for each in await logged(client, session, Incident) if each.code == "branch-kernel-abandoned"]  # type: ignore[attr-defined]
        assert len(told) == 1 and "died 2 times" in told[0].message  # type: ignore[attr-defined]


def test_the_command_shows_and_approves(world: World) -> None:
    session = world.events(f'replace "REMEMBERED = 64" with "REMEMBERED = 65" in {SERVICE}')[0]["session"]
    shown = world.run("kernel", session, check=False)
    assert shown.returncode == 1 and SERVICE in shown.stdout and "--approve" in shown.stdout
    assert world.run("kernel", session, "--approve").returncode == 0
    assert json.loads(world.run("kernel", session, "--json").stdout)["how"] == "approved"
    assert world.run("kernel", session, "--revoke", check=False).returncode == 1
