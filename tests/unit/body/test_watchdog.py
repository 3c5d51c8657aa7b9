"""What goes back, when, and to what: the watchdog over a log in memory."""

from __future__ import annotations

from typing import Any

import pytest
from thetis_kernel.gateway.body.watchdog import FAILURES, WINDOW_S, Watchdog
from thetis_kernel.protocol.events import SHIPPED, Body, Incident, Modification
from thetis_kernel.store.folds import SessionState

AGENT = "agent"


class MemoryLog:
    """Folds modifications, keeps incidents."""

    def __init__(self) -> None:
        self.states = SessionState()
        self.incidents: list[Incident] = []

    async def state(self, session: str) -> SessionState:
        return self.states

    async def append(self, session: str, body: Body) -> None:
        if isinstance(body, Incident):
            self.incidents.append(body)
        if isinstance(body, Modification):
            self.states.modifications.append((len(self.states.modifications) + 1, body))


class MemoryBodies:
    """Serves what it is told to; `red` revisions pass the gate no more."""

    def __init__(self, log: MemoryLog) -> None:
        self.log = log
        self.red: set[str] = set()

    async def roll_back(self, session: str, aspect: str, revision: str, by: str, why: str = "") -> dict[str, Any]:
        if revision in self.red:
            return {"ok": False}
        present = self.log.states.guests.get(aspect)
        await self.log.append(session, Modification(target=aspect, revision=revision, by=by, summary=why,
                                                    previous=present.revision if present else SHIPPED))
        return {"ok": True}


class Bench:
    """A watchdog, its log, and a clock that is set."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.log = MemoryLog()
        self.bodies = MemoryBodies(self.log)
        self.dog = Watchdog(self.bodies, self.log, lambda: self.now)  # type: ignore[arg-type]

    async def serve(self, revision: str) -> None:
        await self.log.append("s", Modification(target=AGENT, revision=revision))

    async def failed(self, kind: str = "trap") -> bool:
        return await self.dog.failed("s", AGENT, kind, "why")

    def serving(self) -> str:
        change = self.log.states.guests.get(AGENT)
        return change.revision if change else SHIPPED


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_new_revision_goes_back_at_once_and_says_so(bench: Bench) -> None:
    await bench.serve("one")
    await bench.dog.well("s", AGENT)
    await bench.serve("two")
    assert await bench.failed()
    assert bench.serving() == "one"
    assert bench.log.incidents[0].code == "guest-put-back" and bench.log.incidents[0].data["revision"] == "two"


async def test_one_that_served_well_goes_back_after_three_failures_in_the_window(bench: Bench) -> None:
    await bench.serve("one")
    await bench.dog.well("s", AGENT)
    assert [await bench.failed() for _ in range(FAILURES - 1)] == [False] * (FAILURES - 1)
    bench.now += WINDOW_S + 1
    assert not await bench.failed()  # the first ones are too long ago
    bench.now += 1
    assert not await bench.failed()
    assert await bench.failed()
    assert bench.serving() == SHIPPED


async def test_serving_well_ends_the_count(bench: Bench) -> None:
    await bench.serve("one")
    for _ in range(FAILURES * 2):
        await bench.dog.well("s", AGENT)
        assert not await bench.failed()


async def test_what_failed_is_not_gone_back_to(bench: Bench) -> None:
    for revision in ("one", "two"):
        await bench.serve(revision)
    assert await bench.failed() and bench.serving() == "one"
    assert await bench.failed() and bench.serving() == SHIPPED  # not "two", which served before "one" came back
    assert not await bench.failed()  # behind the shipped one there is nothing


async def test_one_that_passes_no_longer_leaves_the_shipped_one(bench: Bench) -> None:
    for revision in ("one", "two"):
        await bench.serve(revision)
    bench.bodies.red.add("one")
    assert await bench.failed() and bench.serving() == SHIPPED


@pytest.mark.parametrize("kind", ["abort", "peer-gone", ""])
async def test_what_is_not_the_guests_fault_is_not_counted(bench: Bench, kind: str) -> None:
    await bench.serve("one")
    assert not await bench.failed(kind) and bench.serving() == "one"


async def test_a_tool_is_tried_on_its_earlier_revision_after_three_hard_failures_alone(bench: Bench) -> None:
    await bench.serve("one")
    await bench.serve("two")
    assert [await bench.dog.tripped("s", AGENT, kind) for kind in ("error", "type", "trap", "timeout")] == [None] * 4
    bench.now += WINDOW_S + 1
    assert [await bench.dog.tripped("s", AGENT, "memory") for _ in range(FAILURES - 1)] == [None] * (FAILURES - 1)
    target = await bench.dog.tripped("s", AGENT, "memory")
    assert target is not None and target.revision == "one" and bench.serving() == "two"  # nothing is done yet
    assert await bench.dog.put_back("s", AGENT, "memory", "why") and bench.serving() == "one"
    assert [incident.code for incident in bench.log.incidents] == ["guest-put-back"]


async def test_a_tool_without_an_earlier_revision_stays_and_so_does_the_shipped_one(bench: Bench) -> None:
    assert [await bench.dog.tripped("s", AGENT, "trap") for _ in range(FAILURES)] == [None] * FAILURES
    await bench.serve("one")
    assert [await bench.dog.tripped("s", AGENT, "trap") for _ in range(FAILURES)] == [None] * FAILURES


async def test_an_input_that_is_to_blame_is_told_and_the_count_begins_anew(bench: Bench) -> None:
    await bench.serve("one")
    await bench.serve("two")
    found = [await bench.dog.tripped("s", AGENT, "trap") for _ in range(FAILURES)]
    assert found[-1] is not None
    await bench.dog.blame_input("s", AGENT, "trap", "why")
    assert bench.serving() == "two" and [incident.code for incident in bench.log.incidents] == ["guest-input"]
    assert await bench.dog.tripped("s", AGENT, "trap") is None


async def test_what_went_back_for_a_call_that_is_to_blame_itself_comes_forward_again(bench: Bench) -> None:
    await bench.serve("one")
    assert await bench.failed() and bench.serving() == SHIPPED
    assert not await bench.failed()  # the shipped one fails with it, too: nothing is left to try
    assert bench.serving() == "one"
    assert [incident.code for incident in bench.log.incidents] == ["guest-put-back", "guest-input"]
    assert [await bench.failed() for _ in range(FAILURES)] == [False, False, True]  # and the next such call moves nothing at once
    assert bench.serving() == SHIPPED


async def test_a_revision_that_never_served_well_is_no_witness(bench: Bench) -> None:
    for revision in ("good", "one", "two"):
        await bench.serve(revision)
        if revision == "good":
            await bench.dog.well("s", AGENT)
    assert await bench.failed() and bench.serving() == "one"
    assert await bench.failed() and bench.serving() == "good"
    assert not await bench.failed() and bench.serving() == "two"  # the first that went back for this call


async def test_a_later_failure_of_what_serves_well_again_is_its_own(bench: Bench) -> None:
    await bench.serve("one")
    assert await bench.failed()
    await bench.dog.well("s", AGENT)
    assert not await bench.failed() and bench.serving() == SHIPPED
    await bench.serve("two")
    assert await bench.failed()
    bench.now += WINDOW_S + 1
    assert not await bench.failed() and bench.serving() == SHIPPED


async def test_a_resting_watchdog_puts_nothing_back(bench: Bench) -> None:
    await bench.serve("one")
    resting = Watchdog(bench.bodies, bench.log, lambda: bench.now, resting=True)  # type: ignore[arg-type]
    assert not await resting.failed("s", AGENT, "trap", "why") and bench.serving() == "one"
