"""The one way a child process comes to be: its command, environment, descriptors and channel.

Owns the spawner thread: on Linux a child is killed when the *thread* that spawned it ends, so every child is spawned
by one thread that lives as long as the process. Must not know what any role does.

Which modules are roles is decided by a `RoleSource`, given in code where a supervisor is made. A role's name is the
only part of it that varies at run time, and it is a plain word: no request can name a module of its own.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from thetis_kernel.errors import ChildError
from thetis_kernel.ipc.aio import AskHandlers, AsyncPeer, TellHandlers
from thetis_kernel.supervise.environment import child_environment
from thetis_kernel.supervise.handle import HEARTBEAT, Child, Exit, Heartbeat, Launched

START_TIMEOUT = 30.0
"""Seconds from spawn to hello. A role imports its SDK first: up to 3 s of CPU here, on a machine that may be busy."""
_FROM = """import sys
sys.path.insert(0, sys.argv.pop(1))
from thetis_kernel.supervise.child import main
main(sys.argv[1:])
"""
"""What a child with a kernel of its own runs first: its package comes before any other of that name."""
_ROLE = re.compile(r"[a-z][a-z0-9_]*")  # the name of a module
_DESCRIPTOR = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class RoleSource:
    """Where role modules lie: `package`, found beside the kernel or else under `path`."""

    package: str
    path: Path | None = None


HOSTS = RoleSource("thetis_kernel.hosts")


@dataclass(frozen=True, slots=True)
class Plan:
    """A child to be: its role, where it works, what it is told and given, and what it may ask of us.

    `settings` are THETIS_* variables, never secrets. `fds` are descriptors by name; they stay ours and open, the child
    has them too. `kernel`: where the package `thetis_kernel` is imported from, None for where ours is. `asks` and `tells`
    serve the child's channel: whose channel it is, they know from being its.
    """

    role: str
    cwd: Path | None = None
    kernel: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    fds: Mapping[str, int] = field(default_factory=dict)
    asks: AskHandlers = field(default_factory=dict)
    tells: TellHandlers = field(default_factory=dict)


async def spawn(
    plan: Plan,
    *,
    name: str = "",
    source: RoleSource = HOSTS,
    heartbeat: Heartbeat = HEARTBEAT,
    start_timeout: float = START_TIMEOUT,
    crash_points: bool = True,
    on_exit: Callable[[Child, Exit], None] | None = None,
) -> Child:
    """A running child that has said hello. `name` (default: the role) is how sentences call it. `on_exit` is called
    once when it ends, before anybody who waits for it goes on.

    Raises ChildError (`child-start`) when it cannot be started, dies or stays silent before its hello; ValueError on
    a plan that cannot be right. Cancelling kills what was started.
    """
    launched = await _launch(plan, source, crash_points)
    peer = AsyncPeer(role="gateway", other=name or plan.role, asks=plan.asks, tells=plan.tells)
    child = Child(name or plan.role, plan.role, launched, peer, heartbeat)
    try:
        async with asyncio.timeout(start_timeout):
            await child.begin()
    except TimeoutError:
        child.kill()
        await child.wait()
        raise ChildError(
            f"{child.name} did not start within {start_timeout:g} s", code="child-start", stderr=child.stderr(4096)
        ) from None
    except BaseException:
        child.kill()
        raise
    child.on_exit = on_exit
    return child


async def _launch(plan: Plan, source: RoleSource, crash_points: bool) -> Launched:
    if not _ROLE.fullmatch(plan.role) or not all(_DESCRIPTOR.fullmatch(name) for name in plan.fds):
        raise ValueError(f"{plan.role!r} or one of {sorted(plan.fds)} cannot be the name of a role or descriptor")
    environment = child_environment(plan.role, plan.settings, os.environ, crash_points=crash_points)
    launching = asyncio.wrap_future(_spawner().submit(lambda: _fork(plan, source, environment)))
    try:
        return await asyncio.shield(launching)
    except asyncio.CancelledError:
        launching.add_done_callback(_discard)
        raise
    except OSError as error:
        raise ChildError(f"the {plan.role} process could not be started: {error}", code="child-start") from error


def _fork(plan: Plan, source: RoleSource, environment: dict[str, str]) -> Launched:
    """Runs on the spawner thread."""
    with ExitStack() as undo, ExitStack() as childs:
        ours, theirs = socket.socketpair()
        undo.callback(ours.close)
        childs.callback(theirs.close)
        read_end, write_end = os.pipe()
        undo.callback(os.close, read_end)
        childs.callback(os.close, write_end)
        entry = ["-m", "thetis_kernel.supervise.child"] if plan.kernel is None else ["-c", _FROM, str(plan.kernel)]
        command = [
            sys.executable, "-I", "-X", "utf8", *entry, plan.role,
            f"parent={os.getpid()}", f"channel={theirs.fileno()}", f"package={source.package}",
            f"path={source.path or ''}", *(f"fd.{name}={descriptor}" for name, descriptor in plan.fds.items()),
        ]  # fmt: skip
        # No preexec_fn, so that subprocess can use vfork: a fork of a large process takes tens of milliseconds.
        process = subprocess.Popen(
            command, cwd=plan.cwd, env=environment, stdin=subprocess.DEVNULL, stdout=write_end, stderr=write_end,
            close_fds=True, pass_fds=(theirs.fileno(), *plan.fds.values()), start_new_session=True,
        )  # fmt: skip
        undo.callback(process.wait)
        undo.callback(process.kill)
        pidfd = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else -1
        undo.pop_all()
    return Launched(process, ours, read_end, pidfd)


def _discard(launching: asyncio.Future[Launched]) -> None:
    """Nobody wants the child any more."""
    if launching.cancelled() or launching.exception() is not None:
        return
    launched = launching.result()
    launched.process.kill()
    launched.process.wait()
    launched.channel.close()
    os.close(launched.stderr)
    if launched.pidfd >= 0:
        os.close(launched.pidfd)


class _Spawner:
    """One daemon thread that spawns, from its first use to the end of the process."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Future[Launched], Callable[[], Launched]]] = SimpleQueue()
        threading.Thread(target=self._run, name="spawner", daemon=True).start()

    def submit(self, job: Callable[[], Launched]) -> Future[Launched]:
        future: Future[Launched] = Future()
        self._jobs.put((future, job))
        return future

    def _run(self) -> None:
        while True:
            future, job = self._jobs.get()
            try:
                future.set_result(job())
            except BaseException as error:  # noqa: BLE001 - if this thread ended, every child would be killed
                future.set_exception(error)


_lock = threading.Lock()
_the_spawner: _Spawner | None = None


def _spawner() -> _Spawner:
    global _the_spawner
    with _lock:
        if _the_spawner is None:
            _the_spawner = _Spawner()
        return _the_spawner
