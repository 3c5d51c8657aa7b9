"""What a tool guest did by its own imports while it ran, told in the result of the call it ran for.

A call is logged before it begins, but its arguments need not say what the tool will write, run or fetch. Owns the list, which
is bounded: what was tried in vain never takes the room of what was done. Must not judge: `authority.permit` has done that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from thetis_kernel.errors import Refused, ThetisError

MOST_DONE = 40
"""Effects that are named; of more there is the number."""
MOST_FAILED = 10
MOST_WORDS = 200
"""Characters of a path, a command or an address."""

Does = Literal["write", "exec", "http"]


class Inside:
    """Of one call; used by the one thread its guest has."""

    def __init__(self) -> None:
        self._done: list[dict[str, str]] = []
        self._failed: list[dict[str, str]] = []
        self._left_out: Counter[str] = Counter()

    @contextmanager
    def effect(self, does: Does, what: str) -> Iterator[dict[str, str]]:
        """Around an effect: what is raised in it makes it one that failed. "how" of the value may say how it ended."""
        words = " ".join(what.split())
        entry = {"does": does, "what": words if len(words) <= MOST_WORDS else words[: MOST_WORDS - 1] + "…"}
        try:
            yield entry
        except Refused:
            self._add(self._failed, MOST_FAILED, entry | {"how": "refused"})
            raise
        except ThetisError:
            self._add(self._failed, MOST_FAILED, entry | {"how": "failed"})
            raise
        self._add(self._done, MOST_DONE, entry)

    def _add(self, to: list[dict[str, str]], most: int, entry: dict[str, str]) -> None:
        if len(to) < most:
            to.append(entry)
        else:
            self._left_out[entry["does"]] += 1

    def told(self) -> dict[str, Any]:
        """For a result's data: {"effects": [{"does", "what", "how"?}], "effects_left_out": {does: count}}, {} without any."""
        found: dict[str, Any] = {}
        if self._done or self._failed:
            found["effects"] = [*self._done, *self._failed]
        if self._left_out:
            found["effects_left_out"] = dict(self._left_out)
        return found
