"""Other machines from a conversation: who is asked, what is refused, and that nothing of the registry is kept anywhere.

The machine is an asyncssh server in this process; the rest are the real gateway, worker and guests.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import Refused
from thetis_kernel.gateway.machines import Machines
from thetis_kernel.paths import root_paths
from thetis_kernel.protocol.events import Approval, SystemNote, ToolResult
from thetis_kernel.protocol.machines import (
    AcceptMachineKey,
    ListMachines,
    PlanMachine,
    ReachMachine,
    RemoveMachine,
    RenameMachine,
    SetMachine,
)
from thetis_kernel.ssh.registry import FILE, Registry
from thetis_kernel.ssh.trust import Trust

from tests.support.gateways import Opened, bodies, gateway
from tests.support.ssh_server import AsyncServer
from tests.support.sshd import keypair
from tests.support.thetis import World

pytestmark = [
    pytest.mark.runtimes,
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),  # asyncssh's, at its server's end
]
CANARIES = ("canary-user-71", "canary-key-72")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AsyncServer]:
    made = AsyncServer(tmp_path / "machine")
    made.start()
    yield made
    made.stop()


def register(base: Path, server: AsyncServer, *, vouched: bool = True, known: bool = False, **fields: Any) -> Registry:
    """The registry of a world's root, as a person made it."""
    world = World(base)
    if not (world.repository / ".git").exists():
        world.make_repository({"README.md": "# Test\n"})
    key = base / CANARIES[1]
    if not key.exists():
        server.allow(keypair(key))
    registry = Registry(world.repository)
    host = registry.set("build", {"host": "127.0.0.1", "port": server.port, "user": CANARIES[0], "identity_file": str(key),
                                  "description": "builds things", **fields})
    trust = Trust(root_paths(world.repository, world.environ).base)
    if vouched:
        trust.vouch("build", host)
    if known:
        trust.accept(host, server.public_key, instead=True)
    return registry


async def request(g: Opened, session: str) -> Approval:
    async with asyncio.timeout(60):
        while not (found := await g.client.approvals(session)):
            await asyncio.sleep(0.02)
    return found[0]


async def said(g: Opened, session: str, prompt: str) -> list[ToolResult]:
    """Say it, wait, and what the tools answered in all."""
    await g.client.submit(session, prompt)
    await g.client.wait_idle(session)
    return await results(g, session)


async def results(g: Opened, session: str) -> list[ToolResult]:
    return [body for body in await g.log(session) if isinstance(body, ToolResult)]


async def test_a_key_nobody_has_seen_is_put_to_a_person_with_its_fingerprint(tmp_path: Path, server: AsyncServer) -> None:
    register(tmp_path, server, remote_cwd="")
    async with gateway(tmp_path) as g:
        await g.client.attend("screen")
        session = (await g.client.create(origin="tui", mode="agent")).id
        await g.client.submit(session, "on build run echo over there")
        asked = await request(g, session)
        assert asked.capability == "ssh" and asked.what == "Trust the host key of build" and "Nobody has looked" in asked.where
        assert "SHA256:" in asked.detail and asked.parts == [] and server.logins == 0
        await g.client.decide(asked, session, "deny")
        await g.client.wait_idle(session)
        assert [one.outcome for one in await results(g, session)] == ["refused"] and server.logins == 0

        await g.client.submit(session, "on build run echo over there then cat")
        await g.client.decide(await request(g, session), session, "allow-once")
        await g.client.wait_idle(session)
        told = await results(g, session)
        assert [one.outcome for one in told[1:]] == ["ok"] * 3 and "over there" in told[2].content
        other = (await g.client.create(origin="tui", mode="agent")).id
        assert "again" in (await said(g, other, "on build run echo again"))[-1].content, "a machine is known to all conversations"
        assert await g.client.approvals(other) == []


async def test_in_a_run_nobody_trusts_anything(tmp_path: Path, server: AsyncServer) -> None:
    registry = register(tmp_path, server)
    async with gateway(tmp_path) as g:
        await g.client.attend("run")
        session = await g.start("on build run true")
        await g.client.wait_idle(session)
        [refused] = await results(g, session)
        assert refused.outcome == "refused" and "host key" in refused.content
        registry.set("build", {"user": "somebody-else"})  # not by a person's own command: nobody vouches
        told = await said(g, session, "on build run true")
        assert told[-1].outcome == "refused" and "thetis ssh trust build" in told[-1].content
        registry.file.chmod(0o644)
        told = await said(g, session, "on build run true")
        assert told[-1].outcome != "ok" and "open to other users" in told[-1].content
        registry.file.write_text("[build\n")
        registry.file.chmod(0o600)
        told = await said(g, session, "which machines are there?")
        assert "ssh-hosts.local.toml:1" in told[-1].content
        told = await said(g, session, "run echo everything else works")
        assert told[-1].outcome == "ok" and server.logins == 0


async def test_commands_over_there_pass_approvals_as_those_here_do(tmp_path: Path, server: AsyncServer) -> None:
    register(tmp_path, server, known=True)
    async with gateway(tmp_path) as g:
        await g.client.attend("screen")
        await g.client.add_rule("exec", "*")
        session = (await g.client.create(origin="tui", mode="ask")).id
        await g.client.submit(session, "on build run echo one")
        asked = await request(g, session)
        assert (asked.capability, asked.what) == ("ssh", "Open a shell on build")
        await g.client.decide(asked, session, "allow-once")
        async with asyncio.timeout(60):
            while (found := await g.client.approvals(session)) in ([], [asked]):
                await asyncio.sleep(0.02)
        assert (found[0].capability, found[0].what, found[0].detail) == ("ssh", "Run a command on build", "echo one")
        assert found[0].where.startswith("on build, terminal t1") and found[0].parts == []
        await g.client.decide(found[0], session, "deny")
        await g.client.wait_idle(session)
        assert [one.outcome for one in await results(g, session)] == ["ok", "refused"]


async def test_an_agent_registers_a_machine_only_with_a_person(tmp_path: Path, server: AsyncServer) -> None:
    registry = register(tmp_path, server)
    async with gateway(tmp_path) as g:
        await g.client.attend("screen")
        session = (await g.client.create(origin="tui", mode="agent")).id
        for decision, names in (("deny", ["build"]), ("allow-once", ["build", "web"])):
            await g.client.submit(session, "register the machine web at web.example as deploy")
            asked = await request(g, session)
            assert asked.capability == "ssh" and "web.example" in asked.detail and asked.parts == []
            assert list(registry.all()) == ["build"]
            await g.client.decide(asked, session, decision)
            await g.client.wait_idle(session)
            assert list(registry.all()) == names
        paths = root_paths(g.world.repository, g.world.environ)
        assert Trust(paths.base).vouched("web", registry.get("web")) and not Trust(paths.base).keys(registry.get("web"))


EVERY = [ListMachines(), ReachMachine(name="build"), AcceptMachineKey(name="build", step="build", key="k"),
         PlanMachine(name="build", fields={"user": "x"}), SetMachine(name="build", fields={"description": "x"}),
         RemoveMachine(name="build"), RenameMachine(name="build", to="x")]


async def test_read_only_modes_and_bridges_have_none_of_it(tmp_path: Path, server: AsyncServer) -> None:
    registry = register(tmp_path, server, known=True)
    async with gateway(tmp_path) as g:
        plan = (await g.client.create(origin="tui", mode="plan")).id
        theirs = (await g.gateway.conversations.create("discord", "chat", "")).id
        machines = Machines(g.gateway.log, g.gateway.modes, g.gateway.paths)
        before = registry.file.read_bytes()
        for session, why in ((plan, "read-only"), (theirs, "bridge")):
            asks = machines.asks(session)
            assert set(asks) == {type(one) for one in EVERY}
            for one in EVERY:
                with pytest.raises(Refused, match=why):
                    await asks[type(one)](one)
        assert registry.file.read_bytes() == before
        told = await said(g, plan, "which machines are there?")
        assert told == [] or "build" not in told[-1].content
        assert server.logins == 0


async def test_a_known_key_is_changed_by_no_turn(tmp_path: Path, server: AsyncServer) -> None:
    register(tmp_path, server, known=True)
    async with gateway(tmp_path, warm=False) as g:
        session = (await g.client.create(origin="tui", mode="agent")).id
        asks = Machines(g.gateway.log, g.gateway.modes, g.gateway.paths).asks(session)
        with pytest.raises(Refused, match="known already"):
            await asks[AcceptMachineKey](AcceptMachineKey(name="build", step="build", key="ssh-ed25519 other"))
        with pytest.raises(Refused, match="changed meanwhile"):
            await asks[SetMachine](SetMachine(name="build", fields={"user": "root"}, allowed=""))
        with pytest.raises(Refused, match="changed meanwhile"):
            await asks[SetMachine](SetMachine(name="build", fields={"user": "root"}, allowed="0" * 64))


async def test_nothing_of_the_registry_is_kept_anywhere(
    tmp_path: Path, server: AsyncServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Canaries in it, connections that work and that do not; then the log, the index, git, what is heard, other processes."""
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "canary-agent-75"))
    registry = register(tmp_path, server, known=True)
    away = registry.set("away", {"host": "canary-host-76.invalid", "user": "canary-user-77", "jump": "build"})
    gone = registry.set("gone", {"host": "canary-host-78.invalid", "identity_file": "/canary-key-79"})
    secrets = ["canary-user-71", "canary-key-72", "canary-agent-75", "canary-host-76", "canary-user-77", "canary-host-78",
               "canary-key-79"]
    trust = Trust(root_paths(World(tmp_path).repository, World(tmp_path).environ).base)
    for name, host in (("away", away), ("gone", gone)):
        trust.vouch(name, host)
        trust.accept(host, server.public_key, instead=True)
    async with gateway(tmp_path) as g:
        session = await g.start("which machines are there?")
        await g.client.wait_idle(session)
        told = await said(g, session, "on build run echo in")
        assert '"output":"in' in told[-1].content
        for name in ("away", "gone"):
            told = await said(g, session, f"on {name} run true")
            assert told[-1].outcome == "error" and name in told[-1].content
        told = await said(g, session, "list the settings")
        assert "build" not in told[-1].content
        await said(g, session, f"run cat {registry.file}; env; ls -R {g.world.repository}")
        server.stop()
        for _ in range(10):  # it is told with the first turn after that was noticed
            await said(g, session, "on build run true")
            if any("build" in note.text and "connects anew" in note.text for note in bodies(g.heard, SystemNote)):
                break
        else:
            raise AssertionError("nobody said that the machine is gone")
        children = _children()
        processes = b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for pid in children for name in ("environ", "cmdline"))
        heard = str(g.heard).encode() + str(await g.log(session)).encode()
    assert children and len(heard) > 1000
    kept = processes + heard + b"".join(_contents(tmp_path / "state")) + b"".join(_contents(g.world.repository / ".git"))
    assert [secret for secret in secrets if secret.encode() in kept] == []
    assert all(secret.encode() in registry.file.read_bytes() for secret in secrets if "agent" not in secret)


def _children() -> list[int]:
    """The processes this one has begun."""
    return [int(pid) for thread in Path("/proc/self/task").iterdir() for pid in (thread / "children").read_text().split()]


def _contents(directory: Path) -> Iterator[bytes]:
    for file in directory.rglob("*"):
        if file.is_file() and not file.is_symlink():
            data = file.read_bytes()
            yield data
            if "objects" in file.parts and len(file.parent.name) == 2:
                yield zlib.decompress(data)


async def test_one_written_by_hand_is_no_change_of_the_checkout(tmp_path: Path) -> None:
    World(tmp_path).make_repository({"README.md": "# Test\n"})
    registry = Registry(World(tmp_path).repository)
    registry.file.write_text("[not a registry\n")
    async with gateway(tmp_path) as g:
        made = await g.client.create(origin="headless")
        await g.client.submit(made.id, "run ls -a; git show --stat", with_changes=True)
        await g.client.wait_idle(made.id)
        assert FILE not in str([result.content for result in await results(g, made.id)])
        assert FILE not in g.world.git("log", "--all", "--stat")


def test_the_registry_is_out_of_git(tmp_path: Path, server: AsyncServer) -> None:
    register(tmp_path, server)
    assert FILE not in World(tmp_path).git("status", "--short")
