"""What one turn's operations work on. Made by the worker, read by everything in toolhost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from thetis_kernel.protocol.events import BlobRef, Body
from thetis_kernel.protocol.net import Fetched, Wanted
from thetis_kernel.protocol.recalling import Originals
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.protocol.worker import AskApproval, GuestBundle, Place, Verdict
from thetis_kernel.stopsign import StopSign
from thetis_kernel.toolhost.bell import Bell
from thetis_kernel.toolhost.inside import Inside
from thetis_kernel.toolhost.shared import Written
from thetis_kernel.toolhost.tree import Tree

if TYPE_CHECKING:
    from thetis_kernel.toolhost.terminals.calls import Terminals


class Journal(Protocol):
    """The conversation's log as the worker may write it."""

    def append(self, body: Body) -> int:
        """Append and return the seq once it is durable."""
        ...

    def state(self, scope: str) -> dict[str, str]:
        """The fold's values of one scope: JSON text by key."""
        ...

    def keep(self, content: bytes, name: str) -> BlobRef:
        """Keep a picture or PDF durably, for a result to name; `name` is for people."""
        ...

    def originals(self, first: int, last: int, max_bytes: int) -> Originals:
        """The events first..last as they were logged, compacted ones too."""
        ...

    def project_notes(self) -> dict[str, str]:
        """The notes all conversations of the root share: JSON text by key."""
        ...

    def keep_project_note(self, key: str, content: str) -> bool:
        """Keep one of them, or forget it; whether one was there before."""
        ...


@dataclass(frozen=True)
class CommandRun:
    """A command for the walls: text, directory relative to the checkout, milliseconds, where the whole output may go."""

    text: str
    cwd: Path
    timeout_ms: int
    spill: Path


class Commands(Protocol):
    """Runs commands inside the walls."""

    def run(self, command: CommandRun, on_output: Callable[[str], None], cancel: threading.Event) -> dict[str, Any]:
        """The JSON of terminal.run; raises WallError when it cannot be confined."""
        ...


@dataclass
class TurnContext:
    """One turn: its place, its log, its way to be stopped, and the tool guests it may call."""

    turn: str
    place: Place
    journal: Journal
    commands: Commands
    output: Callable[[str, str], None]
    """(call id, text): live output for the screen."""
    guests: dict[str, GuestBundle] = field(default_factory=dict)
    """Tool guests by name."""
    call_guest: Callable[[str, str, dict[str, Any]], str] | None = None
    """(tool name, call id, args) -> text; set by the worker, which owns the wasm runtimes."""
    devkit: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None
    """(operation, arguments) -> answer, from the gateway; it also puts a changed tool in the place of the former one."""
    gateway: Callable[[Ask[Any]], Any] | None = None
    """Asks the gateway and waits for its answer; a stop withdraws the request. None where there is no gateway."""
    agents: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None
    """(operation, arguments) -> answer, from the gateway: sub-agents. None in a turn of one, which has none."""
    bell: Bell = field(default_factory=Bell)
    """Rung when something happened that a sleeping turn may wait for."""
    unread: Callable[[], bool] = field(default=lambda: False)
    """Whether somebody has spoken and the agent has not looked."""
    member: str = ""
    """Who this turn is among those that share the checkout: "" the conversation itself, else a sub-agent's id."""
    written: Written | None = None
    """Who wrote what, shared by all of them."""
    branch: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None
    """(operation, arguments) -> answer, from the gateway: the conversation's branch."""
    cancelled: StopSign = field(default_factory=StopSign)
    terminals: Terminals | None = None
    """The conversation's terminals; None where there are none."""
    harmless: set[str] = field(default_factory=set)
    """Calls of tool guests that declare to change nothing: no effect is permitted for them."""
    callers: dict[str, str] = field(default_factory=dict)
    """The tool guest that runs for a call."""
    inside: dict[str, Inside] = field(default_factory=dict)
    """What the tool guest of a call did by its own imports, until its result tells it."""
    seen: dict[str, Any] = field(default_factory=dict)
    """By machine: the host key a person is being shown, kept until it is used (toolhost.machines)."""
    effects: int = 0
    """Effects that were judged in this turn."""
    consent: Callable[[AskApproval], Verdict] | None = None
    """Asks the gateway, and through it the person; None where nobody can be asked."""
    confine: Callable[[], object] = field(default=lambda: None)
    """Raises WallError when commands cannot be confined here and nobody agreed to run them all the same."""
    fetch: Callable[[str, Wanted], Fetched] | None = None
    """(tool name, request) -> answer, by the process that has the network; set by the worker."""
    reading: Callable[[Path, list[str]], list[str]] = field(default=lambda base, program: program)
    """(directory, command line) -> a command line that can read that directory alone; the worker's walls set it."""

    def __post_init__(self) -> None:
        place = self.place
        self.tree = Tree(Path(place.worktree), Path(place.workspace), Path(place.spill), tuple(place.readable_secrets))
