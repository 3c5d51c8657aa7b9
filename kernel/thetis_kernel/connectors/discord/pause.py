"""How long to wait before something is tried again: longer each time, up to a minute; short again after a success."""

from __future__ import annotations

import random

FIRST_S, LONGEST_S = 1.0, 60.0
_chance = random.SystemRandom()


class Pause:
    """The waits of one thing that is tried again."""

    def __init__(self, first_s: float = FIRST_S, longest_s: float = LONGEST_S) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._tries = 0

    def next_s(self) -> float:
        """Seconds to wait now: between a half and the whole of what doubles each time."""
        whole = min(self._longest_s, self._first_s * 2.0 ** min(self._tries, 30))
        self._tries += 1
        return whole * _chance.uniform(0.5, 1.0)

    def reset(self) -> None:
        """It worked."""
        self._tries = 0
