"""Settings: all of them, found by words, with where each is said; changed here, written by the gateway's one writer.

Owns which row is looked at and into which file a change goes. Must not know files: the gateway validates, writes and answers
with what holds then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.settings import SettingLine, Where

from thetis_tui import keymap
from thetis_tui.commands import BY_ID
from thetis_tui.keyline import key_line
from thetis_tui.preferences import PLACES, SOURCES, Preference, found, place_of, rows
from thetis_tui.sanitise import one_line
from thetis_tui.text import cut, plural

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

FOOT = (("enter", "change"), ("tab", "which file"), ("del", "back to the default"), ("↑↓", "choose"), ("esc", "close"))
_BY_HAND = frozenset({"table", "tables"})
_NAME, _VALUE = 36, 18
"""Cells of the columns of names and values."""
_NARROW = 40
"""Cells below which a line is the name alone."""
_TOLD = 100
"""Cells from which a line says what its setting means, and where it is said."""


class SettingsScreen(Screen[None]):
    """Covers the desk; Esc goes back to it, or takes the words away first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", show=False),
        Binding("up", "mark(-1)", "Up", show=False, priority=True),
        Binding("down", "mark(1)", "Down", show=False, priority=True),
        Binding("pageup", "mark(-10)", "Page up", show=False, priority=True),
        Binding("pagedown", "mark(10)", "Page down", show=False, priority=True),
        Binding("enter", "change", "Change it", show=False, priority=True),
        Binding("tab", "place", "Write it into the other file", show=False, priority=True),
        Binding("delete", "reset", "Back to the default", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    SettingsScreen { background: $background; layout: vertical; }
    SettingsScreen > #settings-head { height: 1; margin: 1 0; padding: 0 2; text-wrap: nowrap; text-overflow: clip; }
    SettingsScreen > #settings-search { height: 3; border: round $border; margin: 0 1; padding: 0 1; }
    SettingsScreen #settings-search Static { width: 2; color: $text-muted; }
    SettingsScreen #settings-search Input { border: none; background: transparent; height: 1; padding: 0; width: 1fr; }
    SettingsScreen #settings-search Input:focus { border: none; background-tint: transparent; }
    SettingsScreen OptionList {
        height: 1fr; border: none; background: transparent; padding: 0; margin: 0 1; scrollbar-size-vertical: 1;
    }
    SettingsScreen OptionList:focus { border: none; background-tint: transparent; }
    SettingsScreen OptionList > .option-list--option { padding: 0 1; }
    SettingsScreen OptionList > .option-list--option-highlighted { background: $block-cursor-background; }
    SettingsScreen > #settings-about {
        height: auto; max-height: 7; padding: 0 2; border-top: solid $border-blurred; margin: 0 1; color: $text;
    }
    SettingsScreen > #settings-foot { height: 1; padding: 0 2; margin-top: 1; text-wrap: nowrap; text-overflow: clip; }
    SettingsScreen.-short > #settings-head, SettingsScreen.-short > #settings-about { display: none; }
    SettingsScreen.-short > #settings-search { height: 1; border: none; margin: 0; }
    SettingsScreen.-short > #settings-foot { margin: 0; }
    """

    def __init__(self, words: str = "") -> None:
        super().__init__()
        self.input = Input(one_line(words), placeholder="a name, a word of what it does, “changed”", select_on_focus=False)
        self.list = OptionList()
        self.list.can_focus = False
        self.shown: list[Preference] = []
        self.wanted: Where = "local"
        self._every: list[Preference] = []
        self._lines: list[SettingLine] = []
        self._note = "Looking…"
        self._head = Static(Content(""), id="settings-head", markup=False)
        self._about = Static(Content(""), id="settings-about", markup=False)
        self._foot = Static(Content(""), id="settings-foot", markup=False)

    @property
    def thetis(self) -> ThetisApp:
        return cast("ThetisApp", self.app)

    @property
    def chosen(self) -> Preference | None:
        """The row under the cursor."""
        at = self.list.highlighted
        return self.shown[at] if at is not None and at < len(self.shown) else None

    def compose(self) -> ComposeResult:
        yield self._head
        with Horizontal(id="settings-search"):
            yield Static(Content("⌕ "), markup=False)
            yield self.input
        yield self.list
        yield self._about
        yield self._foot

    def on_mount(self) -> None:
        self.input.cursor_blink = False
        self.input.focus()
        self.load()

    def on_resize(self) -> None:
        self._draw()

    @work(exclusive=True, group="settings")
    async def load(self) -> None:
        """Read them as the files say them now."""
        app = self.thetis
        try:
            answer = await app.ask(app.client.settings())
        except ThetisError as error:
            self._note = one_line(f"{error.message} {error.hint}")
            self._draw()
            return
        self._lines, self._note = list(answer.settings), ""
        self._fill()

    def _fill(self) -> None:
        self._every = rows(self._lines, self.thetis.appearance.keys)
        self._draw()

    # --- what is shown

    def _draw(self) -> None:
        before = self.chosen
        width = max(8, self.size.width - 5)
        self.shown = found(self._every, self.input.value)
        self.list.clear_options()
        self.list.add_options([Option(self._line(row, width)) for row in self.shown])
        at = next((n for n, row in enumerate(self.shown) if before and row.key == before.key), 0)
        self.list.highlighted = at if self.shown else None
        changed = sum(row.changed for row in self._every)
        right = f"{plural(len(self.shown), 'setting')} shown · {changed} changed" if self._every else ""
        left = Content.styled("Settings", "bold $text-accent")
        gap = self.size.width - 4 - left.cell_length - len(right)
        self._head.update(left + " " * gap + Content.styled(right, "$text-muted") if gap >= 2 else left)
        self._foot.update(key_line(FOOT, max(20, self.size.width - 4)))
        self._tell()

    def _line(self, row: Preference, width: int) -> Content:
        section, _, name = row.key.rpartition(".")
        mark = Content.styled("● " if row.changed else "  ", "$accent")
        label = mark + Content.styled(f"{section}." if section else "", "$text-muted")
        label += Content.styled(name, "bold" if row.changed else "")
        source = SOURCES[row.source] if width >= _TOLD else ""
        wide = min(_NAME, max(16, width // 2)) if width >= _NARROW else width
        label = label.truncate(wide, ellipsis=True).pad_right(max(0, wide - label.cell_length)) + "  "
        if width < _NARROW:  # one look at a time: the value is below, or asked for with Enter
            return label.truncate(width)
        room = _VALUE if width >= _TOLD else width - label.cell_length
        shown = row.value if row.value not in ("", "{}", "[]") else "–"
        value = Content.styled(cut(shown, max(4, room)), "$text-accent" if row.changed else "$text-secondary")
        line = label + value
        if width >= _TOLD:
            line = line.pad_right(_VALUE + 2 - value.cell_length)
            line += Content.styled(cut(row.sentence, width - line.cell_length - len(source) - 2), "$text-muted")
        return line.pad_right(max(0, width - len(source) - line.cell_length)) + Content.styled(source, "$text-muted")

    @on(OptionList.OptionHighlighted)
    def _tell(self) -> None:
        """Say everything about the row under the cursor."""
        row = self.chosen
        if row is None:
            self._about.update(Content.styled(self._note or "Nothing of that name; esc shows all.", "$text-muted"))
            return
        line = row.line
        parts: list[str | tuple[str, str]] = [row.sentence or row.key, "\n"]
        default = BY_ID[row.command].key_names if row.command else one_line(line.default)
        parts.append((f"default {default or '–'}", "$text-muted"))
        if line.choices and not row.command:
            parts.append((f" · one of {', '.join(line.choices)}", "$text-muted"))
        if row.source == "environment":
            parts.append((" · the environment says it, and wins", "$text-warning"))
        elif line.kind in _BY_HAND and not row.command:
            parts.append((" · written by hand in the file", "$text-muted"))
        else:
            where = PLACES[place_of(row, self.wanted)]
            only = " (it counts only there)" if line.places == ["user"] else ""
            parts.append((f" · a change goes into {where}{only}", "$text-muted"))
        if line.next_start:
            parts.append((" · counts from the next start", "$text-muted"))
        self._about.update(Content.assemble(*parts))

    # --- what can be done

    @on(Input.Changed)
    def _searched(self, event: Input.Changed) -> None:
        event.stop()
        self._draw()

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_change()

    def action_back(self) -> None:
        if self.input.value:
            self.input.value = ""
        else:
            self.dismiss(None)

    def action_mark(self, step: int) -> None:
        """Move the cursor."""
        if self.shown:
            self.list.highlighted = min(len(self.shown) - 1, max(0, (self.list.highlighted or 0) + step))

    def action_place(self) -> None:
        """The next file a change may go into."""
        row = self.chosen
        if row is None:
            return
        if row.line.places == ["user"]:
            self.thetis.say(f"{row.key} counts only in your own configuration.")
            return
        order: list[Where] = ["local", "user", "root"]
        self.wanted = order[(order.index(self.wanted) + 1) % len(order)]
        self._tell()

    @work(exclusive=True, group="change")
    async def action_change(self) -> None:
        """Ask for another value, or take the other of two at once."""
        row = self.chosen
        if row is None:
            return
        if row.command:
            value: str | None = await self._key_for(row)
        elif row.line.kind in _BY_HAND:
            self.thetis.say(f"{row.key} is written by hand, in your configuration file.", level="warn")
            return
        else:
            value = await self._value_for(row)
        if value is not None and value != row.value:
            await self._write(row, value, unset=False)

    async def _value_for(self, row: Preference) -> str | None:
        from thetis_tui.screens.ask import AskScreen
        from thetis_tui.screens.pick import PickScreen

        line = row.line
        if line.kind == "yes-no":
            return "false" if line.value == "true" else "true"
        if line.kind == "choice":
            return await self.thetis.answer(PickScreen(row.key, line.choices, line.value)) or None
        return await self.thetis.answer(AskScreen(row.key, line.value))

    async def _key_for(self, row: Preference) -> str | None:
        from thetis_tui.screens.press import PressScreen

        command, keys = BY_ID[row.command], self.thetis.appearance.keys
        return await self.thetis.answer(PressScreen(
            command.title, lambda key: [other.title for other in keymap.clashes(keys, command.id, key)])) or None

    @work(exclusive=True, group="change")
    async def action_reset(self) -> None:
        """Take the row out of the file that says it."""
        row = self.chosen
        if row is None or not row.changed:
            return
        if row.source == "environment":
            self.thetis.say("The environment says it; no file can take that back.", level="warn")
            return
        await self._write(row, "", unset=True)

    async def _write(self, row: Preference, value: str, *, unset: bool) -> None:
        app = self.thetis
        where = cast("Where", row.source) if unset else place_of(row, self.wanted)
        given = f'"{value}"' if row.command and not unset else value
        try:
            written = await app.ask(app.client.write_setting(row.key, given, where=where, unset=unset))
        except ThetisError as error:
            app.say(error.message, hint=error.hint, level="error")
            return
        now = written.setting
        self._lines = [now if line.key == now.key else line for line in self._lines]
        app.appearance.put(now)
        self._fill()
        told = f"{row.key} is back at what holds without it." if unset else f"{row.key} is {value}."
        app.say(f"{told}\n{one_line(written.file)}" + ("\nIt counts from the next start." if now.next_start else ""))
        if not unset and not row.command and now.value != value and now.source not in (where, "default"):
            app.say(f"{SOURCES[now.source] or 'another file'} says {now.value}, and wins.", level="warn")

    def on_key(self, event: events.Key) -> None:
        """Typed characters are words to look for."""
        if event.is_printable and not self.input.has_focus:
            self.input.focus()
