"""Every command with its key, as they are: the list is the commands' own."""

from __future__ import annotations

from textual.content import Content

from thetis_tui.commands import ALL
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
_COLUMN = 24


class HelpScreen(ReadingScreen):
    """The page over the desk."""

    heading = "Help"

    def lines(self, width: int) -> list[Line]:
        out = [Line(Content.styled("Typing", "bold $text-accent"))]
        for keys, text in TYPING:
            out += _entry(keys, text, width)
        out += [Line(), Line(Content.styled("Commands", "bold $text-accent"))]
        for command in ALL:
            slash = f"/{command.slash}{' ' + command.argument if command.argument else ''}" if command.slash else ""
            keys = ", ".join(part for part in (command.key_names, slash) if part)
            out += _entry(keys or "ctrl+p", f"{command.title}. {command.help}", width)
        return out


def _entry(keys: str, text: str, width: int) -> list[Line]:
    column = _COLUMN if width >= 60 else 2
    pad = Content(" " * column)
    body = wrapped(Content(text), max(8, width - column))
    label = Content.styled(keys, "$text-accent")
    if len(keys) > column - 2:
        return [Line(label), *prefixed(body, pad, pad)]
    return prefixed(body, label.pad_right(column - len(keys)), pad)
