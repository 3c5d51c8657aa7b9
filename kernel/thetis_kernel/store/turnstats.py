"""What a turn has done and used until now. A part of the fold (`folds.SessionState.stats`)."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from thetis_kernel.protocol.spending import Spent, Usage


class TurnStats(msgspec.Struct):
    """The turn since its last turn-started: replies, calls, and the tokens of all replies and abandoned tries together.

    `spent`: what it used and cost, its automatic resumes included.
    """

    turn: str = ""
    iterations: int = 0
    tool_calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    estimated: bool = False
    spent: Spent = Spent()

    @property
    def usage(self) -> Usage:
        """The tokens of all of them, estimated if any of them is."""
        return Usage(self.input, self.output, self.cache_read, self.cache_write, self.estimated)

    def add(self, usage: Usage, cost: Decimal | None = None) -> None:
        """Count one reply, or a try that was abandoned."""
        self.input += usage.input
        self.output += usage.output
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        self.estimated = self.estimated or usage.estimated
        self.spent = self.spent.plus(usage, cost)
