"""The files a conversation has changed against its trunk, beside the transcript; Enter shows a file's change.

Owns the list and when it is read anew: after what can change files, not with every event. Must not know how a diff is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.visual import Visual
from textual.widgets import Static
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.client import DiffText

from thetis_tui.sanitise import one_line
from thetis_tui.text import count, cut_left, plural

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

_SETTLE = 0.6
"""Seconds after an event until files are looked at: a batch of edits is one look."""
_MOVES = frozenset({"tool-result", "turn-finished", "branch-op", "rewind"})
"""Kinds of events after which files may be others."""
_NARROW = 32
"""Cells below which there is no bar."""
_BAR = 5
"""Cells of the bar that says how much of a change is new, and how much went."""


class FileLines(ScrollView, can_focus=True):
    """A file a line: its path, the end of it when there is no room, and its counts."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move(-20)", "Page up", show=False),
        Binding("pagedown", "move(20)", "Page down", show=False),
        Binding("home,g", "move(-1000000)", "First", show=False),
        Binding("end,G", "move(1000000)", "Last", show=False),
        Binding("enter", "take", "Show its change", show=False),
        Binding("o", "open", "Open it in my editor", show=False),
    ]
    DEFAULT_CSS = """
    FileLines { height: 1fr; scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: clip; }
    """

    class Taken(Message):
        """A file was chosen: its change is wanted, or the file itself in an editor."""

        def __init__(self, path: str, edit: bool) -> None:
            super().__init__()
            self.path = path
            self.edit = edit

    cursor: reactive[int] = reactive(0, init=False)

    def __init__(self) -> None:
        super().__init__()
        self.files: list[tuple[str, int, int]] = []

    def show(self, files: list[tuple[str, int, int]]) -> None:
        """Put other files there; the cursor stays on its file while that is among them."""
        if files == self.files:
            return
        marked = self.files[self.cursor][0] if self.cursor < len(self.files) else ""
        self.files = files
        at = next((n for n, file in enumerate(files) if file[0] == marked), min(self.cursor, max(0, len(files) - 1)))
        self.set_reactive(FileLines.cursor, at)
        self.virtual_size = Size(0, len(files))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.visual_style
        index = y + self.scroll_offset.y
        if index >= len(self.files):
            return Strip.blank(width, style.rich_style)
        if index == self.cursor and self.has_focus:
            style += self._get_style("on $block-cursor-background")
        content = file_line(*self.files[index], width - 2)
        strip = Visual.to_strips(self, Content(" ") + content, width, 1, style, apply_selection=False)[0]
        return strip.extend_cell_length(width, style.rich_style)

    def watch_cursor(self) -> None:
        self.scroll_to_region_of(self.cursor)
        self.refresh()

    def scroll_to_region_of(self, row: int) -> None:
        """Bring a row into view."""
        top, height = self.scroll_offset.y, self.size.height
        if row < top:
            self.scroll_to(y=row, animate=False)
        elif row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def action_move(self, step: int) -> None:
        if self.files:
            self.cursor = min(len(self.files) - 1, max(0, self.cursor + step))

    def action_take(self, edit: bool = False) -> None:
        if self.files:
            self.post_message(self.Taken(self.files[self.cursor][0], edit))

    def action_open(self) -> None:
        self.action_take(edit=True)

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if index < len(self.files):
            self.cursor = index
            self.action_take()


class FilesPane(Vertical):
    """The list under its heading."""

    DEFAULT_CSS = """
    FilesPane { width: 54; height: 1fr; background: $surface; padding: 1 0 0 0; }
    FilesPane > .heading { height: 1; padding: 0 1; margin-bottom: 1; color: $text-muted; text-wrap: nowrap; }
    FilesPane > .empty { height: auto; padding: 0 1; color: $text-muted; display: none; }
    FilesPane.-none > .empty { display: block; }
    FilesPane.-none > FileLines { display: none; }
    FilesPane > .foot { height: 1; padding: 0 1; color: $text-disabled; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines = FileLines()
        self.heading = Static(Content("Changed files"), classes="heading", markup=False)
        self.empty = Static(Content(""), classes="empty", markup=False)
        self.foot = Static(Content("enter its change · o editor · f3 all"), classes="foot", markup=False)
        self.session = ""
        self._soon: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.empty
        yield self.lines
        yield self.foot

    # --- what the desk says

    def look(self, app: ThetisApp, session: str) -> None:
        """Show this conversation's files."""
        if session != self.session:
            self.session = session
            self._show(DiffText(patch="", files=[]), "Looking…" if session else "")
        self.read(app)

    def heard(self, app: ThetisApp, event: e.Event) -> None:
        """After what can change files they are looked at again, once for a burst."""
        if event.kind in _MOVES and self._soon is None:
            self._soon = self.set_timer(_SETTLE, lambda: self.read(app))

    def enter(self) -> None:
        """Take the focus."""
        self.lines.focus()

    @work(exclusive=True, group="files")
    async def read(self, app: ThetisApp) -> None:
        """Ask for the change as it is now."""
        self._soon = None
        session = self.session
        if not session:
            self._show(DiffText(patch="", files=[]))
            return
        try:
            diff = await app.ask(app.client.diff(session))
        except ThetisError as error:
            self._show(DiffText(patch="", files=[]), one_line(error.message))
            return
        if session == self.session:
            self._show(diff)

    # --- what is shown

    def _show(self, diff: DiffText, why: str = "") -> None:
        files = [(one_line(path), added, removed) for path, added, removed in diff.files]
        self.set_class(not files, "-none")
        self.empty.update(Content(why or "Nothing has changed on this branch yet. What the agent edits appears here at once."))
        self.lines.show(files)
        added, removed = sum(file[1] for file in files), sum(file[2] for file in files)
        head = Content(f"Changed · {plural(len(files), 'file')}" if files else "Changed files")
        self.heading.update(head + _counts(added, removed) if files else head)


def file_line(path: str, added: int, removed: int, width: int) -> Content:
    """One file in `width` cells: where it lies grey, its name, the counts at the right with a bar of their shares."""
    counts = _counts(added, removed)
    right = counts.pad_left(max(0, 12 - counts.cell_length)) + " " + _bar(added, removed) if width >= _NARROW else counts
    shown = cut_left(path, max(4, width - right.cell_length - 1))
    folder, slash, name = shown.rpartition("/")
    left = Content.assemble((folder + slash, "$text-muted"), name)
    return left.pad_right(max(1, width - cell_len(shown) - right.cell_length)) + right


def _counts(added: int, removed: int) -> Content:
    parts = [(f" +{count(added)}", "$text-success")] if added else []
    parts += [(f" -{count(removed)}", "$text-error")] if removed else []
    return Content.assemble(*parts) if parts else Content.styled(" ·", "$text-disabled")


def _bar(added: int, removed: int) -> Content:
    """Blocks in the shares of lines added and removed, more of them for a larger change."""
    total = added + removed
    full = min(_BAR, max(1, total.bit_length() - 1)) if total else 0
    green = round(full * added / total) if total else 0
    return Content.assemble(("■" * green, "$success"), ("■" * (full - green), "$error"), ("■" * (_BAR - full), "$border-blurred"))
