"""Where a command's output ends in the stream of its terminal.

Owns the recognition of one escape sequence, `ESC ] 7770 ; nonce BEL`, in bytes that come in pieces of any size. Everything
else passes through unchanged, and at once but for a beginning of the mark at the very end of a piece. Must not know what
the bytes mean otherwise.
"""

from __future__ import annotations

from thetis_kernel.toolhost.terminals.shell import MARK


class Marker:
    """Looks for the mark with one nonce."""

    def __init__(self, nonce: str) -> None:
        self._mark = f"\x1b]{MARK};{nonce}\x07".encode("ascii")
        self._held = b""
        self.seen = False

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """(what came before the mark, what came after it); once it was seen, everything is after."""
        if self.seen:
            return b"", data
        data = self._held + data
        at = data.find(self._mark)
        if at >= 0:
            self.seen, self._held = True, b""
            return data[:at], data[at + len(self._mark) :]
        keep = self._beginning(data)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep], b""

    def end(self) -> bytes:
        """What is still held back, when no more will come."""
        held, self._held = self._held, b""
        return held

    def _beginning(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of the mark."""
        longest = min(len(data), len(self._mark) - 1)
        return next((size for size in range(longest, 0, -1) if data.endswith(self._mark[:size])), 0)
