"""Starting and ending the helper process of a command (`enter`), seen from the worker.

Owns the spawn: an isolated interpreter without site packages and without an environment, three pipes, a session of
its own. Must not know what is sent through the pipes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thetis_kernel.errors import WallError

GRACE_S = 10.0  # what the helper gets to end a tree and itself; it gives up on a tree after 5 s

_KERNEL = str(Path(__file__).resolve().parents[2])
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from thetis_kernel.walls import enter; enter.main(*map(int, sys.argv[2:]))"
)


def send(control: int, data: bytes) -> None:
    """Tell the helper something: its orders first, any byte later to end the command."""
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(control, view) :]
    except BrokenPipeError:
        pass  # the helper has ended; its answer, or the lack of one, says the rest


@contextmanager
def start() -> Iterator[tuple[int, int, int]]:
    """Start a helper; yields our ends of its pipes: control, status, output.

    Leaving closes them, which is also the order to end everything. Raises WallError if it cannot be started.
    """
    control, control_end = os.pipe()[::-1]
    status, status_end = os.pipe()
    output, output_end = os.pipe()
    process = spawn((control_end, status_end, output_end), (control, status, output))
    try:
        yield control, status, output
    finally:
        for fd in (control, status, output):
            os.close(fd)
        see_off(process)


def spawn(theirs: tuple[int, ...], ours: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """A helper that inherits `theirs` (the arguments of `enter.main`, closed here). `ours` are closed when it fails.

    Raises WallError if it cannot be started.
    """
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, _KERNEL, *map(str, theirs)],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=theirs,
            start_new_session=True,  # a Ctrl-C in the terminal is the kernel's to handle, not the helper's
        )
    except OSError as error:
        for fd in ours:
            os.close(fd)
        raise WallError(f"The helper of a command could not be started: {error}.", code="walls-setup") from error
    finally:
        for fd in theirs:
            os.close(fd)


def see_off(process: subprocess.Popen[bytes]) -> None:
    """Wait for a helper whose control pipe is closed; one that does not end by itself is killed."""
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
