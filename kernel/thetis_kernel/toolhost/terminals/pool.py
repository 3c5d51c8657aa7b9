"""The conversation's terminals: their names, how many, and what became of those that are gone.

Owns the table of the living and the record of what was open, a fold value of the log (scope `terminals`). The two differ
when the worker was replaced or a terminal was closed between turns; `begin_turn` tells the agent, in the log, and sets the
record right. A read-only turn ends all terminals: what runs in them could still write, whatever the agent may not do.
Must not know the walls: opening is a function of the place, which the worker gives.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from thetis_kernel.protocol.events import Body, StateChanged, SystemNote
from thetis_kernel.toolhost.terminals.run import Run
from thetis_kernel.toolhost.terminals.terminal import Opener, Terminal, TerminalError

SCOPE, OPEN = "terminals", "open"
MOST = 8
"""Terminals of one conversation at a time: a server, its log, a build and a few spare ones."""
IDLE_S = 30 * 60.0
"""A terminal in which nothing runs and which nobody used for so long is closed."""
BACKGROUND_S = 8 * 3600.0
"""The longest a background command runs."""


class Record(Protocol):
    """The part of the journal that is needed here."""

    def append(self, body: Body) -> int: ...

    def state(self, scope: str) -> dict[str, str]: ...


class Pool:
    """All terminals of one worker. `notice(text)` takes what a person or the agent should hear of between calls."""

    def __init__(self, notice: Callable[[str], None], prefix: str = "t") -> None:
        self._notice = notice
        self._prefix = prefix
        self._lock = threading.Lock()
        self._terminals: dict[str, Terminal] = {}
        self._gone: dict[str, str] = {}
        self._count = 0
        self._boundary: Any = None
        self._lost_words: list[str] = []

    def begin_turn(self, boundary: Any, read_only: bool, journal: Record) -> None:
        """Before the agent is called: end what must not go on, and log what is gone. `boundary` is compared, nothing else."""
        if read_only:
            self.close_all("the conversation became read-only")
        elif self._boundary is not None and boundary != self._boundary:
            self.close_all("what commands may see and write has changed")
        self._boundary = boundary
        self._sweep()
        known = _open(journal)
        with self._lock:
            self._count = max(self._count, _highest(known))
            living = {identifier: terminal.name for identifier, terminal in self._terminals.items()}
            gone = {
                key: self._gone.get(key, "the conversation's process was replaced")
                for key in known
                if key not in living
            }
        if gone:
            named = ", ".join(f"{key} ({known[key]})" if known[key] else key for key in gone)
            why = "; ".join(sorted(set(gone.values())))
            journal.append(
                SystemNote(
                    about="terminals",
                    text=f"Closed, with everything that ran in them: terminals {named}, because {why}. "
                    "Open new ones if you need them.",
                )
            )
        with self._lock:
            lost, self._lost_words = self._lost_words, []
        if lost and not read_only:
            journal.append(SystemNote(about="terminals", text=" ".join(lost)))
        if known != living:
            _record(journal, living)

    def open(
        self, name: str, opener: Opener, environment: dict[str, str], journal: Record, *, host: str = ""
    ) -> tuple[Terminal, list[str]]:
        """A new terminal and sentences about it. Raises TerminalError when there are too many, WallError when it cannot be."""
        self._sweep()
        with self._lock:
            if len(self._terminals) >= MOST:
                raise TerminalError(
                    f"{MOST} terminals are open, more are not possible.", hint="Close one, or use an open one."
                )
            self._count += 1
            terminal = Terminal(f"{self._prefix}{self._count}", name, opener, self._ended, host=host, lost=self._lost)
            self._terminals[terminal.id] = terminal
        try:
            notes = terminal.open(environment)
            self._write_down(journal)
        except BaseException:
            self._drop(terminal.id, "it could not be opened")
            raise
        return terminal, notes

    def get(self, identifier: str) -> Terminal:
        """The terminal of that name or identifier. Raises TerminalError that says what became of it."""
        with self._lock:
            found = self._terminals.get(identifier)
            found = found or next(
                (one for one in self._terminals.values() if one.name and one.name == identifier), None
            )
            if found is not None:
                return found
            known = ", ".join(self._terminals) or "none"
            why = self._gone.get(identifier)
        if why:
            raise TerminalError(
                f"Terminal {identifier} is closed: {why}.", hint=f"Open are: {known}.", code="not-found"
            )
        raise TerminalError(f"There is no terminal {identifier[:60]!r}.", hint=f"Open are: {known}.", code="not-found")

    def all(self) -> list[Terminal]:
        """Every one of them, oldest first."""
        with self._lock:
            return [*self._terminals.values()]

    def list(self) -> list[dict[str, Any]]:
        """How each stands, oldest first."""
        self._sweep()
        with self._lock:
            terminals = list(self._terminals.values())
        return [terminal.standing() for terminal in terminals]

    def close(self, identifier: str, journal: Record) -> str:
        """End one; its identifier."""
        found = self.get(identifier).id
        self._drop(found, "it was closed")
        self._write_down(journal)
        return found

    def drop(self, identifier: str, why: str) -> None:
        """End one outside of a turn; the agent is told at the start of its next one."""
        self._drop(self.get(identifier).id, why)

    def close_all(self, why: str) -> None:
        """End every one of them."""
        with self._lock:
            known = list(self._terminals)
        for identifier in known:
            self._drop(identifier, why)

    @property
    def busy(self) -> bool:
        """Whether a command runs anywhere: then the worker has work even when no turn runs."""
        with self._lock:
            return any(terminal.busy for terminal in self._terminals.values())

    def _sweep(self) -> None:
        now = time.monotonic()
        with self._lock:
            idle = [key for key, one in self._terminals.items() if not one.busy and now - one.used > IDLE_S]
        for identifier in idle:
            self._drop(identifier, "it was not used for half an hour")

    def _drop(self, identifier: str, why: str) -> None:
        with self._lock:
            terminal = self._terminals.pop(identifier, None)
            self._gone[identifier] = why
        if terminal is not None:
            terminal.close()

    def _ended(self, terminal: Terminal, run: Run) -> None:
        """A background command is over and nobody was looking: say so to whoever works or waits."""
        with self._lock:
            if terminal.id not in self._terminals:
                return
        named = f"{terminal.id} ({terminal.name})" if terminal.name else terminal.id
        how = "was stopped at its time limit" if run.timed_out else f"ended with exit {run.code}"
        seconds = round(run.ended - run.started)
        words = " ".join(run.text.split())
        shown = words if len(words) <= 120 else f"{words[:119]}…"
        self._notice(
            f"Terminal {named}: {shown!r} {how} after {seconds} s. terminal_read {terminal.id} shows its output."
        )

    def _lost(self, terminal: Terminal, why: str) -> None:
        """The machine of a terminal is gone while nobody was looking: told with the next turn, for which this is no reason."""
        with self._lock:
            if terminal.id not in self._terminals:
                return
        named = f"{terminal.id} ({terminal.name})" if terminal.name else terminal.id
        with self._lock:
            self._lost_words.append(f"Terminal {named}: {why} The next command in it connects anew.")

    def _write_down(self, journal: Record) -> None:
        with self._lock:
            living = {identifier: terminal.name for identifier, terminal in self._terminals.items()}
        _record(journal, living)


def _open(journal: Record) -> dict[str, str]:
    """identifier -> name as the log has it."""
    try:
        return msgspec.json.decode(journal.state(SCOPE).get(OPEN, "") or "{}", type=dict[str, str])
    except msgspec.MsgspecError:
        return {}  # written by nobody who is here; there is nothing to tell of it


def _record(journal: Record, living: dict[str, str]) -> None:
    value = msgspec.json.encode(living).decode() if living else ""
    journal.append(StateChanged(scope=SCOPE, key=OPEN, value=value))


def _highest(known: dict[str, str]) -> int:
    return max((int(key[1:]) for key in known if key[1:].isdigit()), default=0)
