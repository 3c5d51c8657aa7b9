"""Worktrees: what lies on disk for each conversation, how large, how changed, and which can go.

Must not know how one is removed: the gateway says which would go and why the others stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.merging import WorktreeLine

from thetis_tui.keyline import key_line
from thetis_tui.sanitise import one_line
from thetis_tui.text import age, cut, cut_left, plural, size

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

FOOT = (("enter", "open its conversation"), ("c", "copy its path"), ("d", "remove those nobody needs"), ("esc", "close"))
_MIDDLE = 44
"""Cells from which it says how large each is and whether anything is changed."""
_WIDE = 90
"""Cells from which a line says when it was used, and why it stays."""


class WorktreesScreen(Screen[str]):
    """Dismisses with the conversation to open, or ""."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss('')", "Close", show=False),
        Binding("j", "mark(1)", "Down", show=False),
        Binding("k", "mark(-1)", "Up", show=False),
        Binding("c", "copy", "Copy its path", show=False),
        Binding("d", "prune", "Remove those nobody needs", show=False),
    ]
    DEFAULT_CSS = """
    WorktreesScreen { background: $background; layout: vertical; }
    WorktreesScreen > #worktrees-head { height: 1; margin: 1 0; padding: 0 2; text-wrap: nowrap; text-overflow: clip; }
    WorktreesScreen OptionList {
        height: 1fr; border: none; background: transparent; padding: 0; margin: 0 1; scrollbar-size-vertical: 1;
    }
    WorktreesScreen OptionList:focus { border: none; background-tint: transparent; }
    WorktreesScreen OptionList > .option-list--option { padding: 0 1; }
    WorktreesScreen OptionList > .option-list--option-highlighted { background: $block-cursor-background; }
    WorktreesScreen > #worktrees-foot { height: 1; padding: 0 2; margin-top: 1; text-wrap: nowrap; text-overflow: clip; }
    WorktreesScreen.-short > #worktrees-head, WorktreesScreen.-short > #worktrees-foot { margin: 0; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[WorktreeLine] = []
        self._note = "Looking…"
        self._head = Static(Content(""), id="worktrees-head", markup=False)
        self._list = OptionList()
        self._foot = Static(Content(""), id="worktrees-foot", markup=False)

    @property
    def thetis(self) -> ThetisApp:
        return cast("ThetisApp", self.app)

    @property
    def chosen(self) -> WorktreeLine | None:
        """The one under the cursor."""
        at = self._list.highlighted
        return self.lines[at] if at is not None and at < len(self.lines) else None

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._list
        yield self._foot

    def on_mount(self) -> None:
        self._list.focus()
        self._draw()
        self.load()

    def on_resize(self) -> None:
        self._draw()

    @work(exclusive=True, group="worktrees")
    async def load(self) -> None:
        """Ask which there are: sizes are measured for it, which takes a moment."""
        app = self.thetis
        try:
            self.lines = list(await app.ask(app.client.worktrees()) or ())
            self._note = "No worktree yet: the first message of a conversation makes one."
        except ThetisError as error:
            self._note = one_line(f"{error.message} {error.hint}")
        self._draw()

    def _draw(self) -> None:
        at, width = self._list.highlighted or 0, max(8, self.size.width - 5)
        self._list.clear_options()
        if self.lines:
            self._list.add_options([Option(self._line(line, width)) for line in self.lines])
            self._list.highlighted = min(at, len(self.lines) - 1)
        else:
            self._list.add_option(Option(Content.styled(self._note, "$text-muted"), disabled=True))
        known = sum(max(0, line.bytes) for line in self.lines)
        spare = sum(line.prunable for line in self.lines)
        right = f"{plural(len(self.lines), 'worktree')} · {size(known)}" + (f" · {spare} can go" if spare else "")
        left = Content.styled("Worktrees", "bold $text-accent")
        gap = self.size.width - 4 - left.cell_length - len(right)
        self._head.update(left + " " * gap + Content.styled(right, "$text-muted") if self.lines and gap >= 2 else left)
        self._foot.update(key_line(FOOT, max(16, self.size.width - 4)))

    def _line(self, line: WorktreeLine, width: int) -> Content:
        """Two lines: whose it is and how it stands; where it lies, and whether it would go."""
        title = one_line(line.title) or ("its conversation was deleted" if not line.session else "Untitled")
        mark, tone = ("●", "$accent") if line.held_by else ("○", "$text-muted")
        changed = "changed" if line.dirty > 0 else "" if line.dirty == 0 else "not looked at"
        large = size(line.bytes) if line.bytes >= 0 else ""
        right = Content(large.rjust(9) if width >= _MIDDLE else "")
        if width >= _WIDE:
            right = Content.styled(one_line(line.branch).ljust(16), "$text-muted") + right
            used = age(line.used_ms, self.thetis.state.wall_ms()) if line.used_ms else ""
            right += Content.styled(used.rjust(6), "$text-muted")
        if width >= _MIDDLE:
            right = Content.styled(changed.ljust(14), "$text-warning") + right
        room = max(4, width - right.cell_length - 4)
        head = Content.assemble((f"{mark} ", tone), (cut(title, room), "bold"))
        head = head.pad_right(max(1, width - head.cell_length - right.cell_length)) + right
        stays = f"stays: {one_line(line.why)}" if line.why else "stays"
        fate = ("can go", "$text-success") if line.prunable else (stays, "$text-muted")
        path = cut_left(one_line(line.path), max(4, width - len(fate[0]) - 5))
        foot = Content.assemble("  ", (path, "$text-muted"), "  ", (cut(fate[0], max(4, width - len(path) - 4)), fate[1]))
        return Content("\n").join([head, foot])

    # --- what can be done

    @on(OptionList.OptionSelected)
    def _opened(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        line = self.chosen
        if line is not None and line.session:
            self.dismiss(line.session)
        elif line is not None:
            self.thetis.say("Its conversation was deleted; only the branch and this directory are left.", level="warn")

    def action_mark(self, step: int) -> None:
        """Move the cursor."""
        if self.lines:
            self._list.highlighted = min(len(self.lines) - 1, max(0, (self._list.highlighted or 0) + step))

    def action_copy(self) -> None:
        """Put its path into the clipboard."""
        line = self.chosen
        if line is not None:
            self.thetis.copy_to_clipboard(line.path)
            self.thetis.say(f"{one_line(line.path)}\nCopied.")

    @work(exclusive=True, group="prune")
    async def action_prune(self) -> None:
        """Remove those that can go, after asking."""
        from thetis_tui.screens.dialog import prune_dialog

        app = self.thetis
        spare = [line for line in self.lines if line.prunable]
        if not spare:
            app.say("None can go: each has changes, or is in use.", hint="The second line of each says why it stays.")
            return
        if await app.answer(prune_dialog(len(spare), size(sum(max(0, line.bytes) for line in spare)))) != "remove":
            return
        try:
            gone = await app.ask(app.client.worktrees(prune=True)) or ()
        except ThetisError as error:
            app.fail(error)
            return
        app.say(f"{plural(len(gone), 'worktree')} removed; the branches stay.")
        self.load()
