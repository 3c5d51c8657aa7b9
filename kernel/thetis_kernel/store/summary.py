"""How a conversation is called in lists: titles and previews cut from what was said. Pure text, one line each."""

from __future__ import annotations

from thetis_kernel.protocol import cutting

TITLE_LENGTH = 48
PREVIEW_LENGTH = 140
NAME_LENGTH = 120
"""Characters of a title a person gives."""
UNTITLED = "New conversation"
_NOTICED = 500
"""Characters looked at; a first message may be a whole file."""


def one_line(text: str, length: int) -> str:
    """`text` on one line of at most `length` characters, cut at a word where there is one, never inside a character."""
    line = " ".join(cutting.head(text, _NOTICED).split())
    if len(line) <= length:
        return line
    cut = line.rfind(" ", length // 2, length)
    return line[:cut].rstrip() + "…" if cut > 0 else cutting.shortened(line, length)


def title(text: str, attachment: str = "") -> str:
    """A title for a conversation that begins with `text`, else with an attachment of that name, else `UNTITLED`."""
    return one_line(text, TITLE_LENGTH) or one_line(attachment, TITLE_LENGTH) or UNTITLED


def preview(text: str) -> str:
    """The line lists show under the title."""
    return one_line(text, PREVIEW_LENGTH)
