"""`thetis run` on a provider: the console script, every process, the real SDK, real HTTP, and a server that can fail."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.history import check
from tests.support.messages_server import (
    PING,
    Answer,
    MessagesServer,
    call,
    chopped,
    cut,
    error,
    failing,
    page,
    reply,
    silent,
    text,
    thinking,
)
from tests.support.thetis import World, answer, kinds, lines

pytestmark = pytest.mark.runtimes
KEY = "sk-canary-7f3a9c"


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as made:
        yield made


@pytest.fixture
def world(tmp_path: Path, server: MessagesServer) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "# Harbour\n", "a.txt": "alpha\n", "b.txt": "beta\n"})
    connect(made, server.url)
    return made


def connect(world: World, url: str, more: str = "", idle: float = 20) -> None:
    """The person's configuration and key; a proxy that fails at once would show any other call."""
    config = world.base / "config.toml"
    config.write_text(f'[[providers]]\nname = "anthropic"\nbase_url = "{url}"\nkey = "env:OUR_KEY"\n'
                      f'idle_seconds = {idle}\n{more}')
    world.environ.update(THETIS_CONFIG=str(config), OUR_KEY=KEY, HTTP_PROXY="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9")


def follow(server: MessagesServer) -> None:
    """Every request is one the API takes, and each begins with the one before it."""
    before: list[dict[str, Any]] = []
    for request in server.requests:
        check(request.messages)
        assert len(str(request.told).split("cache_control")) - 1 <= 4
        shared = before[:-1] if before != request.messages else before
        assert request.messages[:len(shared)] == shared
        if before and request.messages != before:
            grown = request.messages[len(shared)]["content"]
            assert grown[:len(before[-1]["content"])] == before[-1]["content"] or _closing_words(before[-1])
        before = request.messages
    systems = {str(request.told["system"]) + str(request.told["tools"]) for request in server.requests}
    assert len(systems) <= 1, "system prompt and tools are the same bytes in every request"


def _closing_words(message: dict[str, Any]) -> bool:
    """Whether the message was closed by words for that request alone."""
    return message["content"][-1].get("text", "").startswith("[system note] Go on")


def test_thinking_text_and_calls_and_the_turn_after(world: World, server: MessagesServer) -> None:
    thought = thinking("The person wants it read. 🤔", "sig+/==")
    server.say(chopped(reply(thought, text("Reading both."), call("x", "read", path="a.txt"), call("x", "read", path="b.txt"))),
               reply(text("Alpha und Bêta 🎈")))
    events = world.events("read both")
    assert kinds(events)[-1] == "turn-finished" and events[-1]["body"]["stopped_by"] == "stop"
    assert answer(events) == "Reading both.\nAlpha und Bêta 🎈"
    again = server.requests[1].messages
    assert again[1]["content"][0] == thought, "thinking goes back as it came"
    results = again[2]["content"]
    assert ["alpha" in results[0]["content"], "beta" in results[1]["content"]] == [True, True]
    assert len({result["tool_use_id"] for result in results}) == 2, "one id for two calls is made two"
    usage = events[-1]["body"]["usage"]
    assert (usage["input"], usage["output"], usage["cache_read"], usage["cache_write"]) == (22, 46, 14, 10)
    world.events("--conversation", events[0]["session"], "and now?")
    follow(server)
    assert server.requests[2].messages[-1]["content"][-1]["text"] == "and now?"


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow), 8])
def test_parallel_calls(world: World, server: MessagesServer, count: int) -> None:
    server.say(reply(*(call(f"c{n}", "read", path="a.txt" if n % 2 else f"none{n}.txt") for n in range(count))))
    events = world.events("go")
    assert [event["body"]["outcome"] for event in events if event["kind"] == "tool-result"].count("ok") == count // 2
    follow(server)
    assert len(server.requests[1].messages[-1]["content"]) == count


WHOLE = reply(thinking("hm", "s="), text("Some words of it."), call("c", "read", path="a.txt"), size=6)
BREAKS: dict[str, Answer] = {
    "cut before anything": cut(WHOLE, 0), "cut in thinking": cut(WHOLE, 4), "cut in text": cut(WHOLE, 9),
    "cut in arguments": cut(WHOLE, len(WHOLE.pieces) - 5), "cut at the end": cut(WHOLE, len(WHOLE.pieces) - 2),
    "overloaded in text": failing(WHOLE, 9, "overloaded_error"), "429": error(429, retry_after="0.1"), "529": error(529),
    "500": error(500),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BREAKS)
def test_what_breaks_is_asked_again_with_the_same_bytes(world: World, server: MessagesServer, kind: str) -> None:
    _breaks(world, server, BREAKS[kind])


def test_a_reply_that_breaks_in_the_middle_is_asked_again_with_the_same_bytes(world: World, server: MessagesServer) -> None:
    _breaks(world, server, BREAKS["cut in text"])


def _breaks(world: World, server: MessagesServer, broken: Answer) -> None:
    server.say(broken, WHOLE, reply(text("Done.")))
    events = world.events("go")
    assert events[-1]["body"]["stopped_by"] == "stop" and kinds(events).count("assistant") == 2
    assert answer(events) == "Some words of it.\nDone."
    assert server.requests[0].raw == server.requests[1].raw
    follow(server)


FINAL = {
    "auth": (error(401), "does not accept the key"), "unknown model": (error(404, words="model: x"), "does not know the model"),
    "not the API": (page(404, "<p>"), "base_url"), "overflow": (error(400, words="prompt is too long"), "too long"),
    "bad request": (error(400, words="messages: no"), "messages: no"), "per day": (error(429, retry_after="80000"), "in 22 h"),
}


@pytest.mark.parametrize("kind", [
    pytest.param(kind, marks=() if kind in ("auth", "overflow") else pytest.mark.slow) for kind in FINAL])
def test_what_asking_again_cannot_mend_ends_the_turn_with_a_sentence(world: World, server: MessagesServer, kind: str) -> None:
    """After it the conversation goes on: nothing invalid is left behind (complaints class 1)."""
    broken, sentence = FINAL[kind]
    server.say(broken)
    done = world.run("run", "--json", "first words", check=False)
    events = lines(done.stdout)
    assert done.returncode == 1 and events[-1]["kind"] == "turn-finished"
    assert events[-1]["body"]["stopped_by"] == "model-error" and sentence in events[-1]["body"]["detail"]
    assert len(server.requests) == 1, "permanent errors are not asked again"
    more = world.events("--conversation", events[0]["session"], "second words")
    assert answer(more) == "All right."
    said = [block["text"] for block in server.requests[-1].messages[0]["content"]]
    assert said[0] == "first words" and said[-1] == "second words"
    check(server.requests[-1].messages)


def test_partial_text_is_kept_with_a_note_when_nothing_helps(world: World, server: MessagesServer) -> None:
    server.say(failing(WHOLE, 9, "invalid_request_error", "no"))
    done = world.run("run", "--json", "go", check=False)
    events = lines(done.stdout)
    partial = next(event["body"] for event in events if event["kind"] == "assistant")
    assert partial["partial"] and "Some words of it.".startswith(partial["blocks"][-1]["text"])
    world.events("--conversation", events[0]["session"], "go on")
    follow(server)
    assert "cut off" in str(server.requests[-1].messages)


def test_a_call_cut_at_the_token_limit_is_not_run(world: World, server: MessagesServer) -> None:
    whole = reply(text("Writing."), call("w", "write", path="new.txt", content="x" * 400), stop="max_tokens", size=20)
    server.say(Answer((*whole.pieces[:12], *whole.pieces[-2:])))
    events = world.events("write it")
    assert "tool-invocation" not in kinds(events) and "limit" in str(server.requests[1].messages[-1])
    follow(server)


def test_a_call_cut_anywhere_in_its_arguments_is_not_run_and_the_model_is_told(world: World, server: MessagesServer) -> None:
    """The whole call before it has run; the cut one is neither run nor sent back, and the turn goes on."""
    content = "x" * 90 + "\U0001f469\u200d\U0001f467"
    calls = call("r", "read", path="a.txt"), call("w", "write", path="new.txt", content=content)
    pieces = reply(*calls, stop="max_tokens", size=9).pieces
    begun = next(n for n, piece in enumerate(pieces) if isinstance(piece, bytes) and b'"name": "write"' in piece)
    cuts = [begun + 1, begun + 3, len(pieces) - 4]
    for at in cuts:
        server.say(Answer((*pieces[:at], *pieces[-2:])), reply(call("l", "list", path=".")))
    events = world.events("write it")
    ran = [e["body"]["name"] for e in events if e["kind"] == "tool-invocation"]
    assert ran == ["read", "list"] * len(cuts)
    assert not list((world.base / "state").rglob("new.txt"))
    for told in server.requests[1::2]:
        assert "was cut" in str(told.messages[-1]["content"][-1]) and "new.txt" not in str(told.messages)
    follow(server)


def test_silence_is_given_up_and_pings_are_life(world: World, server: MessagesServer) -> None:
    connect(world, server.url, idle=0.7)
    alive = Answer(tuple(part for piece in WHOLE.pieces[:4] for part in ("pause:0.4", PING, piece)) + WHOLE.pieces[4:])
    server.say(silent(WHOLE, 6), alive, reply(text("Done.")))
    events = world.events("go")
    assert answer(events) == "Some words of it.\nDone." and len(server.requests) == 3
    follow(server)


def test_a_fallback_model_is_asked_once_and_told_of(world: World, server: MessagesServer) -> None:
    connect(world, server.url, '[model]\nfallback = "claude-haiku-4-5"\n')
    server.say(error(429, retry_after="80000"), reply(thinking("h", "s"), text("From haiku."), call("c", "read", path="a.txt")),
               reply(text("From sonnet.")))
    done = world.run("run", "go")
    assert "Asking claude-haiku-4-5 instead" in done.stderr and "From sonnet." in done.stdout
    sonnet, haiku = "claude-sonnet-5-5", "claude-haiku-4-5"
    assert [request.told["model"] for request in server.requests] == [sonnet, haiku, sonnet]
    assert "thinking" not in str(server.requests[2].messages), "one model's thinking is not sent to another"
    check(server.requests[2].messages)


def test_a_stop_in_the_middle_of_a_reply(world: World, server: MessagesServer) -> None:
    server.say(silent(WHOLE, 9))
    with world.started("run", "--json", "go") as child:
        server.wait_for(1)
        child.send_signal(2)
        out, _ = child.communicate(timeout=20)
    session = lines(out)[0]["session"]
    log = world.log(session)
    assert child.returncode == 130 and log[-1]["body"]["stopped_by"] == "cancelled"
    world.events("--conversation", session, "go on")
    check(server.requests[-1].messages)
    assert server.requests[-1].messages[0]["content"][0]["text"] == "go"


# -- first run

def test_nothing_answers_is_told_soon(world: World) -> None:
    connect(world, "http://127.0.0.1:1")
    began = time.monotonic()
    done = world.run("run", "hello", check=False)
    assert done.returncode == 1 and "Nothing answers at http://127.0.0.1:1" in done.stderr
    assert time.monotonic() - began < 30, "it was not asked again and again"


def test_a_key_that_is_not_there_is_told_at_the_start(world: World, server: MessagesServer) -> None:
    del world.environ["OUR_KEY"]
    done = world.run("run", "hello")
    assert "OUR_KEY is not set" in done.stderr and "rehearsal" in done.stdout
    assert "ANTHROPIC_API_KEY" in done.stdout and not server.requests


def test_a_key_file_that_is_open_to_others_is_not_used(world: World, server: MessagesServer) -> None:
    key = world.base / "key"
    key.write_text(KEY)
    key.chmod(0o644)
    config = Path(world.environ["THETIS_CONFIG"])
    config.write_text(config.read_text().replace("env:OUR_KEY", f"file:{key}"))
    done = world.run("run", "hello", check=False)
    assert done.returncode == 1 and f"chmod 600 {key}" in done.stderr and not server.requests
    key.chmod(0o600)
    world.run("run", "hello")
    assert server.requests[0].headers["x-api-key"] == KEY


def test_the_key_is_in_no_environment_no_argument_and_no_file(world: World, server: MessagesServer) -> None:
    server.say(reply(call("c", "run", command="env; cat /proc/*/environ")), silent(reply(text("words " * 9)), 8))
    with world.started("run", "--unwalled", "go") as child:
        server.wait_for(2)
        family = [child.pid, *_descendants(child.pid)]
        assert len(family) >= 4, "the gateway, the worker, the git host and the model host at least"
        for pid in family:
            for name in ("environ", "cmdline"):
                assert KEY.encode() not in Path(f"/proc/{pid}/{name}").read_bytes(), (pid, name)
        child.send_signal(2)
        child.communicate(timeout=20)
    assert server.requests[0].headers["x-api-key"] == KEY
    for file in world.base.rglob("*"):
        if file.is_file() and not file.is_symlink():
            assert KEY.encode() not in file.read_bytes(), file


def _descendants(pid: int) -> list[int]:
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    found = [child for child, parent in parents.items() if parent == pid]
    return found + [below for child in found for below in _descendants(child)]
