"""The first minutes: each thing that is commonly wrong is said in a sentence with its fix, at the first try; and nothing at
start-up waits on a network (complaints 90). How long each takes is measured in bench/first_run.py."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from thetis_kernel.models.anthropic import endpoint

from tests.e2e.test_real_models import connect
from tests.support.blackhole import blackhole, untouched
from tests.support.messages_server import Answer, MessagesServer, error, page
from tests.support.providers import REQUEST, backend, last
from tests.support.terminal import Terminal
from tests.support.thetis import THETIS, World

pytestmark = pytest.mark.runtimes
SOON_S = 2.0
"""What part 7 of the issue promises for the sentence."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "# Harbour\n"})
    return made


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as made:
        yield made


def test_without_a_key_the_rehearsal_model_says_how_to_connect_one(world: World) -> None:
    told = world.run("run", "what is in this repository?").stdout
    assert "rehearsal" in told and "ANTHROPIC_API_KEY" in told


SENTENCES: dict[str, tuple[Answer, tuple[str, ...]]] = {
    "bad key": (error(401, words="invalid x-api-key"), ("does not accept the key", "env:OUR_KEY", "Check the key")),
    "unknown model": (error(404, words="model: x"), ("does not know the model", "Pick another one")),
    "wrong base_url": (page(404, "<html>"), ("not like the Messages API", "Is base_url right?")),
    "another kind of server": (page(200, "<html>"), ("not like the Messages API", "Is base_url right?")),
}


@pytest.mark.parametrize("wrong", [
    pytest.param(name, marks=() if name in ("bad key", "wrong base_url") else pytest.mark.slow) for name in SENTENCES])
def test_what_is_wrong_is_said_at_the_first_try(world: World, server: MessagesServer, wrong: str) -> None:
    answer, words = SENTENCES[wrong]
    server.otherwise = answer
    connect(world, server.url)
    done = world.run("run", "hello", check=False)
    assert done.returncode == 1 and all(part in done.stderr for part in words), done.stderr
    assert len(server.requests) == 1, "nobody waits for a second try before the sentence"


@pytest.mark.slow  # once more in test_real_models.py
def test_nothing_listens_there(world: World) -> None:
    connect(world, "http://127.0.0.1:1")
    done = world.run("run", "hello", check=False)
    assert "Nothing answers at http://127.0.0.1:1" in done.stderr and "trying again" not in done.stderr


def test_a_dark_network_is_told_while_it_is_tried_again(world: World) -> None:
    with blackhole() as url:
        connect(world, url)
        with world.started("run", "hello") as child:
            seen = ""
            while child.stderr is not None and "does not answer" not in seen and (line := child.stderr.readline()):
                seen += line
            assert f"{url} (provider 'anthropic') does not answer. Check the network, and base_url." in seen, seen
            assert "trying again" in seen
            child.send_signal(2)
            child.communicate(timeout=30)
        assert child.returncode == 130


def test_a_dark_network_is_given_up_before_two_seconds_are_over() -> None:
    """The first connection gets less than the promised time, so that the sentence comes within it."""
    assert endpoint.FIRST_CONNECT_S < SOON_S
    with blackhole() as url:
        asked = backend(url)
        failed = last(list(asked.stream(REQUEST, threading.Event())))
    assert failed.end == "transport" and "does not answer" in failed.detail and failed.retry


@pytest.mark.parametrize("words", [("ls",), ("run", "--model", "rehearsal", "list")])
def test_nothing_at_start_up_waits_on_a_network(world: World, words: tuple[str, ...]) -> None:
    """90: start-up hangs when the network is dark. Not a single connection is begun before somebody asks a model."""
    with untouched() as (url, listening):
        connect(world, url)
        world.run(*words)
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_the_screen_is_ready_without_a_network(world: World) -> None:
    with untouched() as (url, listening):
        connect(world, url)
        terminal = Terminal([THETIS], world.repository, world.environ)
        try:
            terminal.wait("Claude Sonnet 5.5")
            assert not _touched(listening)
            terminal.type("\x11")
            assert terminal.finish() == 0
        finally:
            terminal.kill()


def _touched(listening: socket.socket) -> bool:
    try:
        listening.accept()
    except BlockingIOError:
        return False
    return True
