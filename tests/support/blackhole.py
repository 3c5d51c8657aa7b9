"""An address on this machine that takes no connection and refuses none: what a dark network looks like."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Iterator

TRIES = 64


@contextlib.contextmanager
def blackhole() -> Iterator[str]:
    """An http address whose queue of connections is full: the next one waits for an answer that never comes."""
    held: list[socket.socket] = []
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        port = listening.getsockname()[1]
        try:
            for _ in range(TRIES):
                one = socket.socket()
                held.append(one)
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", port))
                if not select.select([], [one], [], 0.2)[1]:
                    break
            else:
                raise AssertionError("the queue of connections never filled")
            yield f"http://127.0.0.1:{port}"
        finally:
            for one in held:
                one.close()


@contextlib.contextmanager
def untouched() -> Iterator[tuple[str, socket.socket]]:
    """An http address that would take connections, and the socket that shows whether one came: `accept` would block."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(16)
        listening.setblocking(False)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", listening
