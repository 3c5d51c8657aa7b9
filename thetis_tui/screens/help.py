"""Every command with its key, as they are: the list is the commands' own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from thetis_tui.commands import ALL, SECTIONS, Command
from thetis_tui.lines import Line, prefixed, wrapped
from thetis_tui.screens.reading import ReadingScreen

TYPING = (
    ("enter", "send; while a turn runs, the words steer it"),
    ("tab", "while a turn runs: say it when that has ended; what waits stands above the prompt"),
    ("shift+enter, ctrl+j", "a new line"),
    ("up, down", "what was sent before; up in an empty prompt takes the last message that waits, to change it"),
    ("tab", "take an example or a completion, when there is one"),
    ("/", "commands by name"),
    ("?", "this page, in an empty prompt"),
    ("pageup, pagedown", "scroll; ctrl+end goes to the end and follows"),
    ("ctrl+c twice, ctrl+d", "quit (ctrl+d only when nothing is typed)"),
    ("ctrl+p", "everything, by name"),
)
_NAMES = {"escape": "esc", "slash": "/", "question_mark": "?"}
_COLUMN = 26
_NARROW = 60
"""Cells from which keys have a column of their own."""


class HelpScreen(ReadingScreen):
    """The page over whatever is looked at. `applies`: whether a command makes sense now; the others stand there grey.
    `here`: keys of the page it covers, and what they do."""

    heading = "Help"

    def __init__(
        self, applies: Callable[[Command], bool] = lambda _: True, here: Sequence[tuple[str, str]] = (),
        names: Callable[[Command], str] = lambda command: command.key_names,
    ) -> None:
        super().__init__()
        self._here = here
        self._names = {command.id: names(command) for command in ALL}
        self._applies = {command.id: applies(command) for command in ALL}

    def lines(self, width: int) -> list[Line]:
        out: list[Line] = []
        if self._here:
            out.append(_title("On this page"))
            for keys, words in self._here:
                out += _entry(keys, Content(words), width)
            out.append(Line())
        out.append(_title("Typing"))
        for keys, words in TYPING:
            out += _entry(keys, Content(words), width)
        for name, commands in SECTIONS:
            out += [Line(), _title(name)]
            for command in commands:
                slash = f"/{command.slash}{' ' + command.argument if command.argument else ''}" if command.slash else ""
                keys = ", ".join(part for part in (self._names[command.id], slash) if part)
                here = self._applies[command.id]
                text = Content.assemble((command.title, "bold" if here else "$text-muted"), (f"  {command.help}", "$text-muted"))
                out += _entry(keys or "ctrl+p", text, width, "$text-accent" if here else "$text-muted")
        if not all(self._applies.values()):
            out += [Line(), *wrapped(Content.styled("Grey: not now, or not in this conversation.", "$text-muted"), width)]
        return out


def keys_of(screen: Screen[Any], focused: Widget | None) -> list[tuple[str, str]]:
    """The keys a page and the part of it that has the cursor say of themselves, each key once."""
    out: dict[str, str] = {}
    for node in (focused, screen):
        for cls in type(node).__mro__ if node is not None else ():
            own = cls.__module__.startswith("thetis_tui") and vars(cls).get("BINDINGS")
            for binding in own or ():
                if isinstance(binding, Binding):
                    out.setdefault(binding.description, ", ".join(_NAMES.get(key, key) for key in binding.key.split(",")))
    return [(keys, text) for text, keys in out.items()]


def _title(words: str) -> Line:
    return Line(Content.styled(words, "bold $text-secondary"))


def _entry(keys: str, text: Content, width: int, colour: str = "$text-accent") -> list[Line]:
    column = _COLUMN if width >= _NARROW else 2
    pad = Content(" " * column)
    body = wrapped(text, max(8, width - column))
    label = Content.styled(keys, colour)
    if len(keys) > column - 2:
        return [Line(label), *prefixed(body, pad, pad)]
    return prefixed(body, label.pad_right(column - len(keys)), pad)
