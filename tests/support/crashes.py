"""The ways a person meets a kernel, each as something that can be killed at a named point and started again.

A `Front` says one thing and follows it until the turn is over or the kernel has died: `Headless` is `thetis run`, `Screen`
the screen on a pty, `Attached` a kernel in a process of its own with a `thetis run` beside it that outlives it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import apsw
from thetis_kernel.cli.printing import event_line
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import PeerGone
from thetis_kernel.ipc.aio import AsyncPeer
from thetis_kernel.ipc.unix import connect_unix
from thetis_kernel.paths import root_paths
from thetis_kernel.protocol.client import CLIENT_TELLS
from thetis_kernel.store.store import Store

from tests.support.terminal import Terminal
from tests.support.thetis import World, lines
from tests.support.waiting import blocking_until

ESC, CTRL_Q = "\x1b", "\x11"
SECONDS = 60.0
"""For one phase, on a machine that is busy with something else."""
PROJECT = Path(__file__).parents[2]


class Disk:
    """The log of a world's root, looked at from outside: without the lock while a kernel runs, whole when none does."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def _data(self) -> Path | None:
        return next((path.parent for path in (self._world.base / "state").rglob("thetis.db")), None)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of a query; none while there is no database, or not the tables yet."""
        if self._data is None:
            return []
        try:
            with closing(apsw.Connection(str(self._data / "thetis.db"), flags=apsw.SQLITE_OPEN_READONLY)) as database:
                return list(database.execute(query))
        except (apsw.SQLError, apsw.CantOpenError, apsw.BusyError):
            return []

    def is_over(self, turns: int) -> bool:
        """Whether `turns` turns that were not cut have ended and nothing is open."""
        rows = self.ask("SELECT open_turn, interrupted, turns FROM sessions")
        return any(not opened and not cut and count >= turns for opened, cut, count in rows)

    def has(self, kind: str) -> bool:
        """Whether an event of that kind is durable."""
        return bool(self.ask(f"SELECT 1 FROM events WHERE kind = '{kind}' LIMIT 1"))

    def logs(self) -> dict[str, list[dict[str, Any]]]:
        """Every conversation's events as `thetis log --json` would show them. No kernel may run."""
        if self._data is None:
            return {}
        store = Store.open(self._data)
        try:
            return {
                row.id: [json.loads(event_line(event)) for event in store.iterate(row.id)] for row in store.sessions()
            }
        finally:
            store.close()


class Front(Protocol):
    """`crash` is the value of THETIS_CRASH, `trace` the file of THETIS_CRASH_TRACE; both of the kernel, not of who is attached
    to it. `stop`: the person stops the turn once its first call is durable. `turns`: how many will follow one another, which a
    run does not wait for."""

    name: str

    def say(
        self,
        world: World,
        words: str,
        *,
        crash: str = "",
        trace: Path | None = None,
        conversation: str = "",
        stop: bool = False,
        turns: int = 1,
    ) -> list[dict[str, Any]]:
        """Say `words` in a new conversation or in the one named, and follow them to the end of the turn, the kernel's or
        this front's. The events that were shown."""
        ...

    def cut(self, world: World, words: str) -> None:
        """Say `words`, and die with the kernel once the agent has returned."""
        ...

    def resume(self, world: World, conversation: str, *, crash: str, trace: Path) -> None:
        """Ask to go on with the cut turn, until it is over or the kernel is."""
        ...


def environment(world: World, crash: str, trace: Path | None) -> dict[str, str]:
    return {**world.environ, "THETIS_CRASH": crash, **({"THETIS_CRASH_TRACE": str(trace)} if trace else {})}


class Headless:
    """`thetis run`, whose kernel is its own."""

    name = "headless"

    def say(
        self,
        world: World,
        words: str,
        *,
        crash: str = "",
        trace: Path | None = None,
        conversation: str = "",
        stop: bool = False,
        turns: int = 1,
    ) -> list[dict[str, Any]]:
        """See `Front`."""
        with Run(world, words, conversation, environment(world, crash, trace)) as run:
            return run.follow(stop)

    def cut(self, world: World, words: str) -> None:
        """See `Front`."""
        self.say(world, words, crash="gateway.turn-end")

    def resume(self, world: World, conversation: str, *, crash: str, trace: Path) -> None:
        """A run asks by itself when the kernel it was attached to has died under it."""
        with Holder(world, environment(world, "gateway.turn-end", None)) as holder:
            Headless().say(world, "list", crash=crash, trace=trace, conversation=conversation)
            holder.wait()


class Screen:
    """The screen, whose kernel is its own."""

    name = "screen"

    def say(
        self,
        world: World,
        words: str,
        *,
        crash: str = "",
        trace: Path | None = None,
        conversation: str = "",
        stop: bool = False,
        turns: int = 1,
    ) -> list[dict[str, Any]]:
        """See `Front`. A screen shows no list of events."""
        disk = Disk(world)
        turns += sum(row[0] for row in disk.ask("SELECT turns FROM sessions"))
        with Shown(world, conversation, environment(world, crash, trace)) as shown:
            shown.type(f"{words}\r")
            if stop:
                shown.until(lambda: disk.has("tool-invocation"))
                shown.type(ESC)
            shown.until(lambda: disk.is_over(turns))
            shown.leave()
        return []

    def cut(self, world: World, words: str) -> None:
        """See `Front`."""
        self.say(world, words, crash="gateway.turn-end")

    def resume(self, world: World, conversation: str, *, crash: str, trace: Path) -> None:
        """Enter in the empty prompt of a conversation that was cut."""
        disk = Disk(world)
        with Shown(world, conversation, environment(world, crash, trace)) as shown:
            shown.wait("enter resumes")
            shown.type("\r")
            shown.until(lambda: disk.is_over(1))
            shown.leave()


class Attached:
    """A kernel in a process of its own, and a run that is attached to it."""

    name = "gateway"

    def say(
        self,
        world: World,
        words: str,
        *,
        crash: str = "",
        trace: Path | None = None,
        conversation: str = "",
        stop: bool = False,
        turns: int = 1,
    ) -> list[dict[str, Any]]:
        """See `Front`. The run goes on with a kernel of its own when the other one dies."""
        with Holder(world, environment(world, crash, trace)), Run(world, words, conversation, world.environ) as run:
            return run.follow(stop)

    def cut(self, world: World, words: str) -> None:
        """See `Front`. The run dies first, or it would go on by itself."""
        disk = Disk(world)
        with Holder(world, environment(world, "gateway.turn-end", None)) as holder:
            with Run(world, f"{words}; sleep 1", "", world.environ):
                blocking_until(lambda: disk.has("tool-invocation"), SECONDS)
            holder.wait()

    def resume(self, world: World, conversation: str, *, crash: str, trace: Path) -> None:
        """A client asks the kernel that is running."""
        with Holder(world, environment(world, crash, trace)), contextlib.suppress(PeerGone):
            asyncio.run(_resume(world, conversation))


FRONTS: tuple[Front, ...] = (Headless(), Screen(), Attached())


@contextlib.asynccontextmanager
async def attached(world: World) -> AsyncIterator[GatewayClient]:
    """A client of the kernel that holds the world's root."""
    client: list[GatewayClient] = []
    tells = {kind: lambda tell: client[0].heard(tell) for kind in CLIENT_TELLS}
    peer = AsyncPeer(role="client", other="the gateway", tells=tells)
    client.append(GatewayClient(peer))
    await connect_unix(root_paths(world.repository).socket, peer)
    try:
        yield client[0]
    finally:
        peer.close()


async def _resume(world: World, conversation: str) -> None:
    async with attached(world) as client:
        await client.resume(conversation)
        await client.wait_idle(conversation)


@contextlib.contextmanager
def said_later(world: World, words: str) -> Iterator[None]:
    """While the block runs: once a turn has begun, `words` are put into its conversation's queue from elsewhere."""
    disk, ended = Disk(world), threading.Event()

    async def queue() -> None:
        async with attached(world) as client:
            await client.submit(disk.ask("SELECT id FROM sessions")[0][0], words, later=True)

    def wait() -> None:
        blocking_until(lambda: disk.has("turn-started") or ended.is_set(), SECONDS)
        if not ended.is_set():
            asyncio.run(queue())

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Run:
    """`thetis run --json` as a process; killed at the end of the block."""

    def __init__(self, world: World, words: str, conversation: str, environ: dict[str, str]) -> None:
        named = ["--conversation", conversation] if conversation else []
        self._child = subprocess.Popen(
            [world.thetis, "run", "--json", *named, words],
            cwd=world.repository,
            env=environ,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def follow(self, stop: bool) -> list[dict[str, Any]]:
        """The events it printed until its end; interrupted at the first call if it is to be stopped."""
        printed = ""
        while stop and (line := self._child.stdout.readline()):  # type: ignore[union-attr]
            printed += line
            if json.loads(line)["kind"] == "tool-invocation":
                self._child.send_signal(signal.SIGINT)
                break
        rest, errors = self._child.communicate(timeout=SECONDS)
        assert "Traceback" not in errors, errors
        whole = (printed + rest).rpartition("\n")[0]
        return lines(whole)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.poll() is None:
            self._child.kill()
        self._child.communicate()


class Holder:
    """The kernel of `kernel_holder`; ended at the end of the block."""

    def __init__(self, world: World, environ: dict[str, str]) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.support.kernel_holder", str(world.repository)],
            text=True,
            env={**environ, "PYTHONPATH": str(PROJECT)},
            stdout=subprocess.PIPE,
            cwd=PROJECT,
        )

    def wait(self) -> None:
        """Return once it has died."""
        self._child.wait(SECONDS)

    def __enter__(self) -> Holder:
        self._child.stdout.readline()  # type: ignore[union-attr]  # "ready", or nothing when it has died already
        return self

    def __exit__(self, *_: object) -> None:
        self._child.terminate()
        try:
            self._child.wait(SECONDS)
        finally:
            self._child.kill()
            self._child.communicate()


class Shown:
    """The screen on a pty; killed at the end of the block."""

    def __init__(self, world: World, conversation: str, environ: dict[str, str]) -> None:
        command = [world.thetis, *(["--conversation", conversation] if conversation else [])]
        self._terminal = Terminal(command, world.repository, environ)

    def type(self, keys: str) -> None:
        """Press keys; nothing when nobody is there any more."""
        if self._terminal.status is None:
            self._terminal.type(keys)

    def wait(self, words: str) -> None:
        """Until `words` stand on the screen."""
        self._terminal.wait(words, SECONDS)

    def until(self, found: Any) -> None:
        """Read what it writes until `found()` or its death."""
        deadline = time.monotonic() + SECONDS
        while self._terminal.status is None and not found():
            assert time.monotonic() < deadline, self._terminal.text()
            self._terminal.read()

    def leave(self) -> None:
        """Quit as a person does: not while the screen still shows a running turn, or it asks."""
        self.until(lambda: "esc stops" not in self._terminal.text())
        if self._terminal.status is None:
            self._terminal.type(CTRL_Q)
            assert self._terminal.finish(SECONDS) in (0, -signal.SIGKILL)  # a last point may still lie before the end

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, *_: object) -> None:
        self._terminal.kill()
