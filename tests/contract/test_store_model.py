"""The SQLite store against the model in memory: any sequence of operations, one outcome, across closing and crashing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test
from thetis_kernel.clock import FakeClock
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import User
from thetis_kernel.store import ledger
from thetis_kernel.store.store import Store

from tests.support.logs import bodies, keys, numbers, started, words
from tests.support.memory_store import MemoryStore


class StoreMachine(RuleBasedStateMachine):
    """Does everything to both and compares what comes out, errors by their codes."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.clock = FakeClock()
        self.real = self.open()
        self.model = MemoryStore(self.clock)
        self.ids = 0
        self.made = 0

    def open(self) -> Store:
        return Store.open(self.directory / "data", clock=self.clock, free=lambda: 0)

    def new_id(self) -> str:
        self.made += 1
        return f"{self.made * 0x1234567 % 2**32:08x}{self.made:08x}"

    def teardown(self) -> None:
        self.real.close()
        shutil.rmtree(self.directory)

    def both(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The same call on both; the answer, which must be the same, None when both refused alike."""
        real, model = (outcome(store, name, args, kwargs) for store in (self.real, self.model))
        assert real == model, name
        return None if isinstance(real, Refusal) else real

    @rule(target=sessions, origin=st.sampled_from(["tui", "discord"]))
    def create(self, origin: str) -> Any:
        session = self.new_id()
        self.both("create", session, started(origin=origin))
        return session

    @rule(target=sessions, parent=sessions, at=numbers, relation=st.sampled_from(["fork", "fork", "child"]))
    def descend(self, parent: str, at: int, relation: str) -> Any:
        session = self.new_id()
        made = self.both("create", session, started(parent=parent, parent_seq=at, relation=relation))
        return session if made else multiple()

    @rule(session=sessions, body=bodies, known=st.booleans())
    def append(self, session: str, body: Any, known: bool) -> None:
        self.clock.advance(0.5)
        self.ids += not known
        self.both("append", session, body, event_id=f"id-{self.ids}")

    @rule(session=sessions, group=st.lists(bodies, max_size=6))
    def append_many(self, session: str, group: list[Any]) -> None:
        pairs = []
        for body in group:
            self.ids += 1
            pairs.append((body, f"id-{self.ids}"))
        self.both("append_many", session, pairs)

    @rule(session=sessions, count=st.integers(60, 140))
    def append_a_run(self, session: str, count: int) -> None:
        """Enough to be sealed and indexed."""
        pairs = []
        for _ in range(count):
            self.ids += 1
            pairs.append((started_words(self.ids), f"id-{self.ids}"))
        self.both("append_many", session, pairs)

    @rule(session=sessions, body=bodies, lease=st.integers(0, 2), expected=numbers)
    def append_guarded(self, session: str, body: Any, lease: int, expected: int) -> None:
        self.ids += 1
        self.both("append", session, body, event_id=f"id-{self.ids}", lease=lease)
        self.ids += 1
        self.both("append", session, body, event_id=f"id-{self.ids}", expected_seq=expected)

    @rule(session=sessions)
    def take_lease(self, session: str) -> None:
        self.both("take_lease", session)

    @rule(session=sessions)
    def delete(self, session: str) -> None:
        self.both("delete", session)
        self.both("tombstone", session)

    @rule(scope=sessions, key=keys, value=st.sampled_from([b"1", b"2", None]))
    def kv(self, scope: str, key: str, value: bytes | None) -> None:
        self.both("kv_put", scope, key, value)
        self.both("kv_get", scope, key)

    @rule(session=sessions, after=numbers, limit=st.integers(1, 50), max_bytes=st.integers(1, 2000))
    def read(self, session: str, after: int, limit: int, max_bytes: int) -> None:
        self.both("read", session, after, limit, max_bytes)
        self.both("read_projected", session, after, max_bytes, limit)

    @rule(session=sessions, after=numbers)
    def read_whole(self, session: str, after: int) -> None:
        self.both("repairs", session, after=after)
        for name in ("read_projected", "state", "repairs", "session", "last_seq", "verify"):
            self.both(name, session)
        for live in (False, True):
            self.both("iterate", session, live=live, after=after)

    @rule(query=words, session=st.none() | sessions, limit=st.integers(1, 30))
    def search(self, query: str, session: str | None, limit: int) -> None:
        self.both("search", query, limit, session or "")

    @rule(session=sessions)
    def repair(self, session: str) -> None:
        owed = self.both("repairs", session)
        if owed is not None:
            self.both("append_many", session, [(body, f"repair-{self.ids}-{i}") for i, body in enumerate(owed)])
            assert self.both("repairs", session) == [] or owed == []
            self.ids += 1

    @rule()
    def reopen(self) -> None:
        self.real.close()
        self.real = self.open()

    @rule()
    def crash(self) -> None:
        """What is on disk at this moment, as after a kill, becomes the log."""
        copy = self.directory / "copy"
        shutil.copytree(self.directory / "data", copy)
        self.real.close()
        shutil.rmtree(self.directory / "data")
        copy.rename(self.directory / "data")
        self.real = self.open()
        assert self.real.notices == []

    @invariant()
    def lists_agree(self) -> None:
        self.both("sessions")


class Refusal:
    """A refusal, equal to any other with the same code."""

    def __init__(self, error: ThetisError) -> None:
        self.code = error.code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refusal) and self.code == other.code

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"refused: {self.code}"


def outcome(store: Any, name: str, args: Any, kwargs: Any) -> Any:
    """What a call gives, futures waited for."""
    try:
        answer = getattr(store, name)(*args, **kwargs)
        if isinstance(answer, Iterator):
            return list(answer)
        return answer.result(20) if isinstance(answer, Future) else answer
    except ThetisError as error:
        return Refusal(error)


def started_words(number: int) -> Any:
    """A user event of some words."""
    return User(text=f"alpha number {number} beta")


def run(examples: int, steps: int) -> None:
    """Run the machine that often, that long."""
    run_state_machine_as_test(
        StoreMachine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_the_store_does_what_the_model_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "INLINE_LIMIT", 150)  # so that ordinary bodies are spilled as well
    run(12, 25)


@pytest.mark.slow
def test_the_store_does_what_the_model_does_at_length() -> None:
    run(150, 60)
