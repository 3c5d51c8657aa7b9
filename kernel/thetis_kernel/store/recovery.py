"""What must be appended to a log that was cut anywhere, so that it can be gone on from.

Afterwards every invocation has exactly one result, every call a reply asked for is answered, and every turn that was
started is finished. A pure function of the conversation's projected events: the same for a crash, a fork taken in the
middle of a turn, and a rewind into one. Applied twice it adds nothing the second time.

A call whose intent was logged may have had its effect: its result is `interrupted`, outcome unknown, and the model decides.
A call the reply asked for but which was never taken up did not run: it gets a result (`cancelled`) and no invocation,
because an invocation says that something was about to happen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from thetis_kernel.protocol.events import (
    Assistant,
    Body,
    Event,
    Spending,
    SystemNote,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    TurnStarted,
)
from thetis_kernel.store import folds

UNKNOWN_OUTCOME = (
    "Interrupted: Thetis stopped while this call was running. Its outcome is unknown; check before doing it again."
)
NOT_RUN = "Not run: Thetis stopped before this call was taken up."
NOTE = "Thetis was restarted in the middle of a turn. Calls that were running are marked as interrupted."
DETAIL = "Thetis stopped before the turn was over."


def repairs(events: Iterable[Event]) -> list[Body]:
    """The bodies to append, in this order; empty when nothing was cut."""
    cut = _Cut()
    for event in events:
        cut.take(event)
    return cut.bodies()


class _Cut:
    """What is open at the end of a log."""

    def __init__(self) -> None:
        self.invocations: list[ToolInvocation] = []
        self.results: Counter[str] = Counter()
        self.asked: list[tuple[str, str]] = []
        self.turns: dict[str, folds.TurnStats] = {}
        self.turn = ""
        self.began: dict[str, int] = {}
        self.last_ms = 0
        self.stopped: set[str] = set()

    def take(self, event: Event) -> None:
        self.last_ms = event.ts_ms
        try:
            body = event.body
        except msgspec.MsgspecError:
            return  # nothing can be owed to an event nobody can read
        match body:
            case ToolInvocation():
                self.invocations.append(body)
                if body.turn in self.turns:
                    self.turns[body.turn].tool_calls += 1
            case ToolResult():
                self.results[body.call] += 1
            case Assistant():
                self.asked += [(call, body.turn or self.turn) for call in _calls(body.blocks)]
                stats = self.turns.get(body.turn or self.turn)
                if stats is not None:
                    stats.iterations += 1
                    stats.add(body.usage, body.cost)
            case Spending():
                if body.turn in self.turns:
                    self.turns[body.turn].add(body.usage, body.cost)
            case TurnStarted():
                self.turn = body.turn
                self.turns[body.turn] = folds.TurnStats(body.turn)
                self.began[body.turn] = event.ts_ms
            case TurnFinished():
                self.turns.pop(body.turn, None)
            case SystemNote(about="stop"):
                self.stopped.add(self.turn)
            case _:
                pass

    def _results(self) -> list[ToolResult]:
        left = self.results.copy()
        owed: list[ToolResult] = []
        for invocation in self.invocations:
            if left[invocation.call] > 0:
                left[invocation.call] -= 1
            else:
                owed.append(ToolResult(invocation.call, "interrupted", UNKNOWN_OUTCOME, turn=invocation.turn))
        invoked = {invocation.call for invocation in self.invocations}
        for call, turn in dict(self.asked).items():
            if call not in invoked and not self.results[call]:
                owed.append(ToolResult(call, "cancelled", NOT_RUN, turn=turn))
        return owed

    def bodies(self) -> list[Body]:
        owed = self._results()
        # A stop outlives a crash: what a person stopped does not come back as a turn to resume.
        finishes: list[Body] = [
            TurnFinished(
                turn,
                "cancelled" if turn in self.stopped else "restarted",
                DETAIL,
                iterations=stats.iterations,
                tool_calls=stats.tool_calls,
                usage=stats.usage,
                # Until the last thing it is known to have done: nobody knows when it was cut.
                duration_ms=max(0, self.last_ms - self.began[turn]),
                spent=stats.spent,
            )
            for turn, stats in self.turns.items()
        ]
        if not owed and not finishes:
            return []
        return [*owed, SystemNote(NOTE, about="restart"), *finishes]


def _calls(blocks: list[dict[str, Any]]) -> list[str]:
    """The ids of the calls a reply asks for."""
    return [
        block["id"]
        for block in blocks
        if block.get("type") == "tool_use" and isinstance(block.get("id"), str) and block["id"]
    ]
