"""What a guest prints: kept up to a cap, then dropped and marked (reliability G10)."""

from __future__ import annotations

CUT = "\n... output cut: the guest printed more than {cap} bytes\n"


class Captured:
    """One stream's bytes. `write` is called by WASI in the middle of a guest's call and never raises."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._kept = bytearray()
        self._cut = False

    def write(self, chunk: bytes) -> None:
        try:
            room = self._cap - len(self._kept)
            self._kept += chunk[:room]
            self._cut = self._cut or len(chunk) > room
        except BaseException:  # noqa: BLE001 - the binding prints what leaves here, and some of it ends the process
            self._cut = True

    def text(self) -> str:
        """What was kept, with a marker when something was dropped."""
        kept = self._kept.decode("utf-8", "replace")
        return kept + CUT.format(cap=self._cap) if self._cut else kept
