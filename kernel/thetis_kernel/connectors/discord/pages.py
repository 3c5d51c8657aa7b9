"""A text in messages of at most 2,000 characters: cut at line ends, code blocks closed and opened again, nothing left out.

A page that is full depends on nothing behind it, so while a text grows its earlier pages stay as they are. Must not know
where pages are shown.
"""

from __future__ import annotations

import re

from thetis_kernel.protocol import cutting

LIMIT = 2000
"""Discord's limit of a message. Counted in UTF-16 units here, which are never fewer than what it counts."""
LEAST = LIMIT // 2
"""A page is not cut at a line's end before this: a long line is cut inside rather."""
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,20}")
"""What is repeated of a code block's first line on its next page."""
BLANK = "\u200b"
"""Put before a page that begins with white space: Discord takes that away from both ends of a message."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n`]*)")


def units(text: str) -> int:
    """The length of `text` in UTF-16 units."""
    return len(text) + sum(sign > "\uffff" for sign in text)


def pages(text: str) -> list[str]:
    """The messages of `text`, in order; none for one without anything to see."""
    found: list[str] = []
    at, fence = 0, ""
    while at < len(text):
        opening = f"{fence}\n" if fence else ""
        room = LIMIT - units(opening) - units(_closing(fence)) - 1
        if len(text) - at < LIMIT and units(text[at:]) < LIMIT - units(opening):
            _add(found, opening + text[at:])
            break
        end = _end(text, at, room)
        piece = text[at:end]
        after = _fence_after(piece, fence)
        if units(opening) + units(piece) + units(_closing(after)) > LIMIT:  # a block with a longer fence began on this page
            end = _end(text, at, room - units(_closing(after)))
            piece = text[at:end]
            after = _fence_after(piece, fence)
        _add(found, opening + piece.removesuffix("\n") + _closing(after))
        at, fence = end, after
    return found


def _add(found: list[str], page: str) -> None:
    if page.strip():
        found.append(BLANK + page if page[0].isspace() else page)


def _end(text: str, at: int, room: int) -> int:
    """Where the page that begins at `at` ends: after a line end, else a space, else between visible characters."""
    end, used = at, 0
    while end < len(text) and used + (2 if text[end] > "\uffff" else 1) <= room:
        used += 2 if text[end] > "\uffff" else 1
        end += 1
    for sign, least in (("\n", LEAST // 2), (" ", LEAST)):
        found = text.rfind(sign, at + least, end)
        if found >= 0:
            return found + 1
    return max(cutting.boundary(text, end), at + 1)


def _fence_after(piece: str, fence: str) -> str:
    """The code block that is open after `piece`, as the line that opens it again; "" for none."""
    for line in piece.split("\n"):
        match = _FENCE.match(line)
        if match is None:
            continue
        marks, info = match[1], match[2].strip()
        if not fence:
            fence = marks[:10] + (info if _LANGUAGE.fullmatch(info) else "")
        elif marks[0] == fence[0] and len(marks) >= len(_marks(fence)) and not info:
            fence = ""
    return fence


def _marks(fence: str) -> str:
    return fence[: len(fence) - len(fence.lstrip(fence[0]))]


def _closing(fence: str) -> str:
    return f"\n{_marks(fence)}" if fence else ""
