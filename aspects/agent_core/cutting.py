"""Shortening text where a reader sees a character end.

Owns what belongs together on the screen: accents, joined emoji, flags. Half of one is another character, or none that a
model or a terminal can show. Must not know what is shortened.
"""

from __future__ import annotations

import unicodedata

LONGEST = 64
"""Code points of one visible character; a text that goes on joining for longer is cut anyway."""
_JOINER = "\u200d"


def head(words: str, limit: int) -> str:
    """The beginning of `words`: at most `limit` code points, and no visible character halved."""
    if len(words) <= limit:
        return words
    at, least = limit, limit - LONGEST
    while at > max(least, 0) and _belong_together(words, at):
        at -= 1
    return words[:at] if at > least else words[:limit]


def _belong_together(words: str, at: int) -> bool:
    """Whether the code points on both sides of `at` are parts of one visible character."""
    before, after = words[at - 1], words[at]
    if after == _JOINER or before == _JOINER or unicodedata.category(after)[0] == "M":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":  # skin tones, tags of flags
        return True
    if before + after == "\r\n":
        return True
    if "\u1160" <= after <= "\u11ff":  # vowels and ends of Hangul syllables written in parts
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    flags = 0  # two regional indicators are one flag: cut between pairs only
    while flags < at and _is_regional(words[at - flags - 1]):
        flags += 1
    return flags % 2 == 1 and _is_regional(after)


def _is_regional(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"
