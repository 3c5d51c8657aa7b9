"""A conversation's terminals as a person sees and uses them: a list, a screen as cells, keys.

Owns the words between screen, gateway and worker. A screen is text with colours by name or as rrggbb, never a control sequence;
text of strangers all the same. Never offered over a bridge.
"""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.wire import Ask
from thetis_kernel.protocol.worker import Place

MOST_COLUMNS, MOST_ROWS = 400, 200
MAX_KEYS = 16 * 1024
"""Bytes typed or pasted at once."""
MAX_WAIT_MS = 5_000


class TerminalLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One terminal. `own`: a person opened it, and the agent neither sees nor uses it. `command`: what runs, or ran last, cut;
    `exit_code` of that once it has ended; `left`: processes of it that go on."""

    id: str
    name: str = ""
    own: bool = False
    running: bool = False
    command: str = ""
    exit_code: int | None = None
    since_ms: int = 0
    left: int = 0
    typeable: bool = False
    """Whether keys reach somebody: a command with the terminal as its input runs."""
    cwd: str = ""


class Cells(msgspec.Struct, frozen=True, array_like=True):
    """A stretch of a line that looks alike. `fg`, `bg`: "" for the terminal's own, a name as pyte has it, or rrggbb.
    `style`: 1 bold, 2 italic, 4 underlined, 8 struck through, 16 reversed."""

    text: str
    fg: str = ""
    bg: str = ""
    style: int = 0


class Shown(msgspec.Struct, frozen=True):
    """A terminal's screen. `cursor`: row and column from 0, None when it is hidden or not in view; `above`: lines of scrollback,
    `back` of which lie below the first row; `application_keys`, `paste`: what the program wants cursor keys and pastes to be."""

    version: int
    columns: int
    rows: list[list[Cells]]
    cursor: tuple[int, int] | None = None
    above: int = 0
    back: int = 0
    application_keys: bool = False
    paste: bool = False
    alternate: bool = False


class Watched(msgspec.Struct, frozen=True):
    """The terminals there are, and the screen that was asked for, None when it is as it was or gone."""

    terminals: list[TerminalLine]
    shown: Shown | None = None


class WatchTerminal(Ask[Watched], frozen=True, tag="client.watch-terminal"):
    """Look at a terminal: answered at once unless its version is `version`, else when it changes, after `wait_ms` at the latest.
    `terminal` "": only the list. `columns` and `rows`: the size it is looked at in, which becomes its own; 0: as it is."""

    session: str
    terminal: str = ""
    version: int = 0
    wait_ms: int = 0
    back: int = 0
    columns: int = 0
    rows: int = 0


class OpenTerminal(Ask[TerminalLine], frozen=True, tag="client.open-terminal"):
    """A person opens a terminal of their own in the conversation's worktree, within its walls, with a shell in it.
    With `terminal`: a shell for the person in that one, where nothing runs."""

    session: str
    terminal: str = ""
    columns: int = 0
    rows: int = 0


class TypeKeys(Ask[None], frozen=True, tag="client.type-keys"):
    """Keys of a person for the program in a terminal, as a terminal sends them."""

    session: str
    terminal: str
    data: bytes


class CloseTerminal(Ask[None], frozen=True, tag="client.close-terminal"):
    """End a terminal and everything in it."""

    session: str
    terminal: str


TERMINAL_ASKS = (WatchTerminal, OpenTerminal, TypeKeys, CloseTerminal)


class AtTerminals(Ask[bytes], frozen=True, tag="worker.terminals"):
    """One of the above for the worker, as JSON like its answer. `place`: where a new one is opened."""

    wanted: bytes
    place: Place | None = None
