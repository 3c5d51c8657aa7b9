"""How often the files are looked at before effects: the first of each turn, and no more than is cheap, whoever takes turns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from thetis_kernel.gateway.timemachine import keeping
from thetis_kernel.gateway.timemachine.keeping import Keeping
from thetis_kernel.protocol.events import ToolInvocation

HOME = "a" * 16


class Git:
    """A git host whose looks take a second of the clock below."""

    root = "/r"
    known = frozenset[bytes]()

    def __init__(self, clock: list[float]) -> None:
        self.looks: list[int] = []
        self._clock = clock

    async def ask(self, ask: Any) -> None:
        self.looks.append(ask.seq)
        self._clock[0] += 1.0


def effect(turn: str) -> ToolInvocation:
    return ToolInvocation("c", "write", {}, "files.write-file", True, turn)


async def test_turns_of_one_checkout_that_alternate_are_not_each_time_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A parent and its sub-agents write by turns: on a large worktree each look costs a second."""
    clock = [100.0]
    monkeypatch.setattr(keeping, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    git = Git(clock)
    kept = Keeping(cast(Any, git))
    monkeypatch.setattr(keeping, "TakeSnapshot", lambda **fields: SimpleNamespace(**fields))
    for seq in range(1, 21):
        await kept.before(HOME, HOME, seq, effect(f"turn {seq % 4}"))
    assert git.looks == [1, 2, 3, 4], "the first effect of each, and then they wait"
    clock[0] += keeping.SHARE + 1
    await kept.before(HOME, HOME, 30, effect("turn 1"))
    assert git.looks[-1] == 30
    kept.forget(HOME)
    await kept.before(HOME, HOME, 31, effect("turn 1"))
    assert git.looks[-1] == 31
