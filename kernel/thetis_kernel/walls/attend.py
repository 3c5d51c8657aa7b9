"""The helper process of a terminal: looks after its shell, and ends single commands without ending the shell.

Runs in place of `enter.Supervisor` when there are private pipes, over the same fork, walls and end. Owns the orders that
come as lines on control, each answered by one line of JSON on status:

    mark          a command is about to start; who is here now is not part of it    {"answer": "mark"}
    end           kill the command's processes, whatever they did to get away       {"answer": "end", "left": n}
    signal N      send signal N to them                                             {"answer": "signal", "count": n}
    count         how many of them live, and starved since the mark  {"answer": "count", "count": n, "starved": n}

Unasked it says {"started": true, "unlimited": why or ""} once the shell runs, and {"event": "threads"} after it ended a command
that had too many threads. When the shell itself ends, when control ends, or on a line it does not know, everything below it is
killed and the last line is the Supervisor's answer. Must not know what the shell is told to run.
"""

from __future__ import annotations

import json
import os
import select

from thetis_kernel.walls import tree
from thetis_kernel.walls.enter import Supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_END_WITHIN_S = 5.0  # uninterruptible processes are reported, not awaited
_LOOK_EVERY_MS = 50  # how often the number of threads is looked at
_MOST_PENDING = 65536  # of control without an end of line: nobody sends that


class Attendant(Supervisor):
    """A shell on a terminal, from fork to the last of its descendants."""

    def __init__(
        self, policy: dict[str, Any], control: int, status: int, output: int, private: tuple[int, ...]
    ) -> None:
        super().__init__(policy, control, output, asked=False)
        self._private = private
        self._answers = status
        self._pending = b""
        self._watching = False
        self._family: tree.Family | None = None
        self._starved_before = 0

    def _wait(self, woken: int, deadline: float, baseline: int) -> str:
        """Serve orders until the shell ends ("exit"), is ended ("asked"), or nobody is there any more ("parent")."""
        self._say(started=True, unlimited=self._unlimited)
        poll = select.poll()
        poll.register(woken, select.POLLIN)
        poll.register(self._control, select.POLLIN | select.POLLHUP)
        most = self._policy["threads"]
        while True:
            ended, left = tree.reap()
            self._note(ended)
            if self._ended or not left:
                return "exit"
            # the whole machine's count is one small read; only when it rises is ours looked at
            if tree.threads() - baseline > most and tree.threads(below=os.getpid()) > most:
                self._too_many()
            for fd, _ in poll.poll(_LOOK_EVERY_MS if self._watching else None):
                if fd == woken:
                    os.read(woken, 4096)
                    continue
                data = os.read(self._control, 65536)
                if not data:
                    return "parent"
                if not self._orders(data):
                    return "asked"

    def _orders(self, data: bytes) -> bool:
        """Carry out every whole line; False to end it all."""
        *lines, self._pending = (self._pending + data).split(b"\n")
        return (
            all(self._order(line.decode("ascii", "replace")) for line in lines) and len(self._pending) < _MOST_PENDING
        )

    def _order(self, line: str) -> bool:
        word, _, number = line.partition(" ")
        if self._family is None:
            self._family = tree.Family()
        family = self._family
        if word == "mark":
            family.mark()
            self._starved_before = self._group.starved()
            self._watching = True
            self._say(answer=word)
        elif word == "end":
            self._say(answer=word, left=family.end(_END_WITHIN_S))
        elif word == "signal" and number.isdigit():
            self._say(answer=word, count=family.signal(int(number)))
        elif word == "count":
            count = len(family.newer())
            self._watching = count > 0  # an idle shell needs no looking after
            self._say(answer=word, count=count, starved=self._group.starved() - self._starved_before)
        else:
            return False
        return True

    def _too_many(self) -> None:
        if self._family is not None:
            self._family.end(_END_WITHIN_S)
            self._say(event="threads")

    def _say(self, **what: Any) -> None:
        os.write(self._answers, json.dumps(what).encode() + b"\n")  # broken: `main` ends everything
