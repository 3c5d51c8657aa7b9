"""What a conversation costs and what stops it, through every process: complaints.md class 4, each number by name.

The parts that concern the model host alone are in tests/unit/models/test_complaints_class_4.py. Children (52, 53) share
their parent's conversation budget; they are tested where they are built.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_real_models import connect, follow
from tests.support.history import check
from tests.support.messages_server import MessagesServer, call, cut, error, failing, reply, silent, text
from tests.support.thetis import World, answer, kinds, lines

pytestmark = pytest.mark.runtimes
WHOLE = reply(text("Some words of it."), size=6)
ONE = "0.0002652"
"""Dollars of one reply of the scripted server at the default model: 11 input, 7 read, 5 written, 23 output tokens."""


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as made:
        yield made


@pytest.fixture
def world(tmp_path: Path, server: MessagesServer) -> World:
    made = World(tmp_path)
    made.make_repository({"a.txt": "alpha\n"})
    connect(made, server.url)
    return made


def limit(world: World, server: MessagesServer, words: str, more: str = "") -> None:
    connect(world, server.url, f"{more}\n[agent]\n{words}\n")


def body(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["body"] for event in events if event["kind"] == kind]


def test_61_usage_is_told_once_by_turn_conversation_and_model(world: World, server: MessagesServer) -> None:
    """61: tokens counted twice or not at all; and every place that shows them says the same."""
    server.say(reply(text("Reading."), call("c", "read", path="a.txt")))
    done = world.run("run", "go")
    assert "spent: 46 tokens in, 46 out, $0.0005" in done.stderr
    session = done.stderr.partition("conversation ")[2].partition(";")[0]
    log = world.log(session)
    first, second = body(log, "assistant")
    assert first["cost"] == second["cost"] == ONE
    assert first["usage"] == {"input": 11, "output": 23, "cache_read": 7, "cache_write": 5}
    end = body(log, "turn-finished")[0]
    assert end["usage"]["output"] == 46 and end["spent"]["cost"] == "0.0005304" and "unpriced" not in end["spent"]
    again = world.run("run", "--conversation", session, "more")
    assert "spent: 23 tokens in, 23 out, $0.0003 (this conversation: 69 tokens in, 69 out, $0.0008)" in again.stderr
    assert "$0.0008" in world.run("ls").stdout
    assert "[spent] claude-sonnet-5-5: 3 calls, 69 tokens in, 69 out, $0.0008" in world.run("show", session).stdout


def test_61_abandoned_tries_are_counted_apart_from_the_reply(world: World, server: MessagesServer) -> None:
    """61: a stream that breaks early: what the provider told of it is spent, and no reply carries it twice."""
    server.say(cut(WHOLE, 5), error(529), WHOLE)
    events = world.events("go")
    (abandoned,) = body(events, "spending")
    assert abandoned["why"] == "abandoned" and abandoned["usage"]["input"] == 11 and abandoned["usage"]["cache_read"] == 7
    (replied,) = body(events, "assistant")
    assert replied["usage"]["output"] == 23
    spent = body(events, "turn-finished")[0]["spent"]
    assert spent["calls"] == 2 and spent["input"] == 22 and spent["estimated"]
    follow(server)


def test_61_a_reply_with_nothing_to_keep_is_counted(world: World, server: MessagesServer) -> None:
    server.say(failing(WHOLE, 2, "invalid_request_error", "no"))
    events = lines(world.run("run", "--json", "go", check=False).stdout)
    assert "assistant" not in kinds(events) and body(events, "spending")[0]["usage"]["input"] == 11
    assert body(events, "turn-finished")[0]["spent"]["input"] == 11


def test_61_a_stopped_reply_is_counted(world: World, server: MessagesServer) -> None:
    server.say(silent(WHOLE, 5))
    with world.started("run", "--json", "go") as child:
        server.wait_for(1)
        seen = ""
        while child.stdout is not None and "turn-started" not in seen:
            seen += child.stdout.readline()
        child.send_signal(2)
        out, _ = child.communicate(timeout=30)
    events = lines(seen + out)
    counted = [*body(events, "assistant"), *body(events, "spending")]
    assert [one["usage"]["input"] for one in counted if one.get("usage")] in ([11], []), "once, or it never began"
    check(server.requests[0].messages)


@pytest.mark.parametrize(("words", "said"), [
    ("max_dollars = 0.0005", "agent.max_dollars"),
    pytest.param("max_tokens = 90", "agent.max_tokens", marks=pytest.mark.slow),
    pytest.param("max_conversation_tokens = 90", "agent.max_conversation_tokens", marks=pytest.mark.slow),
])
def test_52_53_a_cap_stops_before_the_next_call(world: World, server: MessagesServer, words: str, said: str) -> None:
    """52, 53: loops that eat an allowance; a cap that does not stop. The call that would pass it is not made."""
    limit(world, server, words)
    server.otherwise = reply(text("Again."), call("c", "read", path="a.txt"))
    done = world.run("run", "--json", "go", check=False)
    events = lines(done.stdout)
    end = body(events, "turn-finished")[0]
    assert done.returncode == 1 and end["stopped_by"] == "limit" and said in end["detail"], end
    assert len(server.requests) == 2, "two calls were below the limit, the third would not have been"
    assert len(body(events, "tool-result")) == 2, "what the last reply asked for was still answered"


def test_a_conversation_at_its_cap_asks_nobody_and_says_why(world: World, server: MessagesServer) -> None:
    limit(world, server, "max_conversation_dollars = 0.0002")
    events = world.events("go")
    assert answer(events) == "All right."
    done = world.run("run", "--conversation", events[0]["session"], "more", check=False)
    assert "$0.0003 of the $0.0002 it may (agent.max_conversation_dollars)" in done.stderr and len(server.requests) == 1
    limit(world, server, "max_conversation_dollars = 1")
    assert answer(world.events("--conversation", events[0]["session"], "more")) == "All right."
    check(server.requests[-1].messages)


def test_a_model_without_a_price_is_said_to_have_none(world: World, server: MessagesServer) -> None:
    """An unknown price is never 0: it is said, and a limit in dollars does not pretend to hold."""
    local = f'[[providers]]\nname = "local"\nbase_url = "{server.url}"\n[[models]]\nid = "smol"\nprovider = "local"\n'
    limit(world, server, "", local)
    done = world.run("run", "--model", "smol", "go")
    assert "price unknown" in done.stderr and "$" not in done.stderr.partition("spent:")[2].partition("\n")[0]
    limit(world, server, "max_dollars = 5", local)
    refused = world.run("run", "--model", "smol", "go", check=False)
    assert "cannot be kept: the price of smol is not known" in refused.stderr and len(server.requests) == 1
    free = "".join(f"price_{what} = 0\n" for what in ("input", "output", "cache_read", "cache_write"))
    limit(world, server, "max_dollars = 5", local + free)
    assert "spent: 23 tokens in, 23 out, $0\n" in world.run("run", "--model", "smol", "go").stderr


@pytest.mark.slow  # the rule itself: tests/unit/config
def test_a_repository_cannot_raise_what_may_be_spent(world: World, server: MessagesServer) -> None:
    limit(world, server, "max_dollars = 0.0002")
    world.write({"thetis.toml": "[agent]\nmax_dollars = 1000\nmax_conversation_dollars = 1000\nmax_tokens = 9\n"})
    server.otherwise = reply(call("c", "read", path="a.txt"))
    done = world.run("run", "go", check=False)
    assert "agent.max_dollars" in done.stderr and "is ignored there" in done.stderr and len(server.requests) == 1


@pytest.mark.slow  # the pause itself: tests/unit/models/test_complaints_class_4.py
def test_57_a_rate_limit_ends_the_turn_not_the_conversation(world: World, server: MessagesServer) -> None:
    """57: a rate limit quits the program: the turn waits or ends with a sentence, and the conversation goes on."""
    server.say(error(429, retry_after="80000"))
    done = world.run("run", "--json", "first", check=False)
    events = lines(done.stdout)
    assert events[-1]["body"]["stopped_by"] == "model-error" and "in 22 h" in events[-1]["body"]["detail"]
    assert answer(world.events("--conversation", events[0]["session"], "second")) == "All right."
    check(server.requests[-1].messages)


def test_62_64_a_restart_sends_the_bytes_the_live_conversation_would_have_sent(world: World, server: MessagesServer) -> None:
    """62, 64: the cache is lost by a changed tool list or by resuming: each request, of a new process each time, begins with
    the bytes of the one before it."""
    for words in ("one", "two", "three"):
        server.say(reply(text("Reading."), call("c", "read", path="a.txt")), reply(text(f"Read for {words}.")))
    first = world.events("one")
    for words in ("two", "three"):
        world.events("--conversation", first[0]["session"], words)
    follow(server)
    told = [request.told for request in server.requests]
    assert len(told) == 6 and len({str(request["system"]) + str(request["tools"]) for request in told}) == 1
    for before, after in zip(server.requests, server.requests[1:], strict=False):
        assert after.messages[: len(before.messages) - 1] == before.messages[:-1]
