"""The stream of a terminal as plain text: what a person would have read in the end, line by line.

Owns the reading of control characters and escape sequences (ECMA-48): they are taken out; a carriage return starts the line
anew, so of a progress bar its last state remains; a backspace takes a character back. Memory is bounded by the longest line
kept. Must not know the screen: text that a program places here and there comes out in the order it was written, and `moves`
says that this happened.
"""

from __future__ import annotations

import codecs
import re

MAX_LINE = 16 * 1024
"""Characters of a line that is not finished; a longer one is handed out in parts."""
_MAX_SEQUENCE = 4096
"""Characters of an escape sequence that is not complete; a longer one is none."""

_STRINGS = "P]X^_"
"""What begins a text for the terminal itself (DCS, OSC, SOS, PM, APC): up to ST or BEL, and to the next escape or cancel."""
_ESCAPE = re.compile(r"\x1b(?:\[(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~])|[ -/]*[0-OQ-WYZ\\`-~])")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[ -/]*)\Z")
_STRING_END = re.compile("[\x07\x18\x1a\x9c]|\x1b\\\\?")
_OSC_END = re.compile("[\x07\x18\x1a\x9c\n]|\x1b\\\\?")  # a line's end too: one that never ends must not hide the rest
_SPECIAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PLACING = frozenset("ABDEFHfdrSTLM")
_OTHER_SCREEN = frozenset(("?1049", "?1047", "?47"))


class PlainText:
    """Takes bytes in pieces of any size; gives the text of finished lines."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._line = ""
        self._return = False
        self._string = ""
        self.moves = False
        """Whether the program placed its text on the screen, which is then the better thing to look at."""

    @property
    def pending(self) -> str:
        """The line that is not finished: a prompt, a progress bar."""
        return self._line

    def feed(self, data: bytes) -> str:
        """The lines that `data` finishes, each with its end; "" when there is none."""
        return self._take(self._held + self._decoder.decode(data))

    def end(self) -> str:
        """Everything still pending, when no more will come. The text may go on after it."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        text = self._take(self._held + rest)
        self._held = ""  # half of a sequence is no text
        line, self._line = self._line, ""
        self._return = False
        return text + line

    def _take(self, text: str) -> str:
        self._held = ""
        text = text.replace("\r\n", "\n")
        out: list[str] = []
        at = 0
        while at < len(text):
            if self._string:
                at = self._skip_string(text, at)
                continue
            special = _SPECIAL.search(text, at)
            stop = special.start() if special else len(text)
            self._write(text[at:stop], out)
            at = self._control(text, stop) if special else len(text)
        return "".join(out)

    def _write(self, words: str, out: list[str]) -> None:
        """Printable text and line feeds."""
        *lines, last = words.split("\n")
        for line in lines:
            if line and self._return:
                self._line = ""
            out.append(f"{self._line}{line}\n")
            self._line, self._return = "", False
        if last:
            self._line = last if self._return else self._line + last
            self._return = False
        if len(self._line) > MAX_LINE:
            out.append(self._line)
            self._line = ""

    def _control(self, text: str, at: int) -> int:
        """Deal with the control character at `at`; where to go on."""
        sign = text[at]
        if sign == "\r":
            self._return = True
        elif sign == "\b":
            self._line = self._line[:-1]
        elif sign == "\x1b":
            return self._escape(text, at)
        return at + 1

    def _escape(self, text: str, at: int) -> int:
        match = _ESCAPE.match(text, at)
        if match is not None:
            self.moves = self.moves or _places(match["final"] or "", match["parameters"] or "")
            return match.end()
        kind = text[at + 1 : at + 2]
        if kind and kind in _STRINGS:
            self._string = kind
            return at + 2
        if len(text) - at <= _MAX_SEQUENCE and _UNFINISHED.match(text, at):
            self._held = text[at:]
            return len(text)
        return at + 1  # an escape that begins nothing

    def _skip_string(self, text: str, at: int) -> int:
        end = (_OSC_END if self._string == "]" else _STRING_END).search(text, at)
        if end is None:
            return len(text)
        if end[0] == "\x1b":
            if end.end() == len(text):
                self._held = "\x1b"  # perhaps the first half of ST
                return len(text)
            self._string = ""
            return end.start()
        self._string = ""
        return end.start() if end[0] == "\n" else end.end()


def _places(final: str, parameters: str) -> bool:
    """Whether a control sequence puts text anywhere else than behind what was written before."""
    if final == "h":
        return parameters in _OTHER_SCREEN
    return final in _PLACING or (final == "J" and parameters in ("2", "3"))
