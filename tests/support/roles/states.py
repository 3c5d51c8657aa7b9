"""A child that gets into every state a child can be in."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading

from thetis_kernel.ipc.threads import Serving
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.supervise.context import ChildContext


class Enter(Ask[None], frozen=True, tag="s.enter"):
    """Answered at once; the state begins a moment later, when the answer is out."""

    state: str


class Report(Ask[dict[str, str]], frozen=True, tag="s.report"):
    """What the process sees of itself."""


class Helper(Ask[int], frozen=True, tag="s.helper"):
    """Start a sleeping process in the child's own group; its pid."""


def serve(context: ChildContext) -> None:
    busy = False

    def enter(ask: Enter, _: Serving) -> None:
        nonlocal busy
        busy = ask.state == "busy"
        if ask.state != "idle":
            threading.Timer(0.05, STATES[ask.state]).start()

    def report(ask: Report, _: Serving) -> dict[str, str]:
        with open("/proc/self/status") as status:
            no_new = status.read()
        fds = sorted(os.listdir("/proc/self/fd"), key=int)
        return {
            "environment": ",".join(sorted(os.environ)),
            "cwd": os.getcwd(),
            "session": str(os.getsid(0) == os.getpid()),
            "fds": ",".join(fds),
            "asyncio": str("asyncio" in sys.modules),
            "settings": ",".join(f"{k}={v}" for k, v in sorted(context.settings.items())),
            "named": ",".join(f"{name}:{os.pread(fd, 100, 0).decode()}" for name, fd in sorted(context.fds.items())),
            "inheritable": str(any(os.get_inheritable(fd) for fd in context.fds.values())),
            "stdin": os.readlink("/proc/self/fd/0"),
            "blocked": next(line for line in no_new.splitlines() if line.startswith("SigBlk")).split()[1],
            "ignored": next(line for line in no_new.splitlines() if line.startswith("SigIgn")).split()[1],
            "flags": f"{sys.flags.isolated}{sys.flags.utf8_mode}",
            "path": os.pathsep.join(sys.path),
        }

    def helper(ask: Helper, _: Serving) -> int:
        return subprocess.Popen(["sleep", "600"]).pid

    context.connect(
        asks={Enter: enter, Report: report, Helper: helper}, is_idle=lambda: not busy, quick={Enter, Report}
    )
    context.run()


def spin() -> None:
    while True:
        pass


def in_c() -> None:
    sum(range(10**13))  # one C call that never lets go of the interpreter


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def crash() -> None:
    sys.stderr.write("last words\n")
    os.kill(os.getpid(), signal.SIGKILL)


def segfault() -> None:
    ctypes.string_at(0)


def flood() -> None:
    while True:
        sys.stderr.write("spam" * 1000 + "\n")


def channel() -> socket.socket:
    """The process's only socket, once more."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        link = f"/proc/self/fd/{fd}"
        if fd > 2 and os.path.lexists(link) and os.readlink(link).startswith("socket:"):
            return socket.socket(fileno=os.dup(fd))
    raise LookupError("no channel")


STATES = {
    "spin": spin, "busy": spin, "c": in_c, "stop": stop, "crash": crash, "segfault": segfault, "flood": flood,
    "hang-up": lambda: channel().shutdown(socket.SHUT_RDWR), "garbage": lambda: channel().sendall(b"\xff" * 64),
    "exit": lambda: os._exit(5),
}  # fmt: skip
