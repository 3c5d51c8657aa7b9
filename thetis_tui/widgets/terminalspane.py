"""The terminals of a conversation beside the transcript: which there are, and the screen of one, live and typeable.

Owns which one is looked at, and asks for its screen as long as the pane is shown: an answer comes when something changed.
Must not know how keys become bytes or cells a line.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static
from thetis_kernel.errors import IpcError, ThetisError
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.terminals import TerminalLine, Watched, WatchTerminal

from thetis_tui.sanitise import one_line
from thetis_tui.text import cut, plural
from thetis_tui.widgets.terminallist import TerminalList
from thetis_tui.widgets.terminalview import TerminalView

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

_WAIT_MS = 1000
"""The list may change without the screen that is looked at."""
_PAUSE = 0.03
"""Seconds between two screens: what floods is shown thirty times a second."""
_MOST_KEYS = 8 * 1024
"""Bytes of a paste that are handed over at once."""
_NONE = "No terminal is open. Those the agent opens appear here.\n\nn opens one of your own in this conversation's files."
_FIRST = "A terminal works in the conversation's own files, which are made with your first words. Say something first."


class TerminalsPane(Vertical):
    """The list over the screen."""

    DEFAULT_CSS = """
    TerminalsPane { width: 64; height: 1fr; background: $surface; padding: 1 0 0 0; }
    TerminalsPane > .heading { height: 1; padding: 0 1; margin-bottom: 1; color: $text-muted; text-wrap: nowrap; }
    TerminalsPane > .empty { height: auto; padding: 0 1; color: $text-muted; display: none; }
    TerminalsPane > .note { height: auto; padding: 0 1; color: $text-warning; display: none; }
    TerminalsPane.-none > .empty { display: block; }
    TerminalsPane.-none > TerminalView { visibility: hidden; }
    TerminalsPane.-read-only > .note { display: block; }
    TerminalsPane > .foot { height: 1; padding: 0 1; color: $text-disabled; text-wrap: nowrap; text-overflow: ellipsis; }
    TerminalsPane.-typing > .foot { color: $text-accent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.list = TerminalList()
        self.view = TerminalView()
        self.heading = Static(Content("Terminals"), classes="heading", markup=False)
        self.empty = Static(Content(_NONE), classes="empty", markup=False)
        self.note = Static(Content(""), classes="note", markup=False)
        self.foot = Static(Content(""), classes="foot", markup=False)
        self.session = ""
        self.chosen = ""
        self.back = 0
        self._version = 0
        self._asked_to_close = ""
        self._keys = bytearray()
        self._sending = False
        self._said: dict[Static, str] = {}

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.list
        yield self.note
        yield self.empty
        yield self.view
        yield self.foot

    @property
    def thetis(self) -> ThetisApp:
        """The app."""
        return cast("ThetisApp", self.app)

    @property
    def line(self) -> TerminalLine | None:
        """The terminal that is looked at."""
        return next((line for line in self.list.lines if line.id == self.chosen), None)

    # --- what the desk says

    def look(self, app: ThetisApp, session: str) -> None:
        """Show this conversation's terminals."""
        if session != self.session:
            self.session, self.chosen = session, ""
            self._take(Watched(terminals=[]))
        self._tell_mode(app)
        self.again()

    def heard(self, app: ThetisApp, event: e.Event) -> None:
        """The mode may have become another one; terminals are asked for all the time."""
        if event.kind == "setting-changed":
            self._tell_mode(app)

    def enter(self) -> None:
        """Take the focus."""
        self.list.focus()

    def _tell_mode(self, app: ThetisApp) -> None:
        line, status = app.state.conversations.get(self.session), app.state.status
        mode = line.mode if line else ""
        read_only = status is not None and any(known.id == mode and known.read_only for known in status.modes)
        self.set_class(read_only, "-read-only")
        if read_only:
            words = f"In {one_line(mode)} the agent runs no commands. What you type in a terminal of yours runs."
            self.note.update(Content(words))

    # --- asking

    def again(self) -> None:
        """Look anew, from the start."""
        self._version = 0
        if self.session and self.is_attached:
            self._follow(self.session)
        else:
            self._take(Watched(terminals=[]), _FIRST)

    @work(exclusive=True, group="terminal")
    async def _follow(self, session: str) -> None:
        app = self.thetis
        while self.has_class("-shown") and session == self.session:
            columns, rows = self._room()
            ask = WatchTerminal(session=session, terminal=self.chosen, version=self._version, back=self.back,
                                wait_ms=_WAIT_MS if self._version else 0, columns=columns, rows=rows)
            try:
                answer = await app.ask(app.client.watch_terminal(ask))
            except ThetisError as error:
                self._take(Watched(terminals=[]), one_line(error.message))
                await asyncio.sleep(_WAIT_MS / 1000)
                continue
            if session != self.session:
                return
            self._take(answer)
            await asyncio.sleep(_PAUSE if self.chosen else _WAIT_MS / 1000)

    def _room(self) -> tuple[int, int]:
        """The size the terminal should have. An agent's keeps its own unless a person types in it: looking changes nothing."""
        if self.line is None or not (self.line.own or self.view.has_focus):
            return 0, 0
        return self.view.size.width, self.view.size.height

    def _take(self, answer: Watched, why: str = "") -> None:
        lines = answer.terminals
        known = [line.id for line in lines]
        if self.chosen not in known:
            self.chosen = known[-1] if known else ""
            self._version, self.back = 0, 0
            self.view.show(None)
            if not known and self.view.has_focus:
                self.list.focus()
        elif answer.shown is not None:
            self._version, self.back = answer.shown.version, answer.shown.back
            self.view.show(answer.shown)
        self.set_class(not lines, "-none")
        self._say(self.empty, why or _NONE)
        self.list.show(lines, self.chosen)
        self._say(self.heading, f"Terminals · {len(lines)}" if lines else "Terminals")
        self._tell_keys()

    def _tell_keys(self) -> None:
        line, typing = self.line, self.view.has_focus
        self.set_class(typing, "-typing")
        if self.back and self.view.shown is not None:
            words = f"{self.back} of {plural(self.view.shown.above, 'line')} back · " + ("type" if typing else "end") + " returns"
        elif typing and line is not None and not line.typeable:
            words = f"{'no input here' if line.running else 'it has ended · enter a shell'} · ctrl+] leaves"
        elif typing:
            words = "ctrl+] leaves · all other keys are the program's"
        elif line is None:
            words = "n new"
        else:
            words = "enter type · n new · x close · pgup back"
        self._say(self.foot, words)

    def _say(self, where: Static, words: str) -> None:
        """Draw only what is new: an idle pane writes nothing."""
        if self._said.get(where) != words:
            self._said[where] = words
            where.update(Content(words))

    # --- what a person does

    def choose(self, identifier: str) -> None:
        """Look at another one."""
        if identifier != self.chosen:
            self.chosen, self.back, self._asked_to_close = identifier, 0, ""
            self.view.show(None)
            self.list.show(self.list.lines, identifier)
            self.again()

    def do(self, what: str) -> None:
        """A key of the list."""
        page = max(1, self.view.size.height - 1)
        match what:
            case "new":
                self.open_one()
            case "close":
                self._close()
            case "enter":
                self._enter()
            case "back" | "forth":
                self._scroll(page if what == "back" else -page)
            case _:
                self._scroll(-self.back)

    def _enter(self) -> None:
        line = self.line
        if line is None:
            self.open_one()
        elif line.running and not line.typeable:
            self.thetis.say("This command has no input; you can watch it.", hint="A terminal of your own: n.", level="warn")
        else:
            if not line.running:
                self.open_one(line.id)
            self.view.focus()

    @work(group="terminal-open")
    async def open_one(self, terminal: str = "") -> None:
        """A terminal of the person's own, or a shell in an idle one."""
        app, session = self.thetis, self.session
        if not session:
            app.say(_FIRST, level="warn")
            return
        try:
            line = await app.ask(app.client.open_terminal(
                session, terminal, columns=self.view.size.width, rows=self.view.size.height))
        except ThetisError as error:
            app.fail(error)
            return
        if session == self.session and self.has_class("-shown"):
            self.chosen, self.back = line.id, 0
            self.list.show([*(one for one in self.list.lines if one.id != line.id), line], line.id)
            self.remove_class("-none")
            self.view.focus()
            self.again()

    @work(group="terminal-close")
    async def _close(self) -> None:
        app, line = self.thetis, self.line
        if line is None:
            return
        if line.running and self._asked_to_close != line.id:
            self._asked_to_close = line.id
            app.say(f"{cut(one_line(line.command), 40)} is running in {line.id}. x again ends it.", level="warn")
            return
        self._asked_to_close = ""
        try:
            await app.ask(app.client.close_terminal(self.session, line.id))
        except ThetisError as error:
            app.fail(error)
        self.again()

    def _scroll(self, by: int) -> None:
        back = max(0, self.back + by)
        if back != self.back:
            self.back = back
            self._tell_keys()
            self.again()

    @on(TerminalView.Scrolled)
    def _scrolled(self, event: TerminalView.Scrolled) -> None:
        event.stop()
        self._scroll(event.by)

    @on(TerminalView.Typed)
    def _typed(self, event: TerminalView.Typed) -> None:
        event.stop()
        line = self.line
        if line is not None and not line.running:
            if event.data == b"\r":
                self.open_one(line.id)
            return
        if self.back:
            self._scroll(-self.back)
        self._keys += event.data
        self._send()

    @work(group="terminal-keys")
    async def _send(self) -> None:
        """What was typed, in order: one request at a time, with all that came meanwhile."""
        if self._sending:
            return
        self._sending = True
        app = self.thetis
        try:
            while self._keys and self.chosen:
                data, self._keys = bytes(self._keys[:_MOST_KEYS]), self._keys[_MOST_KEYS:]
                await app.ask(app.client.type_keys(self.session, self.chosen, data))
        except IpcError:
            self._keys.clear()
        except ThetisError as error:
            self._keys.clear()
            app.fail(error)
        finally:
            self._sending = False

    @on(TerminalView.Fitted)
    def _fitted(self, event: TerminalView.Fitted) -> None:
        event.stop()
        self._tell_keys()
        if self.has_class("-shown"):
            self.again()

    @on(TerminalView.Left)
    def _left(self, event: TerminalView.Left) -> None:
        event.stop()
        self.list.focus()
        self.call_after_refresh(self._tell_keys)
