"""Which conversations are looked at while nothing runs, and what a look does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from thetis_kernel.errors import StoreError
from thetis_kernel.gateway.body import prober as module
from thetis_kernel.gateway.body.prober import AWAKE_S, Finding, Prober
from thetis_kernel.protocol.events import Modification
from thetis_kernel.store.folds import SessionState

AGENT, RENDERER = "agent", "gateway/tui"


class Bench:
    """A prober over conversations in memory: what is looked at, and what the watchdog is told."""

    def __init__(self) -> None:
        self.now = 100.0
        self.living: list[str] = []
        self.busy: set[str] = set()
        self.states: dict[str, SessionState] = {}
        self.looked: list[tuple[str, str]] = []
        self.told: list[tuple[str, str, str]] = []
        self.finding: Finding | None = Finding()
        self.prober = Prober(self, self, lambda: self.living, self.busy.__contains__,  # type: ignore[arg-type]
                             {AGENT: self.look(AGENT), RENDERER: self.look(RENDERER)}, lambda: self.now)

    def look(self, aspect: str) -> Any:
        async def look(session: str) -> Finding | None:
            self.looked.append((session, aspect))
            return self.finding

        return look

    def live(self, session: str, *aspects: str) -> None:
        self.living.append(session)
        state = self.states[session] = SessionState()
        state.modifications = [(n, Modification(target=aspect, revision="r")) for n, aspect in enumerate(aspects, 1)]
        state.seq = len(aspects)

    async def state(self, session: str) -> SessionState:
        if session == "damaged":
            raise StoreError("damaged")
        return self.states[session]

    async def failed(self, session: str, aspect: str, kind: str, detail: str) -> bool:
        self.told.append((session, aspect, kind))
        return True


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_only_guests_of_ones_own_are_looked_at_where_a_worker_lives_and_no_turn_runs(bench: Bench) -> None:
    bench.live("shipped")
    bench.live("own", AGENT, RENDERER)
    bench.live("at-work", AGENT)
    bench.busy.add("at-work")
    bench.living.insert(0, "damaged")
    await bench.prober.look()
    assert bench.looked == [("own", AGENT), ("own", RENDERER)] and bench.told == []


async def test_what_is_left_alone_is_left_alone_until_something_happens(bench: Bench) -> None:
    bench.live("s", AGENT)
    await bench.prober.look()
    bench.now += AWAKE_S + 1
    await bench.prober.look()
    assert bench.looked == [("s", AGENT)]
    bench.states["s"].seq += 1
    await bench.prober.look()
    assert len(bench.looked) == 2


@pytest.mark.parametrize(("kind", "counts"), [
    ("trap", True), ("timeout", True), ("memory", True), ("exit", True), ("type", True),
    ("error", False), ("abort", False), ("", False), ("unknown-bundle", False),
])  # fmt: skip
async def test_what_may_be_the_looks_own_doing_does_not_count(bench: Bench, kind: str, counts: bool) -> None:
    bench.live("s", AGENT)
    bench.finding = Finding(kind, "words")
    await bench.prober.look()
    assert bench.told == ([("s", AGENT, kind)] if counts else [])


async def test_no_look_is_no_finding(bench: Bench) -> None:
    bench.live("s", AGENT)
    bench.finding = None
    await bench.prober.look()
    assert bench.looked and bench.told == []


async def test_it_looks_again_and_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY_S", 0.0)
    bench.live("s", AGENT)
    task = asyncio.create_task(bench.prober.watch())
    async with asyncio.timeout(10):
        while len(bench.looked) < 3:
            await asyncio.sleep(0)
    task.cancel()
