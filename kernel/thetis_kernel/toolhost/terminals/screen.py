"""What stands on a terminal's screen, worked out when somebody looks.

Owns the emulation (pyte) and its bounds: the stream is kept as it came, at most `KEPT` bytes of it, and only read when a
screen is asked for or a program asks the terminal something, because emulation is a hundred times slower than output. What
pyte takes for something else is taken out before; what it stumbles over costs that piece, never the terminal.
Must not know lines, prompts or programs.
"""

from __future__ import annotations

import re
from typing import Any

KEPT = 256 * 1024
"""Bytes of the stream that are kept; a program that redraws its screen needs 10 KB."""
_QUESTION = re.compile(rb"\x1b\[(?:[56]n|0?c)")
_PIECE = re.compile(
    rb"\x1b(?:\[(?P<private>[<=>?]?)(?P<parameters>[0-9;:]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    rb"|(?P<string>[P\]X^_])[^\x07\x18\x1a\x1b]*(?:\x07|\x1b\\|[\x18\x1a])?"
    rb"|[ -/]*[0-~]|)|[^\x1b]+"
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[P\]X^_][^\x07\x18\x1a\x1b]*\x1b?|[ -/]*)\Z")
_LONGEST_UNFINISHED = 4096
#: What pyte 0.8 understands as it is meant (pyte/streams.py): without "?", and with it.
_FINALS, _PRIVATE_FINALS = b"@ABCDEFGHJKLMPXacdefghlmnr`'", b"hlJK"


class Screen:
    """A screen of `columns` x `rows`."""

    def __init__(self, columns: int, rows: int) -> None:
        self.size = (columns, rows)
        self._pending = bytearray()
        self._emulator: Any = None
        self._stream: Any = None
        self._answers: list[str] = []

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes; what the terminal has to answer the program, b"" nearly always."""
        self._pending += data
        if len(self._pending) > KEPT:
            del self._pending[: len(self._pending) - KEPT]
            self._emulator = None  # what is left begins in the middle of something
        if _QUESTION.search(data) is None:
            return b""
        self._settle()
        answers, self._answers = self._answers, []
        return "".join(answers).encode()

    def lines(self) -> tuple[list[str], int, int]:
        """(the lines from the top without empty ones at the end, the cursor's line, its column), both from 0."""
        self._settle()
        emulator = self._emulator
        lines = [line.rstrip() for line in emulator.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines, emulator.cursor.y, emulator.cursor.x

    def resize(self, columns: int, rows: int) -> None:
        """The terminal has another size now."""
        if self._emulator is not None:
            self._settle()
            self._emulator.resize(rows, columns)
        self.size = (columns, rows)

    def clear(self) -> None:
        """Start with an empty screen."""
        self._pending.clear()
        self._answers.clear()
        self._emulator = None

    def _settle(self) -> None:
        """Let the emulator read what has come."""
        if self._emulator is None:
            self._fresh()
        pieces, rest = understood(bytes(self._pending))
        self._pending = bytearray(rest)
        for piece in pieces:
            try:
                self._stream.feed(piece)
            except Exception:  # noqa: BLE001 - whatever a hostile program sends must cost no more than that piece
                self._stream = self._parser()

    def _fresh(self) -> None:
        import pyte  # 0.1 s, and most conversations never look at a screen

        self._emulator = pyte.Screen(*self.size)
        self._emulator.write_process_input = lambda data: self._answers.append(data)
        self._stream = self._parser()

    def _parser(self) -> Any:
        import pyte

        return pyte.ByteStream(self._emulator)


def understood(data: bytes) -> tuple[list[bytes], bytes]:
    """The pieces of a stream that the emulator takes for what they are, and what is not complete yet."""
    unfinished = _UNFINISHED.search(data, max(0, len(data) - _LONGEST_UNFINISHED))
    rest = b"" if unfinished is None else unfinished[0]
    whole = data if unfinished is None else data[: unfinished.start()]
    return [piece[0] for piece in _PIECE.finditer(whole) if _understood(piece)], rest


def _understood(piece: re.Match[bytes]) -> bool:
    """Whether the emulator takes it for what it is."""
    if piece["string"]:
        return False
    final = piece["final"]
    if final is None:
        return True
    if piece["between"] or b":" in piece["parameters"]:
        return False
    finals = {b"": _FINALS, b"?": _PRIVATE_FINALS}.get(piece["private"], b"")
    return final in finals
