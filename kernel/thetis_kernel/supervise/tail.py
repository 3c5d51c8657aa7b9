"""The end of what a child wrote to its standard error, for incidents. Bounded in memory and in the loop's time.

An incident is read by people and models, and a traceback may hold anything: what looks like a key is left out, and so
is what would move a terminal's cursor.
"""

from __future__ import annotations

import asyncio
import os
import re

KEEP = 64 * 1024
"""Bytes kept."""
RATE = 1024 * 1024
"""Bytes read in one second; a child that writes more waits on its own pipe, not on our loop."""
_CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|gh[oprsu]|github_pat|glpat|xox[abeprs]|AKIA|AIza)[-_]?[A-Za-z0-9_-]{12,}"  # as their makers begin them
    r"|(?i:(?<=bearer )|(?<=basic ))[^\s'\"]+"
    r"|(?i:(?<=key)|(?<=token)|(?<=secret)|(?<=authorization))(['\"]?\s*[:=]\s*b?['\"]?)[^\s'\",;)}]{8,}"
    r"|(?i:(?<=password)|(?<=passwd))(['\"]?\s*[:=]\s*b?['\"]?)[^\s'\",;)}]+"
    r"|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"
)


def harmless(text: str) -> str:
    """`text` without control characters and without what looks like a key, a password or a token."""
    return _KEYS.sub(lambda found: f"{found[1] or found[2] or ''}[left out]", _CONTROLS.sub("", text))


class Tail:
    """Reads the pipe `descriptor`, which it owns, until `close`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._kept = bytearray()
        self._budget = RATE
        self._second = self._loop.time()
        self._pause: asyncio.TimerHandle | None = None
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._readable)

    def text(self, limit: int = KEEP) -> str:
        """About the last `limit` bytes at most, `harmless`, undecodable ones replaced."""
        kept = bytes(self._kept)
        if len(kept) == KEEP:  # the first line has lost its beginning, by which a key would be known
            kept = kept[kept.find(b"\n") + 1 :]
        return harmless(kept.decode("utf-8", "replace"))[-limit:]

    def close(self) -> None:
        """Take what is in the pipe now and stop; other processes may still hold its other end."""
        if self._descriptor < 0:
            return
        self._loop.remove_reader(self._descriptor)
        if self._pause is not None:
            self._pause.cancel()
        for _ in range(RATE // KEEP):
            if self._read() <= 0:
                break
        os.close(self._descriptor)
        self._descriptor = -1

    def _readable(self) -> None:
        now = self._loop.time()
        if now - self._second >= 1.0:
            self._second, self._budget = now, RATE
        size = self._read()
        if size < 0:
            self._loop.remove_reader(self._descriptor)
            return
        self._budget -= size
        if self._budget <= 0:
            self._loop.remove_reader(self._descriptor)
            self._pause = self._loop.call_later(1.0, self._resume)

    def _resume(self) -> None:
        self._pause = None
        self._loop.add_reader(self._descriptor, self._readable)

    def _read(self) -> int:
        """Bytes read now: 0 when there are none, -1 at the end."""
        try:
            data = os.read(self._descriptor, KEEP)
        except BlockingIOError:
            return 0
        self._kept += data
        del self._kept[:-KEEP]
        return len(data) or -1
