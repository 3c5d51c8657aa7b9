"""The program on the screen: connects after the first paint, folds what the gateway tells, and does what commands ask.

Owns the connection, the state and the outbox. Must not know how anything is drawn (that is the desk's) nor how the
gateway works: `connect` hands it a client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import on, work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from thetis_kernel.errors import IpcError, ThetisError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.wire import Tell

from thetis_tui.bridge import Bridge
from thetis_tui.commands import BY_ID
from thetis_tui.commands.slash import parse
from thetis_tui.fatal import Fatal
from thetis_tui.messages import Told
from thetis_tui.outbox import Outbox, Place, Words
from thetis_tui.sanitise import visible
from thetis_tui.screens.main import Desk
from thetis_tui.state import NEW, State
from thetis_tui.themes import THEMES
from thetis_tui.views import title_of
from thetis_tui.widgets.composer import Offer
from thetis_tui.widgets.conversation import ConversationView
from thetis_tui.widgets.eventlog import PAGE, EventLines
from thetis_tui.widgets.prompt import Prompt
from thetis_tui.widgets.sidebar import Sidebar
from thetis_tui.widgets.welcome import Choice

if TYPE_CHECKING:
    from thetis_kernel.client import GatewayClient
    from thetis_kernel.protocol.blocks import RenderedEvent

T = TypeVar("T")
Connect = Callable[[], Awaitable["GatewayClient"]]
_HEARTBEAT = 20.0
"""Seconds between two looks at the list: heals what was missed and notices a gateway that went away in silence."""
_TWICE = 2.0
"""Seconds within which a second Ctrl+C quits."""
_SOON = 0.05
_LEVELS = {"info": "information", "warn": "warning", "error": "error"}
_TAIL = 60
"""Events read to learn how an opened conversation's turn stands and what was said last."""


class _Log:
    """Reads logs through whatever gateway there is now."""

    def __init__(self, app: ThetisApp) -> None:
        self._app = app

    async def read(self, session: str, after: int = 0, limit: int = 500) -> c.EventPage:
        return await self._app.ask(self._app.client.read(session, after, limit))

    async def render(self, session: str, after: int, upto: int) -> list[RenderedEvent]:
        return await self._app.ask(self._app.client.render(session, after, upto))


class ThetisApp(Fatal, App[int]):
    """`connect` starts or finds the gateway; it is awaited after the first paint and again on "connect again"."""

    CSS_PATH = "thetis.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, id="thetis.quit"),
        Binding("ctrl+c", "interrupt", "Copy, or quit when pressed twice", show=False, priority=True),
    ]

    def __init__(self, connect: Connect, *, conversation: str = "", theme: str = "thetis-dark") -> None:
        from thetis_tui.commands.palette import CommandProvider

        self.COMMANDS = {CommandProvider}  # type: ignore[misc] # Textual's own commands are not ours
        super().__init__()
        for known in THEMES:
            self.register_theme(known)
        self.theme = theme
        self.state = State()
        self.log_of = _Log(self)
        self.desk = Desk(self.state)
        self.outbox = Outbox(self._create, self._submit, self._sent, self._unsent)
        self._connect = connect
        self._wanted = conversation
        self._bridge: Bridge | None = None
        self._interrupted_at = float("-inf")
        self._walls_open = False
        self._stale = False

    def get_default_screen(self) -> Screen[Any]:
        return self.desk

    def on_mount(self) -> None:
        self.set_interval(_HEARTBEAT, self._heartbeat)
        self.call_after_refresh(self.connect)

    # --- the gateway

    @property
    def client(self) -> GatewayClient:
        """The door. Raises IpcError while there is none."""
        if self._bridge is None:
            raise IpcError("The gateway is not there yet.", hint="What you typed is kept.")
        return self._bridge.client

    async def ask(self, call: Awaitable[T]) -> T:
        """The answer to a client's call; a lost gateway is noticed on the way."""
        if self._bridge is None:
            raise IpcError("The gateway is not there yet.", hint="What you typed is kept.")
        return await self._bridge.ask(call)

    @work(exclusive=True, group="connect")
    async def connect(self) -> None:
        """Reach the gateway; what was typed before waits in the outbox."""
        state = self.state
        state.link, state.trouble = "connecting", None
        self.refresh_views()
        try:
            client = await self._connect()
            if self._bridge is not None:
                self._bridge.close()
            self._bridge = Bridge(client, self._hear, self._gone)
            await self._bridge.open()
            state.status = await self.ask(client.status())
            state.replace(await self.ask(client.conversations()))
        except (ThetisError, OSError) as error:
            state.link = "failed"
            state.trouble = error if isinstance(error, ThetisError) else ThetisError(str(error), code="os")
            self.refresh_views()
            return
        state.link = "ready"
        self.outbox.ready()
        for notice in state.status.notices:
            self.say(notice)
        await self._open_wanted()
        await self.desk.catch_up()
        self.refresh_views()

    async def _open_wanted(self) -> None:
        wanted, self._wanted = self._wanted, ""
        if not wanted:
            return
        try:
            found = await self.ask(self.client.conversation(wanted))
            self.state.put(found)
            await self.desk.open(found.id)
        except ThetisError as error:
            self.fail(error)

    def _gone(self, error: ThetisError) -> None:
        self.state.link, self.state.trouble = "gone", error
        self.refresh_views()

    @work(exclusive=True, group="heartbeat")
    async def _heartbeat(self) -> None:
        if self.state.link != "ready":
            return
        try:
            self.state.replace(await self.ask(self.client.conversations()))
        except ThetisError:
            return  # a lost gateway has been said by the bridge; anything else is tried again
        self.refresh_soon()

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

    def _hear(self, tell: Tell) -> None:
        self.post_message(Told(tell))

    @on(Told)
    def _told(self, message: Told) -> None:
        tell = message.tell
        self.state.hear(tell)
        match tell:
            case c.Delta():
                self.desk.hear(tell)
                self.desk.show_activity()
            case c.EventStored():
                self.desk.stored(tell)
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
        if error is not self.state.trouble:
            self.say(error.message, hint=error.hint, level="error")

    def refresh_views(self) -> None:
        """Show the state as it is now."""
        self._stale = False
        if self.desk.is_mounted:
            self.desk.refresh_views()

    def refresh_soon(self) -> None:
        """Show the state shortly; a burst of news costs one refresh."""
        if not self._stale:
            self._stale = True
            self.set_timer(_SOON, self.refresh_views)

    # --- commands

    @work(group="commands")
    async def perform(self, command_id: str, argument: str = "") -> None:
        """Run a command; its errors are said."""
        try:
            await BY_ID[command_id].run(self, argument)
        except ThetisError as error:
            self.fail(error)

    async def answer(self, screen: Screen[T]) -> T:
        """Put a question over the desk and wait for the answer."""
        return await self.push_screen_wait(screen)

    def show(self, session: str) -> None:
        """Open a conversation (from a list)."""
        self._open(session)

    @work(group="commands")
    async def _open(self, session: str) -> None:
        try:
            await self.desk.open(session)
        except ThetisError as error:
            self.fail(error)

    async def load(self, view: ConversationView, at: int = 0) -> None:
        """Fill a view from the log, and learn how its turn stands."""
        conversation = await self.ask(self.client.conversation(view.session))
        self.state.put(conversation)
        await view.open(self.log_of, conversation.last_seq, at=at)
        page = await self.log_of.read(view.session, max(0, conversation.last_seq - _TAIL), _TAIL)
        self.state.recall(page.events)
        self.refresh_views()

    # --- words on their way

    @on(Prompt.Sent)
    def _entered(self, event: Prompt.Sent) -> None:
        text = event.text.strip()
        if not text:
            if BY_ID["resume"].applies(self):
                self.perform("resume")
            return
        asked = parse(text)
        if asked is not None:
            command, argument = asked
            self.desk.prompt.put("")
            if command.applies(self):
                self.perform(command.id, argument)
            else:
                self.say(f"/{command.slash} makes no sense here now.", level="warn")
            return
        if text.startswith("/") and text[1:].isalpha():
            self.say(f"There is no command {text}.", hint="/help lists them.", level="warn")
            return
        self._send(text)

    def _send(self, text: str) -> None:
        state, view = self.state, self.desk.view
        include = state.with_changes and state.may_include_changes()
        words = self.outbox.send(view.place, text, with_changes=include)
        view.say(words.event_id, text, nudge=state.turn is not None, waiting=state.link != "ready")
        state.history.add(text)
        state.with_changes = False
        self.desk.prompt.put("")
        self.refresh_views()

    async def _create(self, place: Place) -> None:
        conversation = await self.ask(self.client.create(origin="tui", mode=self.state.new_mode))
        self.state.put(conversation)
        place.session = conversation.id
        view = self.desk.view_of(place)
        if view is not None:
            await view.open(self.log_of, 0)
        self.desk.created(place)

    async def _submit(self, words: Words) -> c.Submitted:
        view = self.desk.view_of(words.place)
        if view is not None:
            view.sending(words.event_id)
        return await self.ask(
            self.client.submit(
                words.place.session, words.text, event_id=words.event_id, with_changes=words.with_changes
            )
        )

    def _sent(self, words: Words, submitted: c.Submitted) -> None:
        self.refresh_soon()

    def _unsent(self, words: Words, error: ThetisError) -> None:
        """The words come back into the prompt, or its draft, rather than being lost."""
        view = self.desk.view_of(words.place)
        if view is not None:
            view.unsay(words.event_id)
        if view is self.desk.view and not self.desk.prompt.text:
            self.desk.prompt.put(words.text)
        else:
            before = self.state.drafts.of(words.place.session)
            self.state.drafts.keep(words.place.session, f"{words.text}\n{before}".strip())
        self.fail(error)
        self.refresh_views()

    # --- what widgets say

    @on(Prompt.Pressed)
    def _pressed(self, event: Prompt.Pressed) -> None:
        if event.what == "example":
            self.desk.next_example()
        else:
            self.perform(event.what)

    @on(Offer.Toggled)
    def _toggled(self) -> None:
        self.perform("include")

    @on(Sidebar.Chosen)
    def _chosen(self, event: Sidebar.Chosen) -> None:
        self.perform("new") if event.session == NEW else self.show(event.session)

    @on(Choice.Chosen)
    def _suggested(self, event: Choice.Chosen) -> None:
        if event.session:
            self.show(event.session)
        else:
            self.desk.prompt.put(event.text)
            self.desk.prompt.focus()

    @on(ConversationView.Failed)
    def _failed(self, event: ConversationView.Failed) -> None:
        self.fail(event.error)

    @on(EventLines.Wanted)
    @work(group="log")
    async def _log_page(self, event: EventLines.Wanted) -> None:
        session = self.state.current
        try:
            page = await self.log_of.read(session, event.after, PAGE)
        except ThetisError as error:
            self.fail(error)
        else:
            self.desk.log_page(session, event.after, page.events)

    @on(EventLines.Chosen)
    @work(group="log")
    async def _show_event(self, event: EventLines.Chosen) -> None:
        from thetis_tui.screens.event import EventScreen

        try:
            page = await self.log_of.read(self.state.current, event.seq - 1, 1)
        except ThetisError as error:
            self.fail(error)
        else:
            if page.events:
                self.push_screen(EventScreen(page.events[0]))

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
        from thetis_tui.screens.dialog import leave_dialog

        running = self.state.running() if self.state.link == "ready" else []
        if running:
            if await self.answer(leave_dialog([title_of(conversation) for conversation in running])) != "stop":
                return
            await asyncio.gather(*(self.ask(self.client.stop(conversation.id)) for conversation in running))
        self.exit(0)


def run(
    connect: Connect,
    *,
    conversation: str = "",
    leave: Callable[[], Awaitable[None]] | None = None,
    theme: str = "thetis-dark",
) -> int:
    """Run the screen until the person leaves; returns the exit status.

    `connect` is awaited in this function's event loop after the first paint. `conversation`: an id or prefix to open.
    `leave` is awaited after the screen is gone, on every way out.
    """
    from thetis_tui.fatal import end_on_signals

    app = ThetisApp(connect, conversation=conversation, theme=theme)

    async def main() -> None:
        with end_on_signals(lambda: app.exit(0)):
            try:
                await app.run_async()
            finally:
                app.outbox.close()
                if leave is not None:
                    await leave()

    asyncio.run(main())
    return app.return_code or 0
