"""Shortening text where a reader sees a character end: accents, joined emoji and flags stay whole.

Half of a visible character is another one, or none that a model or a terminal can show. The one place for it in kernel and
screen; guests have the same in their own `cutting.py`. Knows characters, not what is shortened.
"""

from __future__ import annotations

import unicodedata

LONGEST = 64
"""Code points of one visible character; a text that goes on joining for longer is cut anyway."""
_JOINER = "\u200d"


def head(text: str, limit: int) -> str:
    """The beginning of `text`: at most `limit` code points."""
    return text if len(text) <= limit else text[: boundary(text, limit)]


def tail(text: str, limit: int) -> str:
    """The end of `text`: at most `limit` code points."""
    if len(text) <= limit:
        return text
    at = first = len(text) - limit
    while at < min(len(text), first + LONGEST) and at > 0 and _belong_together(text, at):
        at += 1
    return text[at:]


def shortened(text: str, limit: int, end: str = "…") -> str:
    """`text` in at most `limit` code points, with `end` where something is missing."""
    return text if len(text) <= limit else head(text, limit - len(end)).rstrip() + end


def head_of(data: bytes, limit: int) -> str:
    """The beginning of UTF-8 `data` as text: at most `limit` bytes of it. What is not UTF-8 becomes U+FFFD."""
    kept = len(_whole_end(data[:limit]).decode("utf-8", "replace"))
    return head(data.decode("utf-8", "replace"), kept)


def tail_of(data: bytes, limit: int) -> str:
    """The end of UTF-8 `data` as text: at most `limit` bytes of it. What is not UTF-8 becomes U+FFFD."""
    end = _whole_start(data[max(0, len(data) - limit) :]) if limit else b""
    return tail(data.decode("utf-8", "replace"), len(end.decode("utf-8", "replace")))


def boundary(text: str, at: int) -> int:
    """The end of the last visible character that ends at `at` or before."""
    here, least = at, at - LONGEST
    while here > max(least, 0) and here < len(text) and _belong_together(text, here):
        here -= 1
    return here if here > least else at


def _belong_together(text: str, at: int) -> bool:
    """Whether the code points on both sides of `at` are parts of one visible character."""
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before == _JOINER or (before == "\r" and after == "\n")
    if after == _JOINER or before == _JOINER or unicodedata.category(after)[0] == "M":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":  # skin tones, tags of flags
        return True
    if "\u1160" <= after <= "\u11ff":  # vowels and ends of Hangul syllables written in parts
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    if not _is_regional(after):
        return False
    flags = 0  # two regional indicators are one flag: cut between pairs only
    while flags < at and _is_regional(text[at - flags - 1]):
        flags += 1
    return flags % 2 == 1


def _is_regional(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"


def _whole_end(data: bytes) -> bytes:
    """Without a character that is cut off at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if 0x80 <= byte < 0xC0:
            continue
        wanted = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return data[:-back] if wanted > back else data
    return data


def _whole_start(data: bytes) -> bytes:
    """Without the rest of a character that began before."""
    for skip in range(min(4, len(data))):
        if not 0x80 <= data[skip] < 0xC0:
            return data[skip:]
    return data if len(data) >= 4 else b""  # not UTF-8 at all, or one character's rest
