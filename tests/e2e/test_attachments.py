"""Pictures and PDFs from the command line and from the `read` tool to the provider, through every process."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_real_models import connect, follow
from tests.support.history import check
from tests.support.messages_server import MessagesServer, call, reply, text
from tests.support.pictures import pdf, png
from tests.support.thetis import World, answer

pytestmark = pytest.mark.runtimes


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as made:
        yield made


@pytest.fixture
def world(tmp_path: Path, server: MessagesServer) -> World:
    made = World(tmp_path)
    made.make_repository({"a.txt": "alpha\n", "shot.png": png(), "paper.txt": pdf(), "fake.png": "no picture\n"})
    connect(made, server.url, f'[[providers]]\nname = "plain"\nbase_url = "{server.url}"\n'
                              '[[models]]\nid = "blind"\nprovider = "plain"\n')
    return made


def test_a_picture_is_seen_read_and_stays_a_digest_in_the_log(world: World, server: MessagesServer) -> None:
    calls = [call(path, "read", path=path) for path in ("shot.png", "paper.txt", "a.txt")]
    server.say(reply(text("I see."), *calls))
    events = world.events("--model", "claude-sonnet-5-5", "--attach", str(world.repository / "shot.png"), "what is this?")
    first = server.requests[0].messages[0]["content"]
    assert [block["type"] for block in first] == ["text", "image"] and first[0]["text"].startswith("what is this?")
    assert base64.b64decode(first[1]["source"]["data"]) == png()
    seen, paper, plain = server.requests[1].messages[-1]["content"]
    assert base64.b64decode(seen["content"][1]["source"]["data"]) == png() and "image/png" in seen["content"][0]["text"]
    assert paper["content"][1]["type"] == "document" and paper["content"][1]["title"] == "paper.txt", "by content, not by name"
    assert isinstance(plain["content"], str) and "alpha" in plain["content"]
    follow(server)
    session = events[0]["session"]
    told = str(world.log(session))
    assert base64.b64encode(png()).decode() not in told and told.count("'media_type': 'image/png'") >= 2
    more = world.events("--conversation", session, "and now?")
    assert answer(more) == "All right."
    follow(server)


def test_a_model_without_pictures_gets_a_sentence(world: World, server: MessagesServer) -> None:
    server.say(reply(call("c", "read", path="shot.png")))
    world.events("--model", "blind", "--attach", str(world.repository / "shot.png"), "what is this?")
    told = str(server.requests[1].told["messages"])
    assert "base64" not in told and told.count("blind takes no pictures") == 2
    check(server.requests[1].messages)


def test_a_file_that_does_not_do_leaves_nothing_behind(world: World, server: MessagesServer) -> None:
    done = world.run("run", "--attach", str(world.repository / "fake.png"), "hello", check=False)
    assert done.returncode == 2 and "fake.png cannot be attached: it is neither" in done.stderr
    assert not server.requests and "No conversations yet" in world.run("ls").stdout
