"""Pairing: an administrator asks for a code in a private message, and who names it is let in until the connector stops.

Codes and who used them are kept in memory alone; for good, an id is written into the configuration. Used from two threads:
each method is one step on a dictionary.
"""

from __future__ import annotations

import secrets

from thetis_kernel.clock import Clock

LETTERS = "BCDFGHJKLMNPQRSTVWXZ23456789"
"""No vowels, so that no code is a word; nothing that is read as something else."""
LENGTH = 6
TRIES = 5
"""Wrong codes of one person in the time a code lives."""
MAX_CODES, MAX_TRIERS = 16, 1_000


class Pairing:
    """`seconds`: how long a code lives."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._paired: dict[int, None] = {}
        self._tries: dict[int, list[float]] = {}

    def knows(self, person: int) -> bool:
        """Whether somebody used a code."""
        return person in self._paired

    def issue(self) -> str:
        """A fresh code, for one person."""
        now = self._clock.monotonic()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        if len(self._codes) >= MAX_CODES:
            self._codes.pop(next(iter(self._codes)))
        code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
        self._codes[code] = now + self._seconds
        return code

    def use(self, person: int, code: str) -> bool:
        """Let `person` in when the code is good. A code is used once, and wrong ones can be tried a few times only."""
        now = self._clock.monotonic()
        tries = [at for at in self._tries.get(person, []) if at > now - self._seconds]
        if len(tries) >= TRIES:
            return False
        if self._codes.pop(code.strip().upper(), 0.0) > now:
            self._paired[person] = None
            return True
        if len(self._tries) >= MAX_TRIERS:
            self._tries.pop(next(iter(self._tries)))
        self._tries[person] = [*tries, now]
        return False
