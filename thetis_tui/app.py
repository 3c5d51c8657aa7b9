"""The program on the screen: connects after the first paint, folds what the gateway tells, and does what commands ask.

Owns the connection, the state and the outbox. Must not know how anything is drawn (that is the desk's) nor how the
gateway works: `connect` hands it a client.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import on, work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from thetis_kernel.errors import IpcError, ThetisError
from thetis_kernel.protocol import client as c

from thetis_tui.appearance import LOOK, Appearance
from thetis_tui.asking import Asking
from thetis_tui.door import Connect, Door
from thetis_tui.fatal import Fatal
from thetis_tui.finding import Finding
from thetis_tui.hearing import Hearing
from thetis_tui.keeping import Keeper
from thetis_tui.leaving import Leaving
from thetis_tui.messages import Told
from thetis_tui.notices import Level, Notices
from thetis_tui.performing import Performing
from thetis_tui.questions import Questions
from thetis_tui.sanitise import visible
from thetis_tui.screens.living import Living
from thetis_tui.screens.main import SIDEBAR_FROM, Desk
from thetis_tui.speech import Speech
from thetis_tui.state import State
from thetis_tui.themes import THEMES
from thetis_tui.widgets.conversation import ConversationView

if TYPE_CHECKING:
    from thetis_kernel.client import GatewayClient

T = TypeVar("T")
_HEARTBEAT = 20.0
"""Seconds between two looks at the list: heals what was missed and notices a gateway that went away in silence."""
_TWICE = 2.0
"""Seconds within which a second Ctrl+C quits."""
_SOON = 0.05
_KEEP = 0.5
"""Seconds after a key until drafts are written down: that much typing a killed terminal costs at most."""
_LEVELS = {"info": "information", "warn": "warning", "error": "error"}
_TAIL = 60
"""Events read to learn how an opened conversation's turn stands and what was said last."""


class ThetisApp(Performing, Fatal, Hearing, App[int]):
    """`connect` starts or finds the gateway; it is awaited after the first paint and again on "connect again"."""

    CSS_PATH = "thetis.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, id="thetis.quit"),
        Binding("ctrl+c", "interrupt", "Copy, or quit when pressed twice", show=False, priority=True),
        Binding("f1", "help", "Help on the page you are on", show=False),
    ]

    def __init__(
        self, connect: Connect, *, conversation: str = "", theme: str = "thetis-dark", keep: Path | None = None,
        notices: Level = "all", themes: Path | None = None,
    ) -> None:
        from thetis_tui.commands.palette import CommandProvider

        self.COMMANDS = {CommandProvider}  # type: ignore[misc] # Textual's own commands are not ours
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (SIDEBAR_FROM, "-normal"), (160, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (14, "-high"), (30, "-tall")]
        for known in THEMES:
            self.register_theme(known)
        self.theme = theme if theme in self.available_themes else "thetis-dark"
        self.state = State()
        self.keeper = Keeper(keep)
        self.keeper.load(self.state)
        self.door = Door(self, connect)
        self.speech = Speech(self)
        self.leaving = Leaving(self)
        self.asking = Asking(self)
        self.questions = Questions(self)
        self.finding = Finding(self)
        self.notices = Notices(self, notices)
        self.appearance = Appearance(self, themes)
        self.desk = Desk(self.state)
        self.wanted = conversation
        """The conversation to open first, until it is open."""
        self._interrupted_at = float("-inf")
        self._walls_open = False
        self._stale = False
        self._keeping = False

    def get_default_screen(self) -> Screen[Any]:
        return self.desk

    def on_mount(self) -> None:
        self.appearance.begin()
        self.set_interval(_HEARTBEAT, self._heartbeat)
        self.set_interval(LOOK, self._look)
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        """The first screen stands: deliver what was typed meanwhile, and begin to connect."""
        self.take_early()
        if not gc.isenabled():  # see `run`: what is alive now lives as long as the program
            gc.freeze()
            gc.enable()
        self.connect()

    # --- the gateway

    @property
    def client(self) -> GatewayClient:
        """The gateway's client. Raises IpcError while there is none."""
        return self.door.client

    async def ask(self, call: Awaitable[T]) -> T:
        """The answer to a client's call; a lost gateway is noticed on the way."""
        return await self.door.ask(call)

    @work(exclusive=True, group="connect")
    async def connect(self) -> None:
        """Reach the gateway, again and again when it was there before; what is typed meanwhile waits in the outbox."""
        first = self.state.link != "reconnecting"
        if not await (self.door.reach() if first else self.door.reach_again()):
            self.refresh_views()
            return  # whatever is wrong, a person has to see to it
        await self._open_wanted()  # first: what was typed until now is for the conversation that was named
        self.speech.outbox.ready()
        self._look()
        if first:
            self.keeper.unread(self.state)
            for notice in self.state.status.notices if self.state.status else ():
                self.say(notice)
            if self.state.status is not None and self.state.status.holder in ("daemon", "detached"):
                self.say("Attached to the gateway that runs here without a screen: turns go on when you leave.")
        await self.desk.catch_up()
        self.refresh_views()

    def connect_again(self) -> None:
        """Try to reach the gateway now, whether or not that was going to happen by itself."""
        if self.state.link == "reconnecting":
            self.door.hurry.set()
        else:
            self.connect()

    def lost(self) -> None:
        """The gateway went away (the state says so)."""
        self.speech.outbox.pause()
        self.refresh_views()
        self.connect()

    async def _open_wanted(self) -> None:
        wanted, self.wanted = self.wanted, ""
        if not wanted:
            return
        try:
            found = await self.ask(self.client.conversation(wanted))
            self.state.put(found)
            if not self.desk.view.session:
                self.desk.view.place.session = found.id
                self.state.opened(found.id)
                typed = self.desk.prompt.text  # what was left there comes before what was typed meanwhile
                left = self.desk.prompt.chips.again(self.state.drafts.of(found.id))
                self.desk.prompt.put("\n".join(part for part in (left, typed) if part))
            await self.desk.open(found.id)
        except ThetisError as error:
            self.fail(error)

    @work(exclusive=True, group="heartbeat")
    async def _heartbeat(self) -> None:
        await self.door.look()
        self.keep_soon()
        if self.state.current and self.state.link == "ready":
            self.speech.learn_queue(self.state.current)

    @work(exclusive=True, group="look")
    async def _look(self) -> None:
        await self.appearance.look()

    @work(exclusive=True, group="status")
    async def refresh_status(self) -> None:
        """Look again at the root (uncommitted files, walls)."""
        if self.state.link == "ready":
            try:
                self.state.status = await self.ask(self.client.status())
            except ThetisError as error:
                self.fail(error)
            self.refresh_views()

    # --- what it tells

    @on(Told)
    def _told(self, message: Told) -> None:
        tell = message.tell
        self.state.hear(tell)
        match tell:
            case c.Delta():
                self.desk.hear(tell)
                self.desk.show_activity()
            case c.EventStored(event=event):
                if not self.state.queues.event(event):
                    self.speech.learn_queue(event.session)
                self.desk.stored(tell)
                self.asking.heard(tell.event)
                self.notices.heard(tell.event)
                self.questions.heard(tell.event)
                self.refresh_soon()
            case c.Notice(level=level, message=text, hint=hint):
                self.say(text, hint=hint, level=level)
            case c.WallsQuestion(hint=hint):
                self._ask_walls(hint)
            case _:
                self.refresh_soon()

    @work(group="walls")
    async def _ask_walls(self, hint: str) -> None:
        from thetis_tui.screens.dialog import walls_dialog

        if self._walls_open:
            return
        self._walls_open = True
        session = self.state.current
        try:
            answer = await self.push_screen_wait(walls_dialog(hint))
            if answer:
                await self.ask(self.client.consent(answer == "allow"))
            elif session:
                await self.ask(self.client.stop(session))
        except ThetisError as error:
            self.fail(error)
        finally:
            self._walls_open = False
        self.refresh_status()

    # --- saying things

    def say(self, message: str, *, hint: str = "", level: str = "info") -> None:
        """A passing note; nothing in it is markup."""
        text = visible(f"{message}\n{hint}" if hint else message)
        severity = _LEVELS.get(level, "information")
        self.notify(text, severity=severity, markup=False, timeout=8 if level == "error" else 5)  # type: ignore[arg-type]

    def fail(self, error: ThetisError) -> None:
        """Say an error; one that the banner already says is not said twice."""
        if not (self.state.link in ("failed", "reconnecting") and isinstance(error, IpcError)):
            self.say(error.message, hint=error.hint, level="error")

    def refresh_views(self) -> None:
        """Show the state as it is now."""
        self._stale = False
        if self.desk.is_mounted:
            self.desk.refresh_views()
        for over in self.screen_stack[1:]:
            if isinstance(over, Living):
                over.refresh_state()
        self.leaving.look()
        self.notices.look()

    def refresh_soon(self) -> None:
        """Show the state shortly; a burst of news costs one refresh."""
        if not self._stale:
            self._stale = True
            self.set_timer(_SOON, self.refresh_views)

    # --- what outlives the screen

    def keep_soon(self) -> None:
        """Write drafts and the like down shortly; many keys cost one writing."""
        if not self._keeping:
            self._keeping = True
            self.set_timer(_KEEP, self.keep_now)

    def keep_draft(self) -> None:
        """Remember what stands in the prompt as the open conversation's."""
        self.state.drafts.keep(self.state.current, self.desk.draft())

    def keep_now(self) -> None:
        """Write them down."""
        self._keeping = False
        self.keep_draft()
        self.keeper.save(self.state)

    # --- conversations

    async def load(self, view: ConversationView, at: int = 0) -> None:
        """Fill a view from the log, and learn how its turn stands."""
        conversation = await self.ask(self.client.conversation(view.session))
        self.state.put(conversation)
        await view.open(self.door, conversation.last_seq, at=at)
        page = await self.door.read(view.session, max(0, conversation.last_seq - _TAIL), _TAIL)
        self.state.recall(page.events)
        await self.asking.fetch(view.session)
        await self.questions.fetch(view.session)
        self.speech.learn_queue(view.session)
        self.refresh_views()

    # --- leaving

    async def action_quit(self) -> None:
        self.perform("quit")

    def action_interrupt(self) -> None:
        """Ctrl+C: copies what is selected; otherwise a second one within two seconds quits."""
        focused = self.focused
        chosen = self.screen.get_selected_text() or getattr(focused, "selected_text", "")
        if chosen:
            self.copy_to_clipboard(chosen)
            return
        now = self.state.now()
        if now - self._interrupted_at <= _TWICE:
            self.perform("quit")
            return
        self._interrupted_at = now
        self.say("Press ctrl+c again to quit. Esc stops a turn.")

    async def leave(self) -> None:
        """Quit; asks first when turns would be stopped by it."""
        if await self.leaving.ask():
            self.exit(0)

    def hang_up(self) -> None:
        """The terminal is gone: what runs goes on without a screen."""
        self.leaving.detach = True
        self.exit(0)


def run(
    connect: Connect,
    *,
    conversation: str = "",
    leave: Callable[[bool], Awaitable[None]] | None = None,
    left: Callable[[str], None] | None = None,
    theme: str = "thetis-dark",
    keep: Path | None = None,
    notices: Level = "all",
    themes: Path | None = None,
) -> int:
    """Run the screen until the person leaves; returns the exit status.

    `connect` is awaited in this function's event loop after the first paint. `conversation`: an id or prefix to open.
    `keep`: a file for drafts and the like, None for none. `theme` and `notices` as the settings name them. `themes`: where
    a person's own colours are.
    After the screen is gone, on every way out, `left` is told the conversation looked at last; then `leave(detach)` is
    awaited: `detach`, what runs is to run on without a screen.
    """
    from thetis_tui.fatal import end_on_signals

    gc.disable()  # until the first paint: nothing made before it is garbage (measured: 8 % of the way there)
    app = ThetisApp(connect, conversation=conversation, theme=theme, keep=keep, notices=notices, themes=themes)

    async def main() -> None:
        with end_on_signals(lambda: app.exit(0), app.hang_up):
            try:
                await app.run_async()
            finally:
                app.keep_now()
                app.speech.outbox.close()
                app.door.close()
                if left is not None and app.state.current:
                    left(app.state.current)
                if leave is not None:
                    await leave(app.leaving.detach)

    asyncio.run(main())
    return app.return_code or 0
