"""The process a shell waits for while a screen is open, so that the screen's gateway can outlive the screen.

The screen runs in a child of this one, in the same job of the terminal. When the child lets go (its gateway goes on without a
screen), this process ends, and with it the job. Otherwise it ends as the child does, passes signals on, stops when the
child stops, and gives the terminal back when the child was killed. Forked before anything is imported. Knows nothing of
what the child does.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
from collections.abc import Callable
from types import FrameType

from thetis_kernel.cli.apart import blank_environment, die_with_parent, readable

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGCONT)
GONE = b"g"
GIVEN_BACK = b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[?25h\x1b[0m\r\n"
"""Alternate screen, mouse, focus, bracketed paste, keyboard protocol and cursor, as a shell expects them."""


def launched(work: Callable[[Callable[[], None]], int]) -> int:
    """`work(let_go)` in a child; the exit status for this process. Returns in the child as well as here.

    `let_go()`: the child leaves the terminal and this process ends with status 0.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        die_with_parent(signal.SIGKILL)  # who kills the process they started means the screen
        if os.getppid() != parent:
            return 1
        return work(lambda: _let_go(writing))
    os.close(writing)
    blank_environment()
    readable(False)
    return _wait(child, reading)


def _let_go(writing: int) -> None:
    die_with_parent(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    with contextlib.suppress(OSError):
        os.write(writing, GONE)
        os.close(writing)


def _wait(child: int, reading: int) -> int:
    """Until the child has ended or let go."""
    before = _terminal()

    def pass_on(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    woken, waking = os.pipe()
    for descriptor in (woken, waking):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in PASSED_ON:
        signal.signal(number, pass_on)
    while True:
        before_stop = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCONT,))
        pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        stopped = bool(pid) and os.WIFSTOPPED(status)
        if stopped and signal.SIGCONT not in signal.sigpending():
            os.kill(os.getpid(), signal.SIGSTOP)  # the job has stopped; SIGCONT comes to both, or is passed on
        signal.pthread_sigmask(signal.SIG_SETMASK, before_stop)
        if stopped:
            continue
        if pid:
            return _ended(os.waitstatus_to_exitcode(status), before)
        ready, _, _ = select.select([reading, woken], [], [])
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
        if reading in ready:
            if os.read(reading, 1) == GONE:
                return 0
            return _ended(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), before)


def _ended(status: int, before: list[object] | None) -> int:
    """As the child ended: its status, or the same signal after the terminal was given back."""
    if status >= 0:
        return status
    if before is not None:
        with contextlib.suppress(OSError, termios.error):
            os.write(1, GIVEN_BACK)
            termios.tcsetattr(0, termios.TCSANOW, before)  # type: ignore[arg-type] # what tcgetattr gave
    signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), -status)
    return 128 - status


def _terminal() -> list[object] | None:
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None
