"""complaints.md class 4 (loops, cost, limits), what the model host has to do with it: real HTTP, the real SDK, the real retries.

Each test names the number it answers. The rest of the class is in tests/e2e/test_spending.py.
"""

from __future__ import annotations

import threading

import pytest
from thetis_kernel.models.fallback import Falling
from thetis_kernel.models.retry import Policy, Retrying
from thetis_kernel.protocol.models import Counted, ModelRequest, StreamItem, Waiting
from thetis_kernel.protocol.spending import Usage

from tests.support.messages_server import PING, Answer, MessagesServer, cut, error, failing, reply, silent, text
from tests.support.providers import REQUEST, ask, backend, last, said, words
from tests.unit.models.test_retry import Clock

WHOLE = reply(text("Some words of it."), size=6)
FIRST = Usage(11, 1, 7, 5)
"""What the first frame of the scripted server says."""


def retrying(server: MessagesServer, idle: float = 20.0, tries: int = 6) -> tuple[Retrying, Clock]:
    clock = Clock()
    return Retrying(backend(server.url, idle), Policy(tries=tries), clock.wait, lambda: 0.0), clock


def spent(items: list[StreamItem]) -> list[Usage]:
    """The tokens of each try, as the gateway counts them: the last count before a wait, then the end's."""
    tries, counted = [], Usage()
    for item in items:
        if isinstance(item, Counted):
            counted = item.usage
        elif isinstance(item, Waiting):
            tries += [counted] if counted.total else []
            counted = Usage()
    return [*tries, last(items).usage]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_54_a_request_that_can_never_succeed_is_sent_once(status: int) -> None:
    """54: resending a request that can never succeed."""
    with MessagesServer(error(status)) as server:
        asked, clock = retrying(server)
        assert last(ask(asked)).end in ("bad-request", "auth", "context-overflow")
        assert len(server.requests) == 1 and not clock.waits


def test_56_the_number_the_server_says_is_obeyed_and_the_reply_comes() -> None:
    """56: "try again in 17 s" but retried after 3 s, then gave up."""
    with MessagesServer() as server:
        server.say(error(429, retry_after="17"), error(429, retry_after="17"), WHOLE)
        asked, clock = retrying(server)
        items = ask(asked)
    assert words(items) == "Some words of it." and last(items).end == "stop"
    assert sum(clock.waits) == 34 and [item.delay_ms for item in items if isinstance(item, Waiting)][:2] == [17_000, 16_000]


@pytest.mark.parametrize("limit", [
    error(429, retry_after="80000"), error(429, words="You exceeded your daily quota"), error(429, words="requests per day: 50"),
])
def test_58_a_daily_limit_is_not_waited_for(limit: Answer) -> None:
    """58: daily quota retried for ever / model switched ten times."""
    with MessagesServer(limit) as server:
        asked, clock = retrying(server)
        assert last(ask(asked)).end == "rate-limited" and len(server.requests) == 1 and not clock.waits


def test_58_another_model_is_asked_once_and_it_is_told() -> None:
    """58: switch once, visibly; when that one cannot answer either, that is the end."""
    with MessagesServer(error(429, retry_after="80000")) as server:
        asked, _ = retrying(server)
        items = ask(Falling(asked, "other", lambda: backend(server.url, name="wire-other")))
    assert [request.told["model"] for request in server.requests] == ["wire-sonnet", "wire-other"]
    assert ["Asking other instead" in item.reason for item in items if isinstance(item, Waiting)] == [True]


def test_60_silence_is_given_up_and_asked_again_and_pings_are_life() -> None:
    """60: a stream that goes silent for ever; CC 2.1.222: pings not counted."""
    alive = Answer(tuple(part for piece in WHOLE.pieces[:3] for part in ("pause:0.25", PING, piece)) + WHOLE.pieces[3:])
    with MessagesServer() as server:
        server.say(silent(WHOLE, 4), alive)
        asked, _ = retrying(server, idle=0.4)
        items = ask(asked)
    assert last(items).end == "stop" and len(server.requests) == 2
    assert "said nothing for" in next(item.reason for item in items if isinstance(item, Waiting))


def test_61_the_final_frame_counts_once() -> None:
    """61: tokens counted twice: first and last frame are cumulative, their sum is not what was used."""
    with MessagesServer(WHOLE) as server:
        items = ask(retrying(server)[0])
    assert spent(items) == [Usage(11, 23, 7, 5)]


@pytest.mark.parametrize("broken", [cut(WHOLE, 5), failing(WHOLE, 5, "overloaded_error")])
def test_61_a_try_that_broke_off_counts_as_far_as_the_provider_told(broken: Answer) -> None:
    """61: tokens not counted at all when a stream breaks early."""
    with MessagesServer() as server:
        server.say(broken, cut(WHOLE, 0), error(529), WHOLE)
        items = ask(retrying(server)[0])
    first, final = spent(items)
    assert (first.input, first.cache_read, first.cache_write) == (11, 7, 5) and first.output >= 1 and first.estimated
    assert final == Usage(11, 23, 7, 5)


def test_61_a_model_that_was_given_up_for_another_is_counted_too() -> None:
    with MessagesServer() as server:
        server.say(failing(WHOLE, 5, "overloaded_error"), WHOLE)
        items = ask(Falling(retrying(server, tries=1)[0], "other", lambda: backend(server.url)))
    counted = [item for item in items if isinstance(item, Counted)]
    assert [usage.input for usage in spent(items)] == [11, 11] and counted[0].model == "sonnet"


def test_61_a_stop_in_a_countdown_loses_no_count() -> None:
    with MessagesServer(cut(WHOLE, 5)) as server:
        clock = Clock(stop_at=1)
        items = ask(Retrying(backend(server.url), Policy(), clock.wait, lambda: 0.0))
    assert last(items).end == "cancelled" and spent(items)[0].input == 11 and not last(items).usage.total


def test_62_what_is_offered_before_the_conversation_is_byte_for_byte_the_same() -> None:
    """62: loading tools rewrote the whole prompt cache: what is before the history never changes, and its marks stay."""
    longer = ModelRequest(model="sonnet", system=REQUEST.system, tools=REQUEST.tools, messages=[
        said("hello"), {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]}, said("more")])
    with MessagesServer(WHOLE) as server:
        ask(backend(server.url))
        ask(backend(server.url), longer)
    first, second = server.requests
    assert first.told["tools"] == second.told["tools"] and first.told["system"] == second.told["system"]
    assert second.messages[:1] == first.messages and "cache_control" in first.told["system"][0]


def test_57_a_rate_limit_pauses_and_can_be_stopped() -> None:
    """57: a rate limit quits the program: here it is a pause that is told, counted down, and can be ended at any second."""
    with MessagesServer(error(429, retry_after="30")) as server:
        clock = Clock(stop_at=3)
        items = ask(Retrying(backend(server.url), Policy(), clock.wait, lambda: 0.0), cancel=threading.Event())
    assert last(items).end == "cancelled" and len([item for item in items if isinstance(item, Waiting)]) == 3
    assert len(server.requests) == 1
