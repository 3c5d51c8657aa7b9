"""One running turn as the gateway holds it: whose it is, how it is stopped, who may still write for it.

Must not know how a turn is carried out.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.wire import Tell
from thetis_kernel.protocol.worker import TurnOutcome


class Offspring(Protocol):
    """What turns need of the sub-agents of conversations; without any, all of it is nothing."""

    async def settle(self, turn: Turn) -> None:
        """A sub-agent's last turn is over: its parent learns how it went. Never raises."""
        ...

    def turn_over(self, session: str) -> None:
        """A conversation's turn is over: what it has not heard of its sub-agents is told now."""
        ...

    async def stop_all(self, session: str) -> bool:
        """Stop all sub-agents of a conversation; whether there were any."""
        ...

    async def all_settled(self, session: str) -> bool:
        """Return once no sub-agent of the conversation runs; whether one did."""
        ...


class Turn:
    """One running turn. `stop` outranks everything; `ending` means the agent has returned and takes no more words.

    `hurried`: the person wants its end now, so nothing is waited for before that and nothing follows by itself. After a
    stop the worker may still be busy for a moment: `closed` means it can write nothing more, `late` is its answer.
    `attended`: a person at a screen began it, so that one can be asked. `alone`: the queue does not go on after it.
    `began`: the number of its turn-started; nothing before that is open. `compact`: it only makes the conversation smaller,
    with this in mind; None for every other turn. `home`: the conversation whose process and checkout it works in; for a
    sub-agent's turn (`child` is its id then, `label` its name, `profile` its kind) that is the one that began it.
    `parked`: it is stopped because the gateway ends, not because a person wants its end.
    """

    def __init__(self, session: str, identifier: str, attempt: int, attended: bool = False, alone: bool = False) -> None:
        self.session = session
        self.home = session
        self.child = ""
        self.label = ""
        self.profile = ""
        self.id = identifier
        self.attempt = attempt
        self.attended = attended
        self.alone = alone
        self.compact: str | None = None
        self.stop = asyncio.Event()
        self.hurried = asyncio.Event()
        self.ending = False
        self.parked = False
        self.closed = False
        self.late: asyncio.Future[TurnOutcome] | None = None
        self.done = asyncio.Event()
        self.started = time.monotonic()
        self.began = 1
        self.deliver: Callable[[Tell], None] | None = None
        self.task: asyncio.Task[None] | None = None
        self._writers = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """While the block runs, something is being appended on behalf of the turn's worker. Raises when it is closed."""
        if self.closed:
            raise ThetisError("This turn is over.", code="turn-over")
        self._writers += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._writers -= 1
            if not self._writers:
                self._quiet.set()

    def ended_by(self, stopped_by: str) -> str:
        """What the log calls its end, the agent having called it `stopped_by`."""
        if self.parked:
            return stopped_by if stopped_by in ("stop", "asked") else "restarted"
        return "cancelled" if self.stop.is_set() else stopped_by

    async def close(self) -> None:
        """Let the worker write nothing more; returns once what it was writing is in the log."""
        self.closed = True
        await self._quiet.wait()

    async def unless_stopped(self, *works: asyncio.Future[Any]) -> None:
        """Return once all `works` are done. Raises what one of them raises, or ThetisError `cancelled` at a stop."""
        stopped = asyncio.ensure_future(self.stop.wait())
        pending = set(works)
        try:
            while pending:
                done, _ = await asyncio.wait((*pending, stopped), return_when=asyncio.FIRST_COMPLETED)
                if self.stop.is_set():
                    raise ThetisError("Stopped.", code="cancelled")
                for work in done & pending:
                    work.result()
                pending -= done
        finally:
            stopped.cancel()
