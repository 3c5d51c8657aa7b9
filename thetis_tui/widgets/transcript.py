"""The scroll of rows: follows its end until the reader scrolls, and never moves under a reader.

Owns the order of rows, the place of the reader, and which result belongs to which call. Durable rows come first,
in the log's order; what is not durable yet (a reply being written, words on their way) stands after them and becomes
durable in place. Must not know the gateway; `conversation.py` decides what is mounted.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.message import Message
from textual.scrollbar import ScrollBar
from textual.widget import Widget
from thetis_kernel.protocol.blocks import Block, RenderedEvent

from thetis_tui.widgets.rows.base import FoldRow, Row
from thetis_tui.widgets.rows.factory import row_for
from thetis_tui.widgets.rows.texts import ProseRow, ThinkingRow, UserRow
from thetis_tui.widgets.rows.tool import ToolRow

_ADOPTS: dict[str, type[Row]] = {"assistant": ProseRow, "thinking": ThinkingRow, "user": UserRow}


class Transcript(VerticalScroll, can_focus=False):
    """Rows by event. All changes go through `add`, `drop`, `live` and `dispel`."""

    DEFAULT_CSS = """
    Transcript { layout: stream; height: 1fr; padding: 0 1 1 1; scrollbar-size-vertical: 1; }
    """

    class Moved(Message):
        """The reader's place changed: they follow the end, or are elsewhere; `top` when little is left above them."""

        def __init__(self, transcript: Transcript, *, following: bool, top: bool, bottom: bool) -> None:
            super().__init__()
            self.transcript = transcript
            self.following = following
            self.top = top
            self.bottom = bottom

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Transcript.Moved)

    def __init__(self) -> None:
        super().__init__()
        self.unfolded = False
        self.chosen: Row | None = None
        self.words = ""
        self.lively: list[Row] = []
        self._rows: dict[int, list[Row]] = {}
        self._calls: dict[str, ToolRow] = {}
        self._joined: dict[int, ToolRow] = {}
        self._pin: tuple[Widget, int] | None = None
        self._arranged: DockArrangeResult | None = None

    def on_mount(self) -> None:
        self.anchor()

    # --- the reader's place

    @property
    def following(self) -> bool:
        """Whether the end is kept in view."""
        return not (self._anchored and self._anchor_released)

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._pin = None
        self.anchor()

    def bring(self, row: Row) -> None:
        """Put a mounted, laid out row at the top of the view."""
        placed = self._arranged.placements if self._arranged is not None else []
        at = next((p.region.y for p in placed if p.widget is row), None)
        if at is not None:
            self.scroll_to(y=max(0, at - 1), animate=False, immediate=True)
            if not self.following:
                self._pin = (row, at)

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Keep the row the reader looks at where it is, whatever happened above it, in the same layout pass."""
        result = super().arrange(size, optimal)
        if optimal or result is self._arranged:
            return result
        self._arranged = result
        # Content that does not fill the view stands at its top; following begins when there is something to follow.
        fills = result.total_region.bottom > size.height
        self._anchored = fills
        if not fills:
            self._anchor_released = False
            self.set_reactive(Widget.scroll_y, 0.0)
            self.set_reactive(Widget.scroll_target_y, 0.0)
            return result
        if self._pin is None or self.following:
            return result
        widget, before = self._pin
        now = next((p.region.y for p in result.placements if p.widget is widget), None)
        if now is None:
            self._pin = None
        elif now != before:
            self.app.animator.force_stop_animation(self, "scroll_y")
            highest = max(0, result.total_region.bottom - size.height)
            place = min(max(0, round(self.scroll_y) + now - before), highest)
            self.set_reactive(Widget.scroll_y, place)
            self.set_reactive(Widget.scroll_target_y, place)
            self.vertical_scrollbar.set_reactive(ScrollBar.position, place)
            self._pin = (widget, now)
        return result

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) == round(new_value):
            return
        self._pin = None
        if not self.following and self._arranged is not None:
            top = round(new_value)
            self._pin = next(((p.widget, p.region.y) for p in self._arranged.placements if p.region.bottom > top), None)
        page = self.size.height
        self.post_message(
            self.Moved(
                self, following=self.following, top=new_value < page, bottom=new_value > self.max_scroll_y - page
            )
        )

    # --- durable rows

    def has(self, seq: int) -> bool:
        """Whether event `seq` is mounted and shows something."""
        return bool(self._rows.get(seq))

    def row_of(self, seq: int) -> Row | None:
        """The first row of an event, or the call's row its result went into."""
        rows = self._rows.get(seq)
        return rows[0] if rows else self._joined.get(seq)

    async def add(
        self, rendered: Iterable[RenderedEvent], *, top: bool = False, adopt: dict[int, list[Row]] | None = None
    ) -> list[int]:
        """Mount the rows of events at the end (or the top); returns the events that show something.

        `adopt`: live rows that become the rows of an event instead of new ones.
        """
        shown: list[int] = []
        fresh: list[Row] = []
        before = self.children[0] if top and self.children else None
        for event in rendered:
            candidates = list((adopt or {}).get(event.seq, ()))
            rows: list[Row] = []
            for block in event.blocks:
                if self._join(event.seq, block):
                    continue
                wanted = _ADOPTS.get(block.kind)
                adopted = next((c for c in candidates if wanted is not None and isinstance(c, wanted)), None)
                if adopted is not None:
                    candidates.remove(adopted)
                    await self._mount(fresh, before)
                    fresh = []
                    self._adopt(adopted, block)
                    rows.append(adopted)
                else:
                    row = self._make(block)
                    rows.append(row)
                    fresh.append(row)
            if rows:
                self._rows[event.seq] = rows
            if rows or event.seq in self._joined:
                shown.append(event.seq)
        await self._mount(fresh, before)
        return shown

    async def drop(self, seqs: Iterable[int]) -> None:
        """Unmount the rows of events."""
        gone: list[Row] = []
        for seq in seqs:
            for row in self._rows.pop(seq, ()):
                gone.append(row)
                if isinstance(row, ToolRow) and self._calls.get(row.call_id) is row:
                    del self._calls[row.call_id]
            attached = self._joined.pop(seq, None)
            if attached is not None:
                attached.unsettle(seq)
        await self._remove(gone)

    async def clear(self) -> None:
        """Unmount everything durable."""
        await self.drop(list(self._rows))
        self._joined.clear()
        self._calls.clear()

    def call(self, call_id: str) -> ToolRow | None:
        """The mounted row of a call."""
        return self._calls.get(call_id)

    # --- the row one works with

    def choose(self, row: Row | None) -> None:
        """Mark a row for copying, folding, opening; None marks none."""
        if self.chosen is not None:
            self.chosen.remove_class("-chosen")
        self.chosen = row
        if row is not None:
            row.add_class("-chosen")

    def step(self, by: int, kind: type[Row] = Row) -> Row | None:
        """The row of `kind` above (-1) or below (+1) the chosen one, or the last in view; None when there is none."""
        rows = [row for row in self.children if isinstance(row, Row)]
        if self.chosen in rows:
            at = rows.index(self.chosen)
        else:
            seen = [n for n, row in enumerate(rows) if row.region.overlaps(self.region)]
            at = seen[-1] + 1 if seen else len(rows)
        beyond = rows[:at][::-1] if by < 0 else rows[at + 1 :]
        return next((row for row in beyond if isinstance(row, kind)), None)

    def reveal(self, row: Row) -> None:
        """Bring a mounted row into view with as little movement as possible; the end is not followed meanwhile."""
        placed = self._arranged.placements if self._arranged is not None else []
        region = next((p.region for p in placed if p.widget is row), None)
        if region is None:
            return
        top, height = round(self.scroll_y), self.size.height
        if region.y < top or region.height >= height:
            to = region.y - 1
        elif region.bottom > top + height:
            to = region.bottom - height + 1
        else:
            return
        if to < self.max_scroll_y:
            self.release_anchor()
        self.scroll_to(y=max(0, to), animate=False, immediate=True)

    def point_out(self, words: str) -> None:
        """Make words stand out in every row, and in those to come."""
        self.words = words
        for row in self.query(Row):
            row.point_out(words)

    # --- live rows

    def live(self, row: Row) -> None:
        """Mount a row that is not durable yet, at the very end."""
        self.lively.append(row)
        self.mount(row)
        self._space([row])

    def dispel(self, rows: Iterable[Row]) -> None:
        """Remove live rows."""
        gone = [row for row in rows if row in self.lively]
        if gone:
            self.lively = [row for row in self.lively if row not in gone]
            self.remove_children(gone)

    def unfold_all(self, unfolded: bool) -> None:
        """Fold or unfold every row, and those to come."""
        self.unfolded = unfolded
        for row in self.query(FoldRow):
            row.fold(unfolded)

    # --- inside

    def _join(self, seq: int, block: Block) -> bool:
        """Put a block that belongs to a mounted call into the call's row."""
        if not block.call or block.kind == "tool":
            return False
        row = self._calls.get(block.call)
        if row is None:
            return False
        row.settle(block)
        if row not in self._rows.get(seq, ()):
            self._joined[seq] = row
        return True

    def _make(self, block: Block) -> Row:
        row = row_for(block)
        if isinstance(row, FoldRow) and self.unfolded and not isinstance(row, UserRow):
            row.fold(True)
        if isinstance(row, ToolRow) and row.call_id:
            lone = self._calls.get(row.call_id)
            if lone is not None and lone.call is None and row.call is not None:
                # The call comes into view above its result: the result moves into the call's row.
                for result in lone.results:
                    row.settle(result)
                    self._joined[result.seq] = row
                    self._rows.pop(result.seq, None)
                lone.remove()
            self._calls[row.call_id] = row
        return row

    def _adopt(self, row: Row, block: Block) -> None:
        self.lively.remove(row)
        if self.lively and self.children.index(row) > self.children.index(self.lively[0]):
            self.move_child(row, before=self.lively[0])
        row.seq = block.seq
        if isinstance(row, ProseRow | ThinkingRow):
            row.settle(block.body)
        elif isinstance(row, UserRow):
            row.become("sent")

    async def _mount(self, rows: list[Row], before: Widget | None) -> None:
        if not rows:
            return
        if before is None and self.lively:
            before = self.lively[0]
        await self.mount(*rows, before=before)
        for row in rows if self.words else ():
            row.point_out(self.words)
        self._space(rows)

    async def _remove(self, rows: list[Row]) -> None:
        if rows:
            if self.chosen in rows:
                self.choose(None)
            await self.remove_children(rows)
            self._space([self.children[0]] if self.children else [])

    def _space(self, rows: list[Widget] | list[Row]) -> None:
        """Blank lines: none between rows of one close family."""
        order = list(self.children)
        for row in rows:
            if not isinstance(row, Row) or row not in order:
                continue
            at = order.index(row)
            for index in (at, at + 1):
                here = order[index] if index < len(order) else None
                previous = order[index - 1] if index else None
                if isinstance(here, Row):
                    close = isinstance(previous, Row) and here.CLOSE and previous.FAMILY == here.FAMILY
                    here.set_class(close, "-tight")
