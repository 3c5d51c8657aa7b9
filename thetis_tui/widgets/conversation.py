"""One conversation on the screen: keeps the mounted rows a true window on its log while words stream in.

Owns the window, the follower and what is live; decides what the transcript mounts. Must not know about the prompt,
the list of conversations or the gateway beyond reading and rendering.
"""

from __future__ import annotations

import asyncio

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.client import Delta, EventPage

from thetis_tui.follower import Follower
from thetis_tui.live import Live, Reply
from thetis_tui.outbox import Place
from thetis_tui.source import Log, rendered
from thetis_tui.widgets.below import Below
from thetis_tui.widgets.rows.base import Row
from thetis_tui.widgets.rows.texts import ProseRow, ThinkingRow, UserRow
from thetis_tui.widgets.transcript import Transcript
from thetis_tui.widgets.welcome import Welcome
from thetis_tui.window import Window

_FOUND = 4.0
"""Seconds a found row stands out."""
_NOTED = frozenset({"user", "nudge", "assistant", "tool-result", "turn-finished", "rewind"})


class ConversationView(Vertical):
    """A transcript and what feeds it. `place` gets its session when the conversation begins to exist."""

    DEFAULT_CSS = """
    ConversationView { height: 1fr; layers: base over; }
    ConversationView > Welcome { display: none; }
    ConversationView.-empty > Welcome { display: block; }
    ConversationView.-empty > Transcript { display: none; }
    """

    class Failed(Message):
        """The log could not be read."""

        def __init__(self, error: ThetisError) -> None:
            super().__init__()
            self.error = error

    def __init__(self, session: str = "") -> None:
        super().__init__(classes="-empty" if not session else None)
        self.place = Place(session)
        self.window = Window()
        self.streams = Live()
        self.pending: dict[str, UserRow] = {}
        self.transcript = Transcript()
        self.welcome = Welcome()
        self.below = Below()
        self._log: Log | None = None
        self._follower: Follower | None = None
        self._wake = asyncio.Event()
        self._adopt: dict[int, list[Row]] = {}
        self._reply_rows: dict[str, list[Row]] = {}
        self._leftover: list[Row] = []
        self._changing = asyncio.Lock()
        self._redraw = False

    def compose(self) -> ComposeResult:
        yield self.welcome
        yield self.transcript
        yield self.below

    def on_unmount(self) -> None:
        if self._follower is not None:
            self._follower.stop()

    @property
    def session(self) -> str:
        """The conversation's id; "" until it exists."""
        return self.place.session

    @property
    def begun(self) -> bool:
        """Whether the log is being followed."""
        return self._log is not None

    # --- opening

    async def open(self, log: Log, last: int, *, at: int = 0) -> None:
        """Show the end of the log (or the surroundings of event `at`) and follow it from then on."""
        self._log = log
        self.remove_class("-empty")
        fresh = self._follower is None
        if self._follower is None:
            self._follower = Follower(self._read, self._stored, self._failed)
        await self._fill(last, at)
        if fresh:
            self._follower.start(last)
            self._keep_up()

    def catch_up(self, last: int) -> None:
        """The log is known to end at `last` (after the gateway was away)."""
        if self._follower is not None:
            self._follower.catch_up(last)

    async def show(self, seq: int) -> None:
        """Bring event `seq` into view."""
        if not self.transcript.has(seq) and self.transcript.row_of(seq) is None:
            await self._fill(self.window.last, seq)
        async with self._changing:
            row = self.transcript.row_of(seq)
            if row is not None:
                await self._laid_out()
                self.transcript.bring(row)
                row.add_class("-found")
                self.set_timer(_FOUND, lambda: row.remove_class("-found"))

    async def to_end(self) -> None:
        """Go to the end of the log and follow it."""
        if not self.window.at_end and self.window.below > self.window.page:
            await self._fill(self.window.last, 0)
        self.transcript.follow()
        self._wake.set()

    async def _fill(self, last: int, at: int) -> None:
        log = self._log
        if log is None:
            return
        async with self._changing:
            self._let_go()
            span = self.window.open(last, at)
            blocks = await rendered(log, self.session, span)
            await self.transcript.clear()
            self.window.loaded(span, await self.transcript.add(blocks))
        if self.window.at_end and at <= 0:
            self.transcript.follow()
        else:
            self.transcript.release_anchor()
        self.call_after_refresh(self._look_up)
        self._wake.set()

    # --- what the gateway tells

    def offer(self, event: e.Event) -> None:
        """A durable event was told of."""
        if self._follower is not None:
            self._follower.offer(event)

    def hear(self, delta: Delta) -> None:
        """Something streams by."""
        if delta.kind == "output":
            output = self.streams.output(delta)
            row = self.transcript.call(delta.call)
            if row is not None:
                row.stream(output)
        elif delta.kind in ("text", "thinking"):
            news = self.streams.hear(delta)
            if news is not None and self._reaches_end:
                self._grow(news[0], delta.kind, news[1])

    def say(self, event_id: str, text: str, *, nudge: bool, waiting: bool) -> None:
        """A person's words are on their way (or wait for a gateway)."""
        self.remove_class("-empty")
        row = self.pending[event_id] = UserRow(text, nudge=nudge, state="waiting" if waiting else "sending")
        self.transcript.live(row)
        self.transcript.follow()

    def sending(self, event_id: str) -> None:
        """The words leave now."""
        row = self.pending.get(event_id)
        if row is not None and row.state == "waiting":
            row.become("sending")

    def unsay(self, event_id: str) -> None:
        """The words did not get there."""
        row = self.pending.pop(event_id, None)
        if row is not None:
            self.transcript.dispel([row])
            self.set_class(not self.session and not self.transcript.children, "-empty")

    # --- inside

    @property
    def _reaches_end(self) -> bool:
        """Whether what is live belongs under the mounted rows."""
        return self.window.at_end or self.window.newer(following=self.transcript.following) is not None

    def _grow(self, reply: Reply, kind: str, safe: str) -> None:
        rows = self._reply_rows.setdefault(reply.key, [])
        wanted = ThinkingRow if kind == "thinking" else ProseRow
        for row in rows:
            if isinstance(row, ProseRow | ThinkingRow) and type(row) is wanted:
                row.append(safe)
                return
        if not (reply.thinking if kind == "thinking" else reply.text).strip():
            return  # a blank start is not worth a row
        fresh: Row = ThinkingRow(reply.thinking, live=True) if kind == "thinking" else ProseRow(reply.text, growing=True)
        if self.transcript.unfolded and isinstance(fresh, ThinkingRow):
            fresh.fold(True)
        rows.append(fresh)
        self.transcript.live(fresh)

    def _let_go(self) -> None:
        """Nothing live stands under the rows any more."""
        self.transcript.dispel([row for row in self.transcript.lively if row not in self.pending.values()])
        self._reply_rows.clear()
        self._adopt.clear()
        self._leftover.clear()

    async def _read(self, after: int, limit: int) -> EventPage:
        if self._log is None:
            return EventPage(events=[], last_seq=0)
        return await self._log.read(self.session, after, limit)

    def _failed(self, error: ThetisError) -> None:
        self.post_message(self.Failed(error).set_sender(self))  # called in anybody's name

    def _stored(self, events: list[e.Event]) -> None:
        """Durable events, in order: note what they settle, then let the window grow."""
        for event in events:
            self.window.grew(event.seq)
            if event.kind in _NOTED:
                self._settle(event)
        self._wake.set()

    def _settle(self, event: e.Event) -> None:
        match event.body:
            case e.User(text=text) | e.Nudge(text=text):
                row = self.pending.pop(event.event_id, None)
                if row is not None and row.says(text):
                    self._adopt[event.seq] = [row]
                elif row is not None:  # a secret in it was taken out: what stays on the screen is what is in the log
                    self.transcript.dispel([row])
            case e.Assistant():
                reply = self.streams.assistant_stored()
                rows = self._reply_rows.pop(reply.key, []) if reply is not None else []
                if rows:
                    self._adopt[event.seq] = rows
            case e.ToolResult(call=call):
                self.streams.result_stored(call)
            case e.Rewind():
                self._redraw = True
            case e.TurnFinished():
                for reply in self.streams.turn_ended():
                    self._leftover += self._reply_rows.pop(reply.key, [])
            case _:
                pass

    @work(exclusive=True, group="follow")
    async def _keep_up(self) -> None:
        """Mount what is new at the end, as long as this widget lives."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                if self._redraw or (self.transcript.following and self.window.below > self.window.high):
                    self._redraw = False  # what was rewound is not drawn any more
                    await self._fill(self.window.last, 0)  # far behind: the end at once, not everything up to it
                async with self._changing:
                    await self._grow_down()
            except ThetisError as error:
                self._failed(error)

    async def _grow_down(self) -> None:
        log = self._log
        while log is not None and (span := self.window.newer(following=self.transcript.following)) is not None:
            blocks = await rendered(log, self.session, span)
            adopt = {seq: self._adopt.pop(seq) for seq in list(self._adopt) if seq <= span.upto}
            shown = await self.transcript.add(blocks, adopt=adopt)
            unused = [row for rows in adopt.values() for row in rows if row in self.transcript.lively]
            self.window.loaded(span, shown)
            self.transcript.dispel(unused)
            self._join_outputs()
            if self.transcript.following:
                await self.transcript.drop(self.window.cut_top())
        if not self._reaches_end:
            self._let_go()
        elif self.window.at_end:
            self.transcript.dispel(self._leftover)
            self._leftover.clear()
            self._rejoin()
        self.below.events = 0 if self.transcript.following else self.window.below
        self.below.away = not self.transcript.following

    def _join_outputs(self) -> None:
        """A call's row may be mounted after its output began."""
        for call, output in self.streams.outputs.items():
            row = self.transcript.call(call)
            if row is not None and row.output is not output:
                row.stream(output)

    def _rejoin(self) -> None:
        """Replies that went on while their rows were not mounted stand again at the end."""
        for reply in self.streams.replies.values():
            if reply.key not in self._reply_rows:
                for kind in ("thinking", "text"):
                    self._grow(reply, kind, "")

    @on(Transcript.Moved)
    def _moved(self, event: Transcript.Moved) -> None:
        event.stop()
        self.below.away = not event.following
        if event.following:
            self.below.events = 0
        if event.top and not event.following:
            self._look_up()
        if event.following or (event.bottom and not self.window.at_end):
            self._look_down()

    @work(exclusive=True, group="up")
    async def _look_up(self) -> None:
        """Mount older events while little is left above the reader (or the screen is not full)."""
        try:
            async with self._changing:
                while self._wants_older():
                    span = self.window.older()
                    if span is None or self._log is None:
                        return
                    blocks = await rendered(self._log, self.session, span)
                    self.window.loaded(span, await self.transcript.add(blocks, top=True))
                    if not self.transcript.following:
                        gone = self.window.cut_bottom()
                        if gone:
                            self._let_go()
                            await self.transcript.drop(gone)
                    await self._laid_out()
        except ThetisError as error:
            self._failed(error)

    def _wants_older(self) -> bool:
        height = self.transcript.size.height
        if self.transcript.following:
            return height > 0 and self.transcript.virtual_size.height < 2 * height
        return self.transcript.scroll_y < height

    async def _laid_out(self) -> None:
        """Wait for the next layout, so that heights are known."""
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await done.wait()

    @work(exclusive=True, group="down")
    async def _look_down(self) -> None:
        """The reader nears the end of what is mounted: mount what comes after it."""
        try:
            async with self._changing:
                span = self.window.newer(following=True)
                if span is not None and self._log is not None:
                    blocks = await rendered(self._log, self.session, span)
                    self.window.loaded(span, await self.transcript.add(blocks))
                    await self.transcript.drop(self.window.cut_top())
        except ThetisError as error:
            self._failed(error)
        self._wake.set()
