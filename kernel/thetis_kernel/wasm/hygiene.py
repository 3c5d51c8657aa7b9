"""What text must be before it enters a guest: no lone surrogates, no NaN, no nesting that could exhaust its stack.

One poisoned row of the log would otherwise trap every later turn. Fast for clean text: a few scans in C.
"""

from __future__ import annotations

import itertools
import re

NESTING = 64  # levels of arrays and objects; 1,200 exhausted a guest's stack (measured.md)

_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_NOT_BRACKET = re.compile(r"[^\[\]{}]+")
_ESCAPE = re.compile(
    r"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
# Possessive, and content with a missing end quote: linear on any text.
_STRING_OR_NAN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|-?Infinity|NaN', re.DOTALL)


def plain(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD; a split pair is joined."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def too_deep(text: str) -> bool:
    """Whether JSON `text` nests deeper than NESTING levels."""
    if text.count("[") + text.count("{") <= NESTING:
        return False
    # Without escapes, every second piece between quotes is outside of strings. All in C: 1 MB in a few milliseconds.
    outside = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    brackets = _NOT_BRACKET.sub("", outside)
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0) > NESTING


def json_text(text: str) -> str:
    """JSON `text` as a guest may have it: surrogates repaired (written out or escaped), NaN and infinities null.

    Nesting is the caller's to refuse (`too_deep`): it cannot be repaired.
    """
    text = plain(text)
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPE.sub(lambda found: "\\ufffd" if found[2] else found[0], text)
    if "NaN" in text or "Infinity" in text:
        text = _STRING_OR_NAN.sub(lambda found: found[0] if found[0][0] == '"' else "null", text)
    return text
