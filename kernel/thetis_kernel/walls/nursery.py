"""A process that becomes helpers: it has read everything a helper imports, and forks one for each command.

`helper.Helpers` starts it as `python -I -S` with one end of a socket. A message of REQUEST bytes asks for one thing:

    "+7"    with descriptors: fork a helper with them (the arguments of `enter.main`, the last one only to be held until it ends)
    "-7"    kill that helper

It has what a helper has: an empty environment, no secret, one thread, and it never reads what a command writes. It ends when
the worker's end of the socket does; helpers that live then see the end of their own control pipes.
Must not know what a helper does.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket

from thetis_kernel.walls import attend, enter, landlock, libc, scratch, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

REQUEST = 16  # bytes, padded with blanks: messages of one size keep their borders in a stream
_MOST_FDS = 8  # of one request: five for a terminal, and the one that is held
_WARM = (attend, landlock, libc, scratch, seccomp)  # what `enter` imports only where it is needed


def main(number: int) -> None:
    """Entry: the socket as a number. Ends the process."""
    os.set_inheritable(number, False)
    requests = socket.socket(fileno=number)
    woken, waker = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    gc.freeze()  # a fork shares what is never written
    helpers: dict[int, int] = {}  # the worker's number -> pid; a pid stays the helper's until it is collected below
    poll = select.poll()
    poll.register(number, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == woken:
                os.read(woken, 4096)
                _collect(helpers)
            elif not _serve(requests, (woken, waker), helpers):
                os._exit(0)


def _serve(requests: socket.socket, ours: tuple[int, ...], helpers: dict[int, int]) -> bool:
    """Carry out one request; False when nobody is there to ask any more."""
    try:
        text, fds, _, _ = socket.recv_fds(requests, REQUEST, _MOST_FDS)
    except ConnectionResetError:
        return False
    if not text:
        return False
    for fd in fds:
        os.set_inheritable(fd, False)
    name = int(text[1:])
    if text[:1] == b"-":
        if name in helpers:
            os.kill(helpers[name], signal.SIGKILL)
        return True
    try:
        pid = os.fork()
        if pid == 0:
            _become(fds[:-1], (requests.fileno(), *ours))
        helpers[name] = pid
    except OSError:
        pass  # no more processes: the worker sees its pipes end without an answer
    for fd in fds:
        os.close(fd)
    return True


def _become(fds: list[int], not_mine: tuple[int, ...]) -> NoReturn:
    """In the forked child: be a helper. Never returns."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for fd in not_mine:
            os.close(fd)
        enter.main(*fds)
    finally:
        os._exit(1)


def _collect(helpers: dict[int, int]) -> None:
    """Reap who has ended."""
    for name, pid in list(helpers.items()):
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            del helpers[name]
