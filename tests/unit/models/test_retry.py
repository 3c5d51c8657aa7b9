"""Asking again: what is, how long in between, told while it lasts, stopped at once; and another model instead."""

from __future__ import annotations

import threading

import msgspec
import pytest
from thetis_kernel.models.fallback import Falling
from thetis_kernel.models.retry import Policy, Retrying
from thetis_kernel.models.stream import Received
from thetis_kernel.protocol.models import Finished, StreamItem, TextDelta, ThinkingDelta, Waiting

from tests.support.providers import REQUEST, Sequence, ask, last, said

BUSY = Finished(end="overloaded", blocks=[], detail="Busy.", retry=True)
DONE = Finished(end="stop", blocks=[{"type": "text", "text": "done"}])


class Clock:
    """Waits that take no time; `stop_at` sets the event in that wait."""

    def __init__(self, stop_at: int = 0) -> None:
        self.waits: list[float] = []
        self._stop_at = stop_at

    def wait(self, cancel: threading.Event, seconds: float) -> bool:
        self.waits.append(seconds)
        if len(self.waits) == self._stop_at:
            cancel.set()
        return cancel.is_set()


def retrying(*streams: list[StreamItem], chance: float = 1.0, policy: Policy | None = None,
             stop_at: int = 0) -> tuple[Retrying, Sequence, Clock]:
    backend, clock = Sequence(*streams), Clock(stop_at)
    return Retrying(backend, policy or Policy(), clock.wait, lambda: chance), backend, clock


def delays(items: list[StreamItem]) -> list[int]:
    return [item.delay_ms for item in items if isinstance(item, Waiting)]


def test_a_good_reply_is_asked_for_once() -> None:
    asked, backend, clock = retrying([TextDelta("done"), DONE])
    assert ask(asked) == [TextDelta("done"), DONE] and len(backend.requests) == 1 and not clock.waits


def test_it_asks_again_with_the_same_request_until_it_is_answered() -> None:
    asked, backend, _ = retrying([BUSY], [BUSY], [DONE])
    items = ask(asked)
    assert last(items) == DONE and delays(items) == [500, 1000]
    assert all(request is REQUEST for request in backend.requests) and len(backend.requests) == 3
    assert [item.attempt for item in items if isinstance(item, Waiting)] == [1, 2]


@pytest.mark.parametrize("end", ["auth", "bad-request", "context-overflow", "rate-limited", "transport", "refusal", "cancelled"])
def test_what_is_permanent_is_never_asked_again(end: str) -> None:
    final = Finished(end=end, blocks=[], detail="No.", retry_after_ms=10**8)  # type: ignore[arg-type]
    asked, backend, clock = retrying([final])
    assert ask(asked) == [final] and len(backend.requests) == 1 and not clock.waits


def test_the_pause_doubles_is_half_random_and_has_a_floor_and_a_ceiling() -> None:
    policy = Policy(tries=9)
    for chance, expected in ((1.0, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]),
                             (0.0, [250, 500, 1000, 2000, 4000, 8000, 15000, 15000])):
        asked, _, clock = retrying(*[[BUSY]] * 9, chance=chance, policy=policy)
        items = ask(asked)
        firsts = [group[0] for group in _by_attempt(items)]
        assert firsts == expected and sum(clock.waits) * 1000 == pytest.approx(sum(expected))
        assert last(items).end == "overloaded" and "Tried 9 times" in last(items).detail


def _by_attempt(items: list[StreamItem]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for item in items:
        if isinstance(item, Waiting):
            groups.setdefault(item.attempt, []).append(item.delay_ms)
    return list(groups.values())


def test_the_time_a_provider_names_is_kept_and_counted_down() -> None:
    asked, _, clock = retrying([Finished(end="rate-limited", blocks=[], detail="Slow.", retry=True, retry_after_ms=3000)], [DONE],
                               chance=0.5)
    items = ask(asked)
    assert delays(items) == [3250, 3000, 2000, 1000] and clock.waits == [0.25, 1.0, 1.0, 1.0]


def test_a_time_nobody_waits_for_ends_it() -> None:
    long = Finished(end="rate-limited", blocks=[], detail="Tomorrow.", retry=True, retry_after_ms=400_000)
    asked, backend, clock = retrying([long])
    assert last(ask(asked)).end == "rate-limited" and len(backend.requests) == 1 and not clock.waits


@pytest.mark.parametrize("stop_at", [1, 2, 4])
def test_it_can_be_stopped_in_any_second_of_the_wait(stop_at: int) -> None:
    partial = [{"type": "text", "text": "half"}]
    slow = Finished(end="rate-limited", blocks=partial, detail="Slow.", retry=True, retry_after_ms=5000)
    asked, backend, clock = retrying([TextDelta("half"), slow], stop_at=stop_at)
    end = last(ask(asked))
    assert end.end == "cancelled" and end.blocks == partial
    assert len(backend.requests) == 1 and len(clock.waits) == stop_at


def test_the_longest_piece_is_kept_when_no_try_succeeds() -> None:
    piece = [{"type": "text", "text": "a good part of it"}]
    broke = Finished(end="transport", blocks=piece, detail="Broke.", retry=True)
    asked, _, _ = retrying([TextDelta("a good part of it"), broke], [BUSY], policy=Policy(tries=2))
    assert last(ask(asked)).blocks == piece and last(ask(retrying([broke], [DONE])[0])) == DONE


def test_a_reply_starts_over_only_when_something_new_comes() -> None:
    received = Received()
    for item in (TextDelta("old"), Waiting(1, "x")):
        received.take(item)
    assert received.blocks() == [{"type": "text", "text": "old"}]
    received.take(ThinkingDelta("hm"))
    received.take(TextDelta("new"))
    assert received.blocks() == [{"type": "text", "text": "new"}]


# -- another model

def test_another_model_is_asked_once_and_told_of() -> None:
    first = Sequence([TextDelta("ha"), Finished(end="overloaded", blocks=[], detail="Busy.")])
    second = Sequence([TextDelta("done"), DONE])
    thinking = {"type": "thinking", "thinking": "t", "signature": "s"}
    thought = {"role": "assistant", "content": [thinking, {"type": "text", "text": "a"}]}
    request = msgspec.structs.replace(REQUEST, messages=[said("a"), thought, said("b")])
    items = ask(Falling(first, "other", lambda: second), request)
    assert [item.reason for item in items if isinstance(item, Waiting)] == ["Busy. Asking other instead."] and last(items) == DONE
    assert second.requests[0].model == "other" and second.requests[0].messages[1]["content"] == [{"type": "text", "text": "a"}]


@pytest.mark.parametrize("end", ["stop", "tool-use", "auth", "bad-request", "context-overflow", "cancelled", "refusal"])
def test_another_model_is_not_asked_for_what_is_ours_to_mend(end: str) -> None:
    final = Finished(end=end, blocks=[])  # type: ignore[arg-type]
    other = Sequence()
    assert ask(Falling(Sequence([final]), "other", lambda: other)) == [final] and not other.requests


def test_when_both_cannot_both_are_named() -> None:
    broke = Finished(end="transport", blocks=[{"type": "text", "text": "half"}], detail="Broke.")
    end = last(ask(Falling(Sequence([broke]), "other", lambda: Sequence([BUSY]))))
    assert "Broke." in end.detail and "other" in end.detail and "Busy." in end.detail and end.blocks == broke.blocks


def test_a_stopped_reply_asks_nobody_else() -> None:
    cancel = threading.Event()
    cancel.set()
    other = Sequence()
    ask(Falling(Sequence([BUSY]), "other", lambda: other), REQUEST, cancel)
    assert not other.requests
