"""Which turns a daemon takes up by itself: those open when it opened the log, parked ones; at most twice each, no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.gateway.endings import PARKED
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.recovery import recover
from thetis_kernel.gateway.resuming import NAME, Cut
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.protocol.events import Body, SessionStarted, TurnFinished, TurnStarted, User
from thetis_kernel.protocol.ids import new_session_id
from thetis_kernel.store.store import Store


class Turns:
    """Notes what it is asked to go on with."""

    def __init__(self, fails: bool = False) -> None:
        self.begun: dict[str, int] = {}
        self._fails = fails

    async def resume(self, session: str, *, attempt: int) -> bool:
        if self._fails:
            raise ThetisError("The disk is nearly full.", code="store-full")
        self.begun[session] = attempt
        return True


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "data")
    yield store
    store.close()


def conversation(store: Store, *bodies: Body, parent: str = "") -> str:
    session = new_session_id()
    store.create(session, SessionStarted(root="/r", origin="tui", mode="agent", model="m", branch=f"conv/{session[:8]}",
                                         parent=parent, relation="child" if parent else ""))
    store.append_many(session, [(body, "") for body in bodies]).result()
    return session


def cut(attempt: int = 0) -> list[Body]:
    """A turn nobody ended."""
    return [User("go"), TurnStarted("t", "agent", "m", attempt=attempt)]


async def taken_up(store: Store, base: Path, turns: Turns | None = None) -> dict[str, int]:
    """What a daemon that opens this log goes on with."""
    turns = turns or Turns()
    log = Log(store, Broadcast())
    noted = Cut(base)
    noted.note(store)
    await recover(log)
    await noted.resume(log, turns)  # type: ignore[arg-type]
    return turns.begun


@pytest.mark.parametrize(("attempt", "next_one"), [(0, 1), (1, 2), (2, None)])
async def test_a_turn_a_death_cut_goes_on_twice_at_most(store: Store, tmp_path: Path, attempt: int, next_one: int | None) -> None:
    session = conversation(store, *cut(attempt))
    assert await taken_up(store, tmp_path) == ({} if next_one is None else {session: next_one})


async def test_what_was_found_cut_before_is_a_persons_to_go_on_with(store: Store, tmp_path: Path) -> None:
    conversation(store, *cut(), TurnFinished("t", "restarted", "Thetis stopped before the turn was over."))
    assert await taken_up(store, tmp_path) == {}


async def test_a_parked_turn_goes_on_whenever_the_next_daemon_starts(store: Store, tmp_path: Path) -> None:
    session = conversation(store, *cut(), TurnFinished("t", "restarted", PARKED))
    assert await taken_up(store, tmp_path) == {session: 1}


async def test_what_a_person_stopped_or_what_ended_stays_so(store: Store, tmp_path: Path) -> None:
    conversation(store, *cut(), TurnFinished("t", "cancelled"))
    ended = conversation(store, *cut(), TurnFinished("t", "stop"))
    conversation(store, *cut(), parent=ended)
    assert await taken_up(store, tmp_path) == {}


async def test_another_death_before_it_came_to_them_changes_nothing(store: Store, tmp_path: Path) -> None:
    session = conversation(store, *cut())
    Cut(tmp_path).note(store)
    await recover(Log(store, Broadcast()))  # and it died here
    assert await taken_up(store, tmp_path) == {session: 1}
    assert not (tmp_path / NAME).exists()
    assert await taken_up(store, tmp_path) == {}, "once"


async def test_a_note_that_cannot_be_read_is_none(store: Store, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'["half')
    assert await taken_up(store, tmp_path) == {}


async def test_what_cannot_be_begun_is_offered(store: Store, tmp_path: Path) -> None:
    conversation(store, *cut())
    assert await taken_up(store, tmp_path, Turns(fails=True)) == {}


@pytest.mark.parametrize(("parked", "stopped", "agent", "log"), [
    (False, False, "stop", "stop"), (False, True, "stop", "cancelled"), (False, True, "restarted", "cancelled"),
    (True, True, "cancelled", "restarted"), (True, True, "error", "restarted"), (True, True, "stop", "stop"),
    (True, True, "asked", "asked"),
])
async def test_a_parked_turn_is_cut_and_not_stopped(parked: bool, stopped: bool, agent: str, log: str) -> None:
    turn = Turn("s", "t", 0)
    turn.parked = parked
    if stopped:
        turn.stop.set()
    assert turn.ended_by(agent) == log
