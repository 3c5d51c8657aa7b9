"""Starting and ending the helper process of a command (`enter`), seen from the worker.

Owns the process that forks them (`nursery`): an isolated interpreter without site packages and without an environment, which
has imported everything a helper needs, because starting and importing is two thirds of what a short command costs.
Must not know what is sent through the pipes.
"""

from __future__ import annotations

import itertools
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thetis_kernel.errors import WallError
from thetis_kernel.walls.nursery import REQUEST

GRACE_S = 10.0  # what the helper gets to end a tree and itself; it gives up on a tree after 5 s

_KERNEL = str(Path(__file__).resolve().parents[2])
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from thetis_kernel.walls import nursery; nursery.main(int(sys.argv[2]))"
)


def send(control: int, data: bytes) -> None:
    """Tell the helper something: its orders first, any byte later to end the command."""
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(control, view) :]
    except BrokenPipeError:
        pass  # the helper has ended; its answer, or the lack of one, says the rest


class Helpers:
    """Helpers for any number of threads, forked by one process that is started with the first of them.

    `close` ends that process, and so does the end of this one, however it comes. Helpers that run are not touched by it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names = itertools.count(1)
        self._nursery: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def __enter__(self) -> Helpers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def spawn(self, theirs: tuple[int, ...]) -> Helper:
        """A helper that gets `theirs` (the arguments of `enter.main`), which are closed here whatever happens.

        Raises WallError if it cannot be started.
        """
        alive, alive_end = os.pipe()
        try:
            with self._lock:
                name = next(self._names)
                self._ask(f"+{name}", (*theirs, alive_end))
        except OSError as error:
            os.close(alive)
            raise WallError(f"The helper of a command could not be started: {error}.", code="walls-setup") from error
        finally:
            for fd in (*theirs, alive_end):
                os.close(fd)
        return Helper(self, name, alive)

    def kill(self, name: int) -> None:
        """Kill the helper of this name. Without effect when the process that knows its pid is gone."""
        with self._lock:
            if self._requests is not None:
                try:
                    self._requests.sendall(_padded(f"-{name}"))
                except ConnectionError:
                    return

    def close(self) -> None:
        """End the process; a later `spawn` starts another."""
        with self._lock:
            self._end()

    def _ask(self, text: str, fds: tuple[int, ...]) -> None:
        if self._requests is not None:
            try:
                socket.send_fds(self._requests, [_padded(text)], fds)
                return
            except ConnectionError:
                self._end()  # somebody ended it: another one does
        self._requests = self._start()
        socket.send_fds(self._requests, [_padded(text)], fds)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._nursery = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _START, _KERNEL, str(theirs.fileno())],
                    env={},
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,  # a Ctrl-C in the terminal is the kernel's to handle, not theirs
                )
            except OSError:
                ours.close()
                raise
        return ours

    def _end(self) -> None:
        requests, self._requests = self._requests, None
        nursery, self._nursery = self._nursery, None
        if requests is not None:
            requests.close()
        if nursery is not None:
            try:
                nursery.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                nursery.kill()
                nursery.wait()


def _padded(text: str) -> bytes:
    return text.encode().ljust(REQUEST)


class Helper:
    """One of them. `alive`: a descriptor that reaches its end with it."""

    def __init__(self, helpers: Helpers, name: int, alive: int) -> None:
        self._helpers = helpers
        self._name = name
        self._alive = alive

    def see_off(self) -> None:
        """Wait for it, whose control pipe is closed; one that does not end by itself is killed."""
        poll = select.poll()
        poll.register(self._alive, select.POLLIN)
        try:
            if not poll.poll(GRACE_S * 1000):
                self._helpers.kill(self._name)
                poll.poll(GRACE_S * 1000)  # uninterruptible: there is nothing left to be done about it
        finally:
            os.close(self._alive)


@contextmanager
def start(helpers: Helpers) -> Iterator[tuple[int, int, int]]:
    """Start a helper; yields our ends of its pipes: control, status, output.

    Leaving closes them, which is also the order to end everything. Raises WallError if it cannot be started.
    """
    control, control_end = os.pipe()[::-1]
    status, status_end = os.pipe()
    output, output_end = os.pipe()
    helper = None
    try:
        helper = helpers.spawn((control_end, status_end, output_end))
        yield control, status, output
    finally:
        for fd in (control, status, output):
            os.close(fd)
        if helper is not None:
            helper.see_off()
