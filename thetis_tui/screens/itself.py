"""Itself: every guest of the conversation with every revision, what each changed and why, and one key back to any.

Owns which row is looked at. Must not know how a guest is judged or kept: each key is one operation of the dev kit.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option
from thetis_kernel.errors import ThetisError

from thetis_tui.itself import Row, label, rows_of, story
from thetis_tui.keyline import key_line
from thetis_tui.lines import Line, wrapped
from thetis_tui.sanitise import one_line
from thetis_tui.screens.reading import Page
from thetis_tui.text import cut, plural

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

_PAUSE = 0.05
"""Seconds on a row before its change is asked for: keys held down pass by."""
KEYS = (("↑↓", "choose"), ("space", "read on"), ("b", "back to this one"), ("p", "pin"), ("e", "edit by hand"), ("esc", "close"))
_WIDE = 100
"""Cells from which list and change stand side by side."""


EMPTY = (
    "This conversation runs on the agent, the renderer and the tools Thetis came with. Ask it to change how it works, or to make "
    "itself a tool: each revision stands here with its verdict, and one key goes back to any of them."
)


class ItselfScreen(Screen[None]):
    """Covers the desk; Esc goes back to it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f9", "dismiss(None)", "Close", show=False),
        Binding("j", "mark(1)", "Down", show=False),
        Binding("k", "mark(-1)", "Up", show=False),
        Binding("space,pagedown", "read('page_down')", "Read on", show=False),
        Binding("shift+space,pageup", "read('page_up')", "Back", show=False),
        Binding("b,enter", "back", "Back to this one", show=False),
        Binding("p", "pin", "Pin", show=False),
        Binding("e", "edit", "Edit by hand", show=False),
    ]
    DEFAULT_CSS = """
    ItselfScreen { background: $background; layout: vertical; }
    ItselfScreen > #itself-head { height: 1; margin: 1 0; padding: 0 2; }
    ItselfScreen > Container { height: 1fr; layout: horizontal; }
    ItselfScreen OptionList {
        width: 46%; max-width: 72; height: 1fr; border: none; border-right: solid $border-blurred; background: transparent;
        padding: 0 1 0 1; scrollbar-size-vertical: 1;
    }
    ItselfScreen OptionList:focus { border: none; border-right: solid $border-blurred; background-tint: transparent; }
    ItselfScreen OptionList > .option-list--option { padding: 0 1; }
    ItselfScreen OptionList > .option-list--option-highlighted { background: $block-cursor-background; }
    ItselfScreen VerticalScroll { width: 1fr; height: 1fr; padding: 0 2; scrollbar-size-vertical: 1; }
    ItselfScreen > #itself-foot {
        height: 1; padding: 0 2; margin-top: 1; color: $text-muted; text-wrap: nowrap; text-overflow: clip;
    }
    ItselfScreen.-stacked > Container { layout: vertical; }
    ItselfScreen.-stacked OptionList {
        width: 100%; max-width: 100%; height: 45%; border: none; border-bottom: solid $border-blurred;
    }
    ItselfScreen.-short > #itself-head { margin: 0; }
    ItselfScreen.-short > #itself-foot { margin: 0; }
    """

    def __init__(self, session: str) -> None:
        super().__init__()
        self.session = session
        self.rows: list[Row] = []
        self._stories: dict[tuple[str, str, int], str] = {}
        self._shown: tuple[Row, str] | None = None
        self._seen = -1
        self._head = Static(Content(""), id="itself-head", markup=False)
        self._list = OptionList()
        self._page = Page(self._lines)
        self._scroll = VerticalScroll(self._page, can_focus=False)
        self._foot = Static(Content(""), id="itself-foot", markup=False)

    @property
    def thetis(self) -> ThetisApp:
        return cast("ThetisApp", self.app)

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        at = self._list.highlighted
        return self.rows[at] if at is not None and at < len(self.rows) else None

    def compose(self) -> ComposeResult:
        yield self._head
        with Container():
            yield self._list
            yield self._scroll
        yield self._foot

    def on_mount(self) -> None:
        self._list.focus()
        self.load()

    def on_resize(self) -> None:
        self.set_class(self.size.width < _WIDE, "-stacked")
        self._foot.update(key_line(KEYS, max(20, self.size.width - 4)))
        self.call_after_refresh(self._draw)

    def refresh_state(self) -> None:
        """Something was told: read again when this conversation's log has grown."""
        line = self.thetis.state.conversations.get(self.session)
        if line is not None and line.last_seq != self._seen and self._seen >= 0:
            self.load()

    # --- what is shown

    @work(exclusive=True, group="itself")
    async def load(self, then: Row | None = None) -> None:
        """Read guests and history; the cursor stays on its row, or goes to `then`'s guest."""
        app = self.thetis
        line = app.state.conversations.get(self.session)
        self._seen = line.last_seq if line is not None else 0
        try:
            guests = (await app.ask(app.client.devkit(self.session, "list-code")))["guests"]
            history = await app.ask(app.client.devkit(self.session, "history"))
        except ThetisError as error:
            app.fail(error)
            return
        chosen = self.chosen
        self.rows = rows_of(guests, history)
        self._stories = {key: text for key, text in self._stories.items() if key[2]}  # of guests: what serves may be another
        self._draw()
        self._page.rebuild()
        wanted = then.aspect if then else ""
        at = next((n for n, row in enumerate(self.rows) if row.aspect == wanted), None) if wanted else \
            next((n for n, row in enumerate(self.rows) if chosen and row.key == chosen.key), None)  # fmt: skip
        self._list.highlighted = at if at is not None else 0 if self.rows else None

    def _draw(self) -> None:
        at, width = self._list.highlighted, max(20, self._list.scrollable_content_region.width - 2)
        self._list.clear_options()
        now = self.thetis.state.wall_ms()
        self._list.add_options([Option(label(row, width, now)) for row in self.rows])
        self._list.highlighted = at if at is not None and at < len(self.rows) else None
        changed = sum(row.kind == "guest" and row.facts["origin"] == "own" for row in self.rows)
        revisions = sum(row.kind == "revision" for row in self.rows)
        right = f"{plural(changed, 'guest')} of its own, {plural(revisions, 'change')}" if revisions else "everything as shipped"
        line = self.thetis.state.conversations.get(self.session)
        title = cut(one_line(line.title if line else "") or self.session[:8], 48)
        left = Content.assemble(("Itself", "bold $text-accent"), f"  {title}")
        gap = self.size.width - 4 - left.cell_length - len(right)
        self._head.update(left + " " * gap + Content.styled(right, "$text-muted") if gap >= 2 else left)

    def _lines(self, width: int) -> list[Line]:
        if self._shown:
            return story(*self._shown, width)
        return wrapped(Content.styled(EMPTY if self._seen >= 0 else "Looking…", "$text-muted"), width)

    @on(OptionList.OptionHighlighted)
    def _highlighted(self) -> None:
        if self.chosen is not None:
            self._tell(self.chosen)

    @work(exclusive=True, group="story")
    async def _tell(self, row: Row) -> None:
        if row.key not in self._stories:
            await asyncio.sleep(_PAUSE)
            self._stories[row.key] = await self._patch(row)
        if self._shown is None or self._shown != (row, self._stories[row.key]):
            self._shown = (row, self._stories[row.key])
            self._page.rebuild()
            self._scroll.scroll_home(animate=False)

    async def _patch(self, row: Row) -> str:
        changed = row.kind == "revision" or (row.kind == "guest" and row.facts["origin"] == "own")
        if not changed:
            return ""
        try:
            told = await self.thetis.ask(self.thetis.client.devkit(
                self.session, "diff", aspect=row.aspect, revision=row.revision if row.kind == "revision" else ""))
        except ThetisError as error:
            return error.message
        return str(told["patch"])

    # --- what can be done

    def action_mark(self, step: int) -> None:
        """Move the cursor."""
        if self.rows:
            self._list.highlighted = ((self._list.highlighted or 0) + step) % len(self.rows)

    def action_read(self, how: str) -> None:
        """Scroll the change."""
        getattr(self._scroll, f"action_{how}")()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_back()

    def action_back(self) -> None:
        """Serve the revision under the cursor; on a guest the one before the present."""
        row = self.chosen
        if row is not None and row.kind != "incident":
            self._change(row, "roll-back", row.revision if row.kind == "revision" else "")

    def action_pin(self) -> None:
        """Pin what is under the cursor, or take the pin away."""
        row = self.chosen
        if row is None or row.kind == "incident":
            return
        guest = next((one for one in self.rows if one.kind == "guest" and one.aspect == row.aspect), row)
        pinned = bool(guest.facts.get("pinned")) and (row.kind == "guest" or row.facts.get("serving"))
        self._change(row, "pin", "none" if pinned else row.revision if row.kind == "revision" else "")

    @work(group="itself-change")
    async def _change(self, row: Row, operation: str, revision: str) -> None:
        app = self.thetis
        try:
            answer = await app.ask(app.client.devkit(self.session, operation, aspect=row.aspect, revision=revision))
        except ThetisError as error:
            app.fail(error)
            return
        app.say(_said(answer, operation), level="info" if answer["ok"] else "warn")
        self.load(then=row)

    @work(group="itself-change")
    async def action_edit(self) -> None:
        """Say where the guest lies, and copy the path: what is saved there is judged at once."""
        row, app = self.chosen, self.thetis
        if row is None:
            return
        try:
            path = str((await app.ask(app.client.devkit(self.session, "path", aspect=row.aspect)))["path"])
        except ThetisError as error:
            app.fail(error)
            return
        app.copy_to_clipboard(path)
        app.say(f"{path}\nCopied. What you save there is judged, and told here; a red edit changes nothing that runs.")


def _said(answer: dict[str, Any], operation: str) -> str:
    aspect = one_line(str(answer["aspect"]))
    if not answer["ok"]:
        found = answer["diagnostics"][:1]
        why = f" {found[0]['path']}:{found[0]['line']}: {found[0]['message']}" if found else ""
        return f"{aspect} does not pass the gate any more; nothing was changed.{why}"
    if operation == "pin":
        if pinned := str(answer["pinned"])[:8]:
            return f"{aspect} is pinned at {pinned}: the agent cannot change it."
        return f"The agent may change {aspect} again."
    if answer.get("gone"):
        return f"{aspect} is removed. It was {str(answer['previous'])[:8]}."
    if not answer.get("changed"):
        return f"{aspect} serves at {str(answer['revision'])[:8]} already."
    return f"{aspect} serves at {str(answer['revision'])[:8]} now. It was {str(answer['previous'])[:8]}."
