"""The desk: conversations left, one transcript in the middle, the log right, the prompt at the foot.

Owns which views are open and what is shown where. Must not know how anything is asked of the gateway: it reads the
state and is told what to show.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.client import Delta, EventStored

from thetis_tui.commands import ALL, BY_ID
from thetis_tui.outbox import Place
from thetis_tui.sanitise import one_line
from thetis_tui.screens.docking import Docking
from thetis_tui.state import NEW, State
from thetis_tui.text import sentence
from thetis_tui.views import activity_of, entries_of, facts_of, hint_of, placeholder_of, tokens_of, where_of
from thetis_tui.widgets.below import Below
from thetis_tui.widgets.composer import Composer
from thetis_tui.widgets.conversation import ConversationView
from thetis_tui.widgets.findbar import FindBar
from thetis_tui.widgets.heading import Banner, Heading, ProgressLine
from thetis_tui.widgets.prompt import Prompt
from thetis_tui.widgets.sidebar import Sidebar
from thetis_tui.widgets.statusbar import StatusBar

OPEN_VIEWS = 4
"""Conversations kept mounted, so that going back costs nothing."""
SIDEBAR_FROM = 100
"""Columns from which the list is shown without being asked for."""


class Desk(Docking):
    """The main screen."""

    BINDINGS: ClassVar[list[BindingType]] = [binding for command in ALL for binding in command.bindings()]
    AUTO_FOCUS = "#prompt"

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state
        self.sidebar = Sidebar()
        self.heading = Heading()
        self.progress = ProgressLine()
        self.banner = Banner()
        self.find = FindBar()
        self.composer = Composer(lambda: state.now())
        self.status = StatusBar()
        self.view = ConversationView()
        self.views = Container(self.view, id="views")
        self.prompt = self.composer.prompt
        self.completing = self.composer.completions
        self._opening = asyncio.Lock()

    def _fit(self, size: Size) -> None:
        """Take the classes of a size before anything is laid out in it: no frame is drawn in the wrong shape."""
        wide, high = self.app.HORIZONTAL_BREAKPOINTS or [], self.app.VERTICAL_BREAKPOINTS or []
        fitting = {*self._get_breakpoint_classes(size.width, wide), *self._get_breakpoint_classes(size.height, high)}
        self.update_classes({name: name in fitting for _, name in (*wide, *high)}, animate=False)

    def _screen_resized(self, size: Size) -> None:
        self._fit(size)
        super()._screen_resized(size)

    def compose(self) -> ComposeResult:
        self._fit(self.app.size)
        with Horizontal(id="body"):
            yield self.sidebar
            with Vertical(id="centre"):
                yield self.heading
                yield self.banner
                yield self.progress
                yield self.views
                yield self.find
                yield self.composer
        yield self.status

    def on_mount(self) -> None:
        self.view.add_class("-shown")
        if not self.thetis.wanted:
            self.take_draft(NEW)
        self.set_interval(30, self.refresh_views)
        self.refresh_views()

    # --- what is shown

    @property
    def _roomy(self) -> bool:
        """Whether the list stands beside the transcript rather than over it."""
        return self.size.width >= SIDEBAR_FROM

    def on_resize(self, event: events.Resize) -> None:
        if event.size.width >= SIDEBAR_FROM:
            self.remove_class("-listed")

    def toggle_sidebar(self) -> None:
        """Show or hide the list; where it covers the transcript it takes the focus."""
        if self._roomy:
            self.toggle_class("-unlisted")
        else:
            self.toggle_class("-listed")
        if self.sidebar.display:
            self.sidebar.list.focus()
        else:
            self.prompt.focus()

    def to_prompt(self) -> None:
        """Put the cursor where one types, and the prompt in view."""
        self.remove_class("-listed")
        self.prompt.focus()

    def refresh_views(self) -> None:
        """Hand every part what the state says."""
        state = self.state
        self.status.view = state.view()
        self.status.tokens = tokens_of(state)
        self.status.hints = "ctrl+p commands · ? help" if state.turn is None else ""
        self.composer.activity = activity_of(state)
        self.composer.hint = hint_of(state)
        self.composer.agents.show(state.agents())
        waiting = self.thetis.speech.queued()
        self.composer.queue.show(waiting, held=state.turn is None)
        self.prompt.queues, self.prompt.recalls = state.queues_apply(), bool(waiting)
        self.prompt.placeholder = Content(placeholder_of(state))
        files = state.status.uncommitted if state.status and state.may_include_changes() else 0
        self.composer.offer.show(files, state.with_changes)
        title, place = where_of(state)
        self.heading.title, self.heading.place = title, place
        self.sidebar.root = one_line(state.status.root.rstrip("/").rsplit("/", 1)[-1]) if state.status else ""
        self.sidebar.entries = entries_of(state)
        self.sidebar.current = state.current
        progress = next(iter(state.progress.values()), None)
        self.progress.what = progress.what if progress else ""
        self.progress.done, self.progress.total = (progress.done, progress.total) if progress else (0, 0)
        if state.trouble is not None and state.link == "failed":
            self.banner.show(state.trouble.message, f"{state.trouble.hint} ctrl+r tries again.".strip())
        elif state.trouble is not None and state.link == "reconnecting":
            again = "Connecting again; what you type waits. ctrl+r tries at once."
            self.banner.show(sentence(state.trouble.message), f"{state.trouble.hint} {again}".strip())
        else:
            self.banner.show("")
        if self.view.has_class("-empty"):
            self.view.welcome.facts = facts_of(state)

    # --- which conversation

    async def open(self, session: str, *, at: int = 0) -> None:
        """Look at a conversation; NEW is the one that does not exist yet. The draft stays with the old one."""
        self.thetis.keep_draft()
        async with self._opening:
            view = next((v for v in self._opened() if v.session == session), None)
            if view is None:
                view = ConversationView(session)
                await self.views.mount(view)
            self._show(view)
            if session and not view.begun:
                await self.thetis.load(view, at)
            if at:
                await view.show(at)
            await self._close_surplus()

    def _show(self, view: ConversationView) -> None:
        self.view.remove_class("-shown")
        view.add_class("-shown")
        self.views.move_child(view, after=-1)
        self.view = view
        state = self.state
        if state.current != view.session:
            state.opened(view.session)
            state.with_changes = False
        self.take_draft(view.session)
        self.remove_class("-listed")
        self.look()
        self.prompt.focus()
        self.thetis.asking.look()
        self.refresh_views()

    async def forget(self, session: str) -> None:
        """A conversation was deleted: nothing of it stays on the screen."""
        if self.state.current == session:
            await self.open(NEW)
        for view in self._opened():
            if view.session == session and view is not self.view:
                await view.remove()
        self.refresh_views()

    def created(self, place: Place) -> None:
        """The new conversation has got its id."""
        if self.view.place is place:
            self.state.opened(place.session)
        self.refresh_views()

    def view_of(self, place: Place) -> ConversationView | None:
        """The view of a place, if it is still open."""
        return next((view for view in self._opened() if view.place is place), None)

    async def catch_up(self) -> None:
        """After the gateway was away: every open view reads on."""
        for view in self._opened():
            conversation = self.state.conversations.get(view.session)
            if conversation is not None:
                view.catch_up(conversation.last_seq)
                self.thetis.speech.learn_queue(view.session)

    def show_activity(self) -> None:
        """Only what the running turn is doing."""
        self.composer.activity = activity_of(self.state)

    def next_example(self) -> None:
        """Put the next example of an empty conversation into the prompt."""
        examples = facts_of(self.state).examples
        if not self.view.has_class("-empty") or self.state.status is None:
            self.focus_next()
            return
        at = examples.index(self.prompt.example) + 1 if self.prompt.example in examples else 0
        text = examples[at % len(examples)]
        self.prompt.put(text)
        self.prompt.example = text

    def _opened(self) -> list[ConversationView]:
        return list(self.views.query_children(ConversationView))

    async def _close_surplus(self) -> None:
        for view in self._opened()[:-OPEN_VIEWS]:
            if view is not self.view and not view.pending:
                await view.remove()

    # --- what streams in

    def stored(self, tell: EventStored) -> None:
        """A durable event of any conversation."""
        event = tell.event
        for view in self._opened():
            if view.session == event.session:
                view.offer(event)
        if event.session == self.state.current:
            self.pane_heard(event)

    def hear(self, delta: Delta) -> None:
        """Something streams by in any conversation."""
        for view in self._opened():
            if view.session == delta.session:
                view.hear(delta)

    def log_page(self, session: str, after: int, page: list[e.Event]) -> None:
        """A page the log pane asked for."""
        if session == self.state.current:
            self.pane.lines.put(after, page)

    # --- keys

    async def action_command(self, command_id: str, argument: str = "") -> None:
        """A key of a command."""
        self.thetis.perform(command_id, argument)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "command" and parameters:
            return BY_ID[str(parameters[0])].applies(self.thetis)
        return super().check_action(action, parameters)

    def on_key(self, event: events.Key) -> None:
        """Typed characters always land in the prompt, wherever the focus is."""
        if event.is_printable and event.character and not self.prompt.has_focus:
            event.stop()
            self.to_prompt()
            self.prompt.insert(event.character)

    def give_back(self, text: str) -> bool:
        """Put words back into the prompt unless something else stands there by now."""
        if self.prompt.text:
            return False
        self.prompt.put(text)
        return True

    def put_above(self, text: str) -> None:
        """Put words back into the prompt above whatever stands there by now."""
        if not self.give_back(text):
            self.prompt.put(f"{text}\n{self.draft()}")

    @on(Prompt.Scrolled)
    async def _scroll(self, event: Prompt.Scrolled) -> None:
        transcript = self.view.transcript
        if event.how == "end":
            await self.view.to_end()
        else:
            getattr(transcript, f"scroll_{event.how}")(animate=False)

    @on(FindBar.Changed)
    @work(exclusive=True, group="find")
    async def _look_for(self, event: FindBar.Changed) -> None:
        await self.thetis.finding.again(event.words)

    @on(FindBar.Stepped)
    @work(exclusive=True, group="find")
    async def _step(self, event: FindBar.Stepped) -> None:
        await self.thetis.finding.again("", event.by)

    @on(FindBar.Closed)
    def _found(self) -> None:
        self.find.stop()
        self.thetis.finding.end()
        self.prompt.focus()

    @on(Below.Wanted)
    async def _to_end(self) -> None:
        await self.view.to_end()


