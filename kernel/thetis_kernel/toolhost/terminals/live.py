"""A terminal as a person looks at it: its screen with colours and cursor, what has scrolled away, and when it changed.

Owns the emulation of everything that came on the pty, from command to command, and its bounds: of output that comes faster than
anybody reads only the end is emulated. Nothing is worked out while nobody looks. Its answers are characters and colours by name:
no control sequence of a program is in them. Must not know commands but by the line that announces one.

Beside `screen.Screen`, which is what a model is shown: that one is empty at the start of each command, and has no colours.
"""

from __future__ import annotations

import copy
import itertools
import re
import threading
import unicodedata
from collections import deque
from typing import Any

from thetis_kernel.protocol.terminals import Cells, Shown
from thetis_kernel.toolhost.terminals.screen import understood

KEPT = 96 * 1024
"""Bytes of output that wait to be looked at; a screen with scrollback worth reading is below that."""
SCROLLBACK = 2000
"""Lines that have left the screen and can be looked at again."""
_MOST_JOINED = 8
"""Code points of one cell: letters with many marks are no reason to keep more."""
_ALTERNATE = frozenset({47, 1047, 1049})
_WIDTH_OF_132 = 3  # DECCOLM would change the size behind the window's back
_APPLICATION_KEYS, _PASTE = 1 << 5, 2004 << 5
_LINE, _PAGE = b"\x1b_thetis:line\x1b\\", b"\x1b_thetis:page\x1b\\"
"""Put into the stream by `begin`: to the start of a line, to an empty screen. A program that writes them does only that."""
_OURS = re.compile(b"(%b|%b)" % (re.escape(_LINE), re.escape(_PAGE)))
BOLD, ITALIC, UNDERLINE, STRIKE, REVERSE = 1, 2, 4, 8, 16


class Live:
    """What stands in one terminal. Thread-safe; `feed` costs next to nothing."""

    def __init__(self, columns: int, rows: int) -> None:
        self._changed = threading.Condition()
        self._emulating = threading.Lock()
        self._size = (columns, rows)
        self._pending = bytearray()
        self._skipped = False
        self._emulator: Any = None
        self._stream: Any = None
        self.version = 1
        """Goes up with everything that can be seen."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the pty."""
        with self._changed:
            self._pending += data
            if len(self._pending) > KEPT:
                del self._pending[: len(self._pending) - KEPT]
                self._skipped = True
            self.touch()

    def begin(self, text: str, fresh: bool) -> None:
        """A command begins; with `fresh` on an empty screen, what was there before goes up into the scrollback."""
        first = "".join(sign for sign in text.strip().partition("\n")[0][:400] if sign.isprintable())
        self.feed(_LINE + f"\x1b[0;2m$ {first}\x1b[0m\r\n".encode("utf-8", "replace") + (_PAGE if fresh else b""))

    def resize(self, columns: int, rows: int) -> None:
        """The window has another size now."""
        with self._emulating, self._changed:
            if self._emulator is not None:
                self._settle()
                self._emulator.resize(rows, columns)
            self._size = (columns, rows)
            self.touch()

    def touch(self) -> None:
        """Something about the terminal is different: who waits is woken."""
        with self._changed:
            self.version += 1
            self._changed.notify_all()

    def wait(self, version: int, seconds: float) -> int:
        """Until there is a version other than `version`, or `seconds` are over; the version there is."""
        with self._changed:
            self._changed.wait_for(lambda: self.version != version, seconds)
            return self.version

    def shown(self, back: int) -> Shown:
        """The screen, or what stood `back` lines above its end."""
        with self._emulating:
            with self._changed:
                version = self.version
                self._settle()
            screen = self._emulator
            back = max(0, min(back, len(screen.above)))
            lines = [screen.buffer[y] for y in range(screen.lines)]
            if back:
                start = len(screen.above) - back
                lines = [*itertools.islice(screen.above, start, start + screen.lines), *lines][: screen.lines]
            cursor = None if back or screen.cursor.hidden else (screen.cursor.y, min(screen.cursor.x, screen.columns - 1))
            return Shown(
                version=version, columns=screen.columns, rows=[_cells(line, screen.columns) for line in lines],
                cursor=cursor, above=len(screen.above), back=back, application_keys=_APPLICATION_KEYS in screen.mode,
                paste=_PASTE in screen.mode, alternate=screen.alternate)

    def _settle(self) -> None:
        """Let the emulator read what has come."""
        if self._emulator is None or self._skipped:
            above = self._emulator.above if self._emulator is not None else deque(maxlen=SCROLLBACK)
            self._emulator, self._skipped = _emulator(*self._size, above), False
            self._stream = _parser(self._emulator)
        data, self._pending = bytes(self._pending), bytearray()
        for part in _OURS.split(data):
            if part == _PAGE:
                self._emulator.page()
            elif part != _LINE:
                self._read(part)
            elif self._emulator.cursor.x:
                self._read(b"\r\n")

    def _read(self, data: bytes) -> None:
        pieces, rest = understood(data)
        self._pending = bytearray(rest)
        for piece in pieces:
            try:
                self._stream.feed(piece)
            except Exception:  # noqa: BLE001 - whatever a hostile program sends must cost no more than that piece
                self._stream = _parser(self._emulator)


def _parser(emulator: Any) -> Any:
    import pyte  # 0.1 s, and most conversations never look at a screen

    return pyte.ByteStream(emulator)


def _emulator(columns: int, rows: int, above: deque[Any]) -> Any:
    import pyte

    class Paged(pyte.Screen):
        """pyte's screen with scrollback, and the other screen that editors and pagers draw on."""

        def __init__(self) -> None:
            self.above = above
            self.alternate = False
            self._main: Any = None
            super().__init__(columns, rows)

        def draw(self, data: str) -> None:
            while data and self.cursor.x and unicodedata.combining(data[0]):
                if len(self.buffer[self.cursor.y][self.cursor.x - 1].data) < _MOST_JOINED:
                    break
                data = data[1:]
            super().draw(_PILED.sub(r"\1", data))

        def index(self) -> None:
            top, bottom = self.margins or (0, self.lines - 1)
            if self.cursor.y == bottom and top == 0 and not self.alternate:
                self.above.append(self.buffer[0])
            super().index()

        def page(self) -> None:
            """Everything up into the scrollback; an empty screen with the modes of a new one."""
            if self.alternate:
                self._leave()
            last = max((y for y, line in self.buffer.items() if any(c.data.strip() for c in line.values())), default=-1)
            for y in range(last + 1):
                self.above.append(self.buffer[y])
            self.reset()

        def set_mode(self, *modes: int, **kwargs: Any) -> None:
            private = kwargs.get("private")
            if private and not self.alternate and _ALTERNATE & set(modes):
                self._main = (self.buffer, self.cursor)
                self.alternate = True
                self.buffer = copy.copy(self.buffer)  # with what makes its missing lines
                self.buffer.clear()
                self.cursor = type(self.cursor)(self.cursor.x, self.cursor.y, self.cursor.attrs)
            super().set_mode(*(m for m in modes if not (private and m == _WIDTH_OF_132)), **kwargs)

        def reset_mode(self, *modes: int, **kwargs: Any) -> None:
            private = kwargs.get("private")
            if private and self.alternate and _ALTERNATE & set(modes):
                self._leave()
            super().reset_mode(*(m for m in modes if not (private and m == _WIDTH_OF_132)), **kwargs)

        def _leave(self) -> None:
            self.buffer, self.cursor = self._main
            self.cursor.y, self.cursor.x = min(self.cursor.y, self.lines - 1), min(self.cursor.x, self.columns)
            self.alternate, self._main = False, None
            self.dirty.update(range(self.lines))

        def write_process_input(self, data: str) -> None:
            """Questions of a program are answered once, by the screen a model is shown."""

    return Paged()


_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_PILED = re.compile(f"([{_MARKS}]{{4}})[{_MARKS}]+")


def _cells(line: Any, columns: int) -> list[Cells]:
    """A line as stretches of one look, without the blank end."""
    found: list[Cells] = []
    words: list[str] = []
    look: tuple[str, str, int] | None = None
    last = max((x for x, char in line.items() if x < columns and (char.data != " " or char.bg != "default" or char.reverse)),
               default=-1)
    for x in range(last + 1):
        char = line[x]
        style = (BOLD * char.bold + ITALIC * char.italics + UNDERLINE * char.underscore + STRIKE * char.strikethrough
                 + REVERSE * char.reverse)
        now = (_colour(char.fg), _colour(char.bg), style)
        if now != look and words:
            found.append(Cells("".join(words), *(look or ("", "", 0))))
            words = []
        look = now
        words.append(char.data[:_MOST_JOINED])
    if words and look is not None:
        found.append(Cells("".join(words), *look))
    return found


def _colour(name: str) -> str:
    return "" if name == "default" else name
