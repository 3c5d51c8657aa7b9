"""Makes text of strangers safe to draw: no character of it can steer the terminal or hide from the reader.

Owns the list of characters that never reach the screen as they are. Must not know about widgets: plain strings in,
plain strings out. Escapes and other control characters become visible stand-ins instead of vanishing, so that a
command with something hidden in it looks as odd as it is.
"""

from __future__ import annotations

import re

# Unicode 16: Cc without newline and tab, Cs, Zl, Zp and Cf. Of Cf these pass: ZWNJ and ZWJ (Persian, emoji) and the
# visible Arabic, Syriac and Kaithi signs. The fillers at the end are letters by category and blanks to the eye.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
    "\u115f\u1160\u3164\uffa0]"
)
_UNSAFE_CELL = re.compile(f"[\t\n]|{_UNSAFE.pattern}")
_COLOURS = re.compile("\x1b\\[[0-9;:]{0,64}[mK]")
_TAB = 4


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\u27e8U+{code:04X}\u27e9"


def visible(text: str) -> str:
    """`text` with CRLF as newline and every other unsafe character replaced by something one can see.

    Newlines and tabs stay. Idempotent; returns the same object when there is nothing to do.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return _UNSAFE.sub(_stand_in, text) if _UNSAFE.search(text) else text


def cells(text: str) -> str:
    """A stretch of a terminal's screen: each unsafe character is one sign that stands for none, so that columns stay."""
    return _UNSAFE_CELL.sub("\ufffd", text) if _UNSAFE_CELL.search(text) else text


def console(text: str) -> str:
    """A command's output for reading: colours dropped, lines rewritten by a carriage return shown as they ended.

    Every other control character becomes visible as in `visible`; tabs become spaces, so that cells can be counted.
    """
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) for line in text.replace("\r\n", "\n").split("\n"))
    return visible(text).expandtabs(_TAB)


def _last_state(line: str) -> str:
    """What a line shows after its carriage returns; a trailing one has overwritten nothing yet."""
    return line.rstrip("\r").rsplit("\r", 1)[-1]


def lines(text: str) -> list[str]:
    """`text` as visible lines with tabs expanded; never empty."""
    return visible(text).expandtabs(_TAB).split("\n")


def one_line(text: str) -> str:
    """`text` as one visible line: runs of whitespace become one space."""
    return " ".join(visible(text).split())
