"""Turns of the gateway over a real log: words get exactly one turn, and a turn its end, whatever is cut or fails in between."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.config.settings import Settings
from thetis_kernel.errors import ChildError, StoreFull, ThetisError
from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.turns import Turn, Turns
from thetis_kernel.protocol.events import (
    Assistant,
    Body,
    Event,
    SessionStarted,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    TurnStarted,
    User,
)
from thetis_kernel.protocol.ids import new_event_id, new_session_id
from thetis_kernel.protocol.worker import TurnOutcome
from thetis_kernel.store.folds import SessionState
from thetis_kernel.store.store import Store


class Repository:
    """Commits nothing, or fails as told."""

    def __init__(self) -> None:
        self.failure: Exception | None = None

    async def commit_turn(self, session: str, turn: str) -> None:
        if self.failure is not None:
            raise self.failure


class Indifferent:
    """A part that takes everything and says no."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def nothing(*_: object) -> bool:
            return False

        return nothing


class Short(Turns):
    """Turns whose agent has nothing to do, or fails as told."""

    def __init__(self, log: Log) -> None:
        self.repository = Repository()
        parts: Any = {name: Indifferent() for name in inspect.signature(Turns).parameters}
        parts |= {"models": One(), "log": log, "repository": self.repository, "settings": Settings(), "changed": lambda _: None}
        super().__init__(**parts)
        self.failure: Exception | None = None

    async def _work(self, turn: Turn) -> TurnOutcome:
        if self.failure is not None:
            raise self.failure
        return TurnOutcome(stopped_by="stop")


class One:
    """The model relay of a gateway with one model, which no test here asks."""

    async def model_of(self, state: SessionState) -> str:
        return state.model


class Calling(Short):
    """An agent that leaves a call open."""

    async def _work(self, turn: Turn) -> TurnOutcome:
        await self._log.append(
            turn.session, Assistant(blocks=[{"type": "tool_use", "id": "c1", "name": "run", "input": {}}], turn=turn.id)
        )
        await self._log.append(
            turn.session, ToolInvocation(call="c1", name="run", args={}, op="terminal.run", mutating=True, turn=turn.id)
        )
        return await super()._work(turn)


class Home:
    """A log with one conversation."""

    def __init__(self, store: Store) -> None:
        self.log = Log(store, Broadcast())
        self.session = new_session_id()
        store.create(self.session, SessionStarted(root="/r", origin="tui", mode="agent", model="m", branch="conv/x"))

    def bodies(self, kind: type[Body]) -> list[Any]:
        return [event.body for event in self.log.store.read(self.session) if isinstance(event.body, kind)]

    def after(self, happens: Callable[[], None], kind: type[Body]) -> None:
        """Call `happens` once an event of the kind is durable, before whoever appended it goes on."""
        append = self.log.append

        async def cut(session: str, body: Body, *, event_id: str = "") -> Event:
            event = await append(session, body, event_id=event_id)
            if isinstance(body, kind):
                happens()
            return event

        self.log.append = cut  # type: ignore[method-assign]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    store = Store.open(tmp_path / "data")
    yield Home(store)
    store.close()


async def say(turns: Turns, home: Home, event_id: str) -> None:
    await turns.submit(home.session, "hello", event_id, False)
    async with asyncio.timeout(20):
        await turns.wait_idle(home.session)


async def test_words_whose_kernel_died_before_their_turn_get_one_when_said_again(home: Home) -> None:
    identifier = new_event_id()
    await home.log.append(home.session, User(text="hello"), event_id=identifier)  # and then nothing
    assert (await home.log.state(home.session)).state == "interrupted"
    turns = Short(home.log)
    for _ in range(3):
        await say(turns, home, identifier)
    assert len(home.bodies(User)) == 1 and [end.stopped_by for end in home.bodies(TurnFinished)] == ["stop"]


async def test_words_without_a_turn_can_be_resumed_once(home: Home) -> None:
    await home.log.append(home.session, User(text="hello"))
    turns = Short(home.log)
    assert await turns.resume(home.session)
    await turns.wait_idle(home.session)
    assert not await turns.resume(home.session)
    assert len(home.bodies(TurnStarted)) == len(home.bodies(TurnFinished)) == 1


async def test_no_turn_begins_once_closing_has_begun(home: Home) -> None:
    """`drained` sees no turn while the words are on their way to the disk, and so the gateway closes under them."""
    identifier, closing = new_event_id(), Short(home.log)

    def close() -> None:
        closing.closing = True

    home.after(close, User)
    with pytest.raises(ThetisError) as refused:
        await closing.submit(home.session, "hello", identifier, False)
    assert refused.value.code == "closing" and not home.bodies(TurnStarted)
    await say(Short(home.log), home, identifier)
    assert len(home.bodies(User)) == 1 and len(home.bodies(TurnFinished)) == 1


@pytest.mark.parametrize("failure", [RuntimeError("a bug"), ChildError("no git host")], ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("where", ["work", "commit"])
async def test_a_turn_that_fails_in_any_way_has_its_end(home: Home, failure: Exception, where: str) -> None:
    turns = Short(home.log)
    if where == "work":
        turns.failure = failure
    else:
        turns.repository.failure = failure
    await say(turns, home, new_event_id())
    [end] = home.bodies(TurnFinished)
    assert where == "commit" or (end.stopped_by == "error" and end.detail)
    turns.failure = turns.repository.failure = None
    await say(turns, home, new_event_id())
    started = Counter(turn.turn for turn in home.bodies(TurnStarted))
    assert started == Counter(turn.turn for turn in home.bodies(TurnFinished)) and len(started) == 2
    assert home.bodies(TurnFinished)[-1].stopped_by == "stop"


async def test_a_turn_that_could_not_begin_leaves_words_that_can_be_resumed(home: Home) -> None:
    turns, append = Short(home.log), home.log.append

    async def full(session: str, body: Body, *, event_id: str = "") -> Event:
        if isinstance(body, TurnStarted):
            raise StoreFull("no space")
        return await append(session, body, event_id=event_id)

    home.log.append = full  # type: ignore[method-assign]
    await say(turns, home, new_event_id())
    assert not home.bodies(TurnStarted) and not home.bodies(TurnFinished)
    home.log.append = append  # type: ignore[method-assign]
    assert await turns.resume(home.session)
    await turns.wait_idle(home.session)
    assert [end.stopped_by for end in home.bodies(TurnFinished)] == ["stop"]


async def test_the_end_of_a_turn_looks_no_further_back_than_its_beginning(home: Home) -> None:
    """Else every turn would cost more than the one before it."""
    turns, store = Short(home.log), home.log.store
    for _ in range(5):
        await say(turns, home, new_event_id())
    looked, iterate = [0], store.iterate

    def counting(session: str, *, live: bool = False, after: int = 0) -> Iterator[Event]:
        for event in iterate(session, live=live, after=after):
            looked[0] += 1
            yield event

    store.iterate = counting  # type: ignore[method-assign]
    await home.log.append(home.session, User(text="once more"))
    assert await turns.resume(home.session)
    await turns.wait_idle(home.session)
    assert 0 < looked[0] <= 2


async def test_what_a_turn_left_open_is_answered_at_its_end(home: Home) -> None:
    turns = Calling(home.log)
    await say(turns, home, new_event_id())
    [result] = home.bodies(ToolResult)
    assert (result.call, result.outcome) == ("c1", "interrupted")
