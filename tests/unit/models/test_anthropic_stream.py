"""The provider through the real SDK and real HTTP: every failure at every position, stops, silence, what goes over the wire."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from thetis_kernel.models.retry import Policy, Retrying
from thetis_kernel.protocol.models import TextDelta

from tests.support.messages_server import (
    PING,
    UNKNOWN,
    Answer,
    MessagesServer,
    call,
    chopped,
    cut,
    error,
    failing,
    message,
    mixed,
    page,
    reply,
    silent,
    spaced,
    text,
    thinking,
)
from tests.support.providers import KEY, REQUEST, ask, backend, last, words

BLOCKS = [thinking("hm, 🤔", "sig+/=="), text("Grüße 🎈 to you"), call("a", "list", path="ü"), call("b", "list")]
WHOLE = reply(*BLOCKS, size=9)
EVENTS = len(WHOLE.pieces)


@pytest.fixture(scope="module")
def shared() -> Iterator[MessagesServer]:
    with MessagesServer() as server:
        yield server


@pytest.fixture
def server(shared: MessagesServer) -> MessagesServer:
    shared.requests.clear()
    return shared


@pytest.mark.parametrize("answer", [WHOLE, chopped(WHOLE), chopped(WHOLE, 3), mixed(WHOLE, UNKNOWN + PING)])
def test_a_whole_reply(server: MessagesServer, answer: Answer) -> None:
    server.say(answer)
    items = ask(backend(server.url))
    end = last(items)
    assert (end.end, end.blocks, end.model) == ("tool-use", BLOCKS, "sonnet") and words(items) == "Grüße 🎈 to you"
    assert (end.usage.input, end.usage.output, end.usage.cache_read, end.usage.cache_write) == (11, 23, 7, 5)
    assert not end.usage.estimated


@pytest.mark.parametrize("count", range(1, 9))
def test_parallel_calls(server: MessagesServer, count: int) -> None:
    calls = [call(f"t{n}", "list", path=f"d{n}") for n in range(count)]
    server.say(reply(*calls, size=3))
    assert last(ask(backend(server.url))).blocks == calls


@pytest.mark.parametrize(("stop", "end"), [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "max-tokens"),
                                           ("refusal", "refusal"), ("model_context_window_exceeded", "context-overflow"),
                                           ("tool_use", "stop"), ("a_new_reason", "stop")])
def test_how_it_stopped(server: MessagesServer, stop: str, end: str) -> None:
    server.say(reply(text("hi"), stop=stop))
    assert last(ask(backend(server.url))).end == end


def test_a_server_that_says_end_turn_after_a_call(server: MessagesServer) -> None:
    server.say(reply(call("a", "list"), stop="end_turn"))
    assert last(ask(backend(server.url))).end == "tool-use"


FAILURES: dict[str, Callable[[int], Answer]] = {
    "cut": lambda at: cut(WHOLE, at),
    "overloaded": lambda at: failing(WHOLE, at, "overloaded_error"),
    "rate limit": lambda at: failing(WHOLE, at, "rate_limit_error"),
    "its end": lambda at: Answer(WHOLE.pieces[:at] or (PING,)),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_every_failure_at_every_position_keeps_a_prefix_and_may_be_asked_again(server: MessagesServer, kind: str) -> None:
    asked = backend(server.url)
    for at in range(EVENTS - 2):  # after the last but one everything has been said
        server.say(FAILURES[kind](at))
        end = last(ask(asked))
        assert end.end in ("transport", "overloaded", "rate-limited") and end.retry and end.detail, (kind, at)
        for block in end.blocks:
            whole = next(w for w in BLOCKS if w["type"] == block["type"] and w.get("id") == block.get("id"))
            assert block == whole or (block["type"] == "text" and whole["text"].startswith(block["text"])), (kind, at)
        assert end.usage.estimated == bool(end.blocks), (kind, at)


def test_the_end_of_the_stream_need_not_be_said_twice(server: MessagesServer) -> None:
    server.say(Answer(WHOLE.pieces[:-1]))
    assert last(ask(backend(server.url))).blocks == BLOCKS


@pytest.mark.parametrize("at", [0, 1, 6])
def test_silence_is_given_up_and_asked_again(server: MessagesServer, at: int) -> None:
    server.say(silent(WHOLE, at), WHOLE)
    asked = Retrying(backend(server.url, idle=0.3), Policy(tries=2), lambda cancel, seconds: False)
    items = ask(asked)
    assert last(items).blocks == BLOCKS and "said nothing for 0.3 s" in str(items)


def test_pings_and_slow_bytes_are_life(server: MessagesServer) -> None:
    server.say(spaced(WHOLE, 0.06, PING))
    assert last(ask(backend(server.url, idle=0.5))).blocks == BLOCKS  # about a second in all


@pytest.mark.parametrize("answer", [silent(WHOLE, 0), silent(WHOLE, 1), silent(WHOLE, 8), spaced(WHOLE, 5.0)])
def test_a_stop_is_at_once_wherever_it_waits(server: MessagesServer, answer: Answer) -> None:
    server.say(answer)
    cancel = threading.Event()
    ended: list[str] = []
    thread = threading.Thread(target=lambda: ended.append(last(ask(backend(server.url), cancel=cancel)).end))
    thread.start()
    server.wait_for(1)
    cancel.set()
    thread.join(2)
    assert ended == ["cancelled"]


@pytest.mark.parametrize("usage", [{}, {"input_tokens": -1, "output_tokens": "many"}, {"input_tokens": None}])
def test_usage_is_estimated_where_none_can_be_read(server: MessagesServer, usage: dict[str, object]) -> None:
    server.say(Answer(tuple(piece for piece in message(text("hello there, you"), usage=usage or None, output=-1)
                            if b"message_start" not in piece or usage)))
    used = last(ask(backend(server.url))).usage
    assert used.estimated and used.input > 20 and used.output > 3


@pytest.mark.parametrize(("answer", "end"), [
    (error(401), "auth"), (error(404, words="model: wire-sonnet"), "bad-request"), (page(404, "<p>no"), "bad-request"),
    (page(200, "<p>hello"), "bad-request"), (page(302, "", location="http://elsewhere/"), "bad-request"),
    (error(500), "transport"),
    (error(529), "overloaded"), (error(429, retry_after="7"), "rate-limited"), (error(400, words="prompt is too long"),
     "context-overflow"), (Answer((b"{",), 500, {"content-type": "application/json"}), "transport"),
])
def test_answers_that_are_no_stream(server: MessagesServer, answer: Answer, end: str) -> None:
    server.say(answer)
    got = last(ask(backend(server.url)))
    assert got.end == end and got.detail and not got.blocks and got.usage.input == 0
    assert got.retry_after_ms == (7000 if end == "rate-limited" else 0)
    assert len(server.requests) == 1, "the SDK's own retries and redirects are off"


def test_a_key_a_provider_repeats_is_not_told(server: MessagesServer) -> None:
    server.say(error(401, words=f"invalid key {KEY}"))
    assert "[key]" in last(ask(backend(server.url))).detail


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense", "http://127.0.0.1:99999", "http://[::1", ""])
def test_an_address_where_nothing_is(url: str) -> None:
    end = last(ask(backend(url)))
    assert end.end in ("transport", "bad-request") and not end.retry and "base_url" in end.detail, end


def test_a_retry_sends_the_same_bytes(server: MessagesServer) -> None:
    server.say(error(529), cut(WHOLE, 8), error(429, retry_after="1"), WHOLE)
    items = ask(Retrying(backend(server.url), Policy(), lambda cancel, seconds: False))
    assert last(items).blocks == BLOCKS and len(server.requests) == 4
    assert len({request.raw for request in server.requests}) == 1
    assert [item for item in items if isinstance(item, TextDelta)]


@pytest.mark.parametrize(("key", "auth", "sent"), [
    (KEY, "x-api-key", {"x-api-key": KEY}), (KEY, "bearer", {"authorization": f"Bearer {KEY}"}), ("", "x-api-key", {}),
    ("", "bearer", {}),
])
def test_the_key_travels_in_one_header_or_in_none(server: MessagesServer, key: str, auth: str, sent: dict[str, str],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of-the-environment")
    assert last(ask(backend(server.url, key=key, auth=auth))).end == "stop"
    headers = server.requests[0].headers
    assert {name: headers[name] for name in ("x-api-key", "authorization") if name in headers} == sent
    assert "environment" not in str(headers)


def test_what_fails_inside_is_not_asked_again(server: MessagesServer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = backend(server.url)
    monkeypatch.setattr("thetis_kernel.models.anthropic.backend.body", lambda *_: 1 / 0)
    end = last(ask(asked))
    assert end.end == "transport" and not end.retry and "ZeroDivisionError" in end.detail


def test_a_long_history_is_not_walked_by_the_sdk(server: MessagesServer) -> None:
    """`messages.create` checks every block of the history against its types: seconds of CPU a request for a long one."""
    assert last(ask(backend(server.url))).end == "stop"
    assert "anthropic._client" in sys.modules and "anthropic.resources.messages" not in sys.modules, "it is not even loaded"


def test_what_goes_over_the_wire(server: MessagesServer) -> None:
    ask(backend(server.url))
    [request] = server.requests
    assert request.path == "/v1/messages" and request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01" and "authorization" not in request.headers
    assert request.told["model"] == "wire-sonnet" and request.messages == REQUEST.messages
