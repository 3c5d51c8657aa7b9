"""What ends a turn that does not end itself: limits, and a model that repeats a failing call.

Owns the counts, all of them folded from the log, so that a resumed turn goes on counting where it was. Must not call
the host.
"""

from __future__ import annotations

import json
from typing import Any

from thetis_guest.lenient import flag, mapping, number, text

SAME_FAILURES = 3
"""The same call failing so often without any change between gets a word; failing once more ends the turn."""
CUT_REPLIES = 3
"""Replies in a row that ran into the output limit before the turn ends."""
REPEATED = "repeated-failure"
TODOS_OPEN = "todos"
"""What the agent's reminder of open todos is about."""
REMINDERS = 2
"""Of open todos, in one turn."""
DEFAULT_LIMITS = {"iterations": 60, "tokens": 2_000_000, "wall_ms": 3_600_000}


class Progress:
    """How far the newest turn of a log has come. Feed it every event in order."""

    def __init__(self) -> None:
        self._begin("")

    def _begin(self, turn: str) -> None:
        self.iterations = 0
        self.cut_replies = 0
        self.reminders = 0
        self._turn = turn
        self._running: dict[str, tuple[str, bool]] = {}
        self._failures: dict[str, int] = {}
        self._warned: set[str] = set()

    def feed(self, event: dict[str, Any]) -> None:
        """Take the next event."""
        kind = text(event, "kind")
        body = mapping(event, "body")
        if kind == "turn-started" and text(body, "turn") != self._turn:
            self._begin(text(body, "turn"))
        elif kind == "assistant":
            self.iterations += 1
            self.cut_replies = self.cut_replies + 1 if text(body, "end") == "max-tokens" else 0
        elif kind == "tool-invocation" and text(body, "origin", "model") == "model":
            shown = json.dumps(mapping(body, "args"), sort_keys=True)
            self._running[text(body, "call")] = f"{text(body, 'name')} {shown}", flag(body, "mutating")
        elif kind == "tool-result":
            self._result(body)
        elif kind == "system-note" and text(body, "about") == TODOS_OPEN:
            self.reminders += 1
        elif kind == "system-note" and text(body, "about") == REPEATED:
            self._warned.update(call for call, count in self._failures.items() if count >= SAME_FAILURES)

    def _result(self, body: dict[str, Any]) -> None:
        call, mutating = self._running.pop(text(body, "call"), ("", False))
        if not call:
            return
        if text(body, "outcome") in ("error", "refused"):
            self._failures[call] = self._failures.get(call, 0) + 1
        elif mutating:
            self._failures.clear()  # something changed: what failed before may work now
            self._warned.clear()
        else:
            self._failures.pop(call, None)

    def stuck(self) -> tuple[str, bool] | None:
        """(the call, whether the model was warned and it failed again), or None while nothing repeats."""
        for call, count in self._failures.items():
            if count > SAME_FAILURES and call in self._warned:
                return call, True
            if count >= SAME_FAILURES and call not in self._warned:
                return call, False
        return None


def limit_reached(limits: dict[str, Any], progress: Progress, inbox: dict[str, Any]) -> str:
    """The sentence that says which limit of the turn is reached, or "".

    `limits`: {"iterations", "tokens", "wall_ms"}; `inbox`: the answer of `poll-inbox`, for time and tokens.
    """
    iterations = number(limits, "iterations", DEFAULT_LIMITS["iterations"])
    tokens = number(limits, "tokens", DEFAULT_LIMITS["tokens"])
    wall = number(limits, "wall_ms", DEFAULT_LIMITS["wall_ms"])
    if progress.iterations >= iterations:
        return f"The turn reached its limit of {iterations} model calls (agent.max_iterations). Say go on to continue."
    if number(inbox, "tokens") >= tokens:
        return f"The turn reached its limit of {tokens:,} tokens (agent.max_tokens). Say go on to continue."
    if number(inbox, "elapsed-ms") >= wall:
        return f"The turn reached its limit of {_duration(wall)} (agent.max_minutes). Say go on to continue."
    if progress.cut_replies >= CUT_REPLIES:
        return f"The model's reply was cut at its output limit {CUT_REPLIES} times in a row."
    return ""


def _duration(ms: int) -> str:
    seconds = ms / 1000
    if seconds >= 60:
        return f"{seconds / 60:g} minutes"
    return f"{seconds:g} seconds"
