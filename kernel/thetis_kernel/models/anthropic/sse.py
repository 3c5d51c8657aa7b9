"""Server-sent events out of bytes, however the bytes are cut.

Owns lines, fields and their limits. Must not know what an event means.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one event. Real ones have some hundred; what never ends must not fill the memory."""


class TooLong(ValueError):
    """An event is larger than `MAX_EVENT`."""


class Events:
    """Feed it bytes; it gives the data of each event that is whole. Raises TooLong."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of every event that `chunk` completes, in order."""
        self._size += len(chunk)
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._line += line
            whole = bytes(self._line.removesuffix(b"\r"))
            self._line.clear()
            if not whole:
                if self._data:
                    yield b"\n".join(self._data)
                    self._data.clear()
                self._size = len(rest)
            elif whole.startswith(b"data:"):
                self._data.append(whole[5:].removeprefix(b" "))
        self._line += rest
        if self._size > MAX_EVENT:
            raise TooLong(f"one event of the stream is larger than {MAX_EVENT // 1024 // 1024} MiB")
