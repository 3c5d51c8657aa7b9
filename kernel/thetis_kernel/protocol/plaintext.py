"""Text of strangers made harmless: no escape sequence, control character or direction override survives.

Used wherever text from a guest, model, file or command is about to become something a person looks at. It knows
characters, not events or widgets.
"""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC: whole
    r"|\x1b[ -/]*[0-~]"  # two-character and charset escapes
)
"""Linear in the text: no part of an alternative can run over the beginning of another sequence."""
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\u2028\u2029]")
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides that reorder text
    "\ufff9-\ufffb]"  # interlinear annotation
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """`text` with escape sequences removed whole, other control characters dropped, line ends as "\\n".

    Tabs and newlines stay; lone surrogates become U+FFFD. The result encodes as UTF-8 and cleaning it again
    changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", _SEQUENCES.sub("", text))
    return _SURROGATES.sub("\ufffd", _FORBIDDEN.sub("", text))


def clean_line(text: str) -> str:
    """`clean_text` on one line: newlines and tabs become single spaces."""
    return re.sub(r"[\n\t]+", " ", clean_text(text)).strip()
