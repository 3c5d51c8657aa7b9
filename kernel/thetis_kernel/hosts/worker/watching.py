"""What a person does at the conversation's terminals: looks, types, opens one of their own.

Owns the terminals that a person opened. They are within the same walls as the agent's and in the same worktree; the agent neither
sees nor uses them, they outlive its turns and changes of mode, and nothing of them stands in the log. Must not know who asks.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.hosts.worker.commands import WalledCommands
from thetis_kernel.hosts.worker.terminals import terminals
from thetis_kernel.protocol.events import Body
from thetis_kernel.protocol.terminals import (
    MAX_KEYS,
    MAX_WAIT_MS,
    MOST_COLUMNS,
    MOST_ROWS,
    AtTerminals,
    CloseTerminal,
    OpenTerminal,
    TerminalLine,
    TypeKeys,
    Watched,
    WatchTerminal,
)
from thetis_kernel.toolhost.terminals.pool import Pool
from thetis_kernel.toolhost.terminals.terminal import Terminal, TerminalError
from thetis_kernel.walls import system

if TYPE_CHECKING:
    from thetis_kernel.ipc.threads import Serving, ThreadPeer
    from thetis_kernel.walls.helper import Helpers

OWN = "p"
"""What the identifiers of a person's terminals begin with."""
_FOREVER_S = 14 * 86_400.0
"""A person's shell has no time limit; poll(2) takes no more than 24 days."""
_PROMPT = r"PS1='\[\e[36m\]\W\[\e[0m\] \$ '"


class Unrecorded:
    """A journal for what is nobody's but the person's."""

    def append(self, body: Body) -> int:
        """Nothing is kept."""
        return 0

    def state(self, scope: str) -> dict[str, str]:
        """Nothing was kept."""
        return {}


class Watching:
    """The agent's terminals and the person's own, for a person."""

    def __init__(self, agents: Pool, helpers: Helpers) -> None:
        self._agents = agents
        self._own = Pool(lambda text: None, prefix=OWN)
        self._helpers = helpers
        self.peer: ThreadPeer | None = None

    @property
    def busy(self) -> bool:
        """Whether something runs in a terminal of the person."""
        return self._own.busy

    def at(self, ask: AtTerminals, serving: Serving) -> bytes:
        """Answer one request."""
        wanted = msgspec.json.decode(ask.wanted, type=WatchTerminal | OpenTerminal | TypeKeys | CloseTerminal)
        match wanted:
            case WatchTerminal():
                return msgspec.json.encode(self._watch(wanted))
            case OpenTerminal():
                return msgspec.json.encode(self._open(wanted, ask, serving.withdrawn))
            case TypeKeys():
                if len(wanted.data) > MAX_KEYS:
                    raise ThetisError(f"More than {MAX_KEYS} bytes were typed at once.", code="bad-arguments")
                self._get(wanted.terminal).type(wanted.data)
            case CloseTerminal():
                pool = self._pool(wanted.terminal)
                if pool is self._own:
                    pool.close(wanted.terminal, Unrecorded())
                else:  # the agent is told at the start of its next turn
                    pool.drop(wanted.terminal, "the person closed it")
        return b"null"

    def _watch(self, ask: WatchTerminal) -> Watched:
        terminal = None
        if ask.terminal:
            try:
                terminal = self._get(ask.terminal)
            except TerminalError:
                return Watched(terminals=self._lines())  # it is gone: the list says so
        if terminal is None:
            return Watched(terminals=self._lines())
        if ask.columns and ask.rows:
            terminal.resize(min(max(ask.columns, 8), MOST_COLUMNS), min(max(ask.rows, 2), MOST_ROWS))
        version = terminal.live.wait(ask.version, min(max(ask.wait_ms, 0), MAX_WAIT_MS) / 1000)
        shown = terminal.live.shown(ask.back) if version != ask.version else None
        return Watched(terminals=self._lines(), shown=shown)

    def _open(self, ask: OpenTerminal, at: AtTerminals, withdrawn: threading.Event) -> TerminalLine:
        if ask.terminal:
            terminal = self._get(ask.terminal)
        elif at.place is None or self.peer is None:
            raise ThetisError("There is no place for a terminal.", code="bad-arguments")
        else:
            commands = WalledCommands(at.place, self.peer, self._helpers)
            opener = terminals(self._own, at.place, commands, withdrawn).opener(Path(at.place.worktree))
            terminal, _ = self._own.open("", opener, {}, Unrecorded())
        if ask.columns and ask.rows:
            terminal.resize(min(max(ask.columns, 8), MOST_COLUMNS), min(max(ask.rows, 2), MOST_ROWS))
        terminal.run(_shell(), background=True, timeout_s=_FOREVER_S, told=False)
        return _line(terminal)

    def _pool(self, identifier: str) -> Pool:
        return self._own if identifier.startswith(OWN) else self._agents

    def _get(self, identifier: str) -> Terminal:
        return self._pool(identifier).get(identifier)

    def _lines(self) -> list[TerminalLine]:
        return [_line(terminal) for pool in (self._agents, self._own) for terminal in pool.all()]


def _line(terminal: Terminal) -> TerminalLine:
    stands = terminal.standing()
    return TerminalLine(
        id=terminal.id, name=terminal.name, own=terminal.id.startswith(OWN), running=stands["running"],
        command=stands.get("command", ""), exit_code=stands.get("exit_code"), since_ms=stands.get("since_ms", 0),
        left=stands.get("left", 0), typeable=terminal.typeable, cwd=stands["cwd"])


def _shell() -> str:
    """A shell to type at, in place of the one that was to run a command."""
    shell = system.shell()
    options = "--norc --noprofile -i" if shell.endswith("bash") else "-i"
    return f"{_PROMPT} exec {shell} {options}"
