"""A provider behind the gateway: what clients see of waiting, stops at any moment, the host's death, and the list of models."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.client import Delta
from thetis_kernel.protocol.events import Assistant, TurnFinished

from tests.support.gateways import Opened, gateway
from tests.support.history import check
from tests.support.messages_server import (
    Answer,
    MessagesServer,
    call,
    cut,
    error,
    reply,
    silent,
    spaced,
    text,
    thinking,
)

pytestmark = pytest.mark.runtimes
WHOLE = reply(thinking("hm", "s="), text("Some words of it."), call("c", "read", path="README.md"), size=6)


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as made:
        yield made


@asynccontextmanager
async def opened(base: Path, server: MessagesServer) -> AsyncIterator[Opened]:
    """A gateway whose person has one provider, without a key."""
    base.mkdir(exist_ok=True)
    (base / "none.toml").write_text(f'[[providers]]\nname = "local"\nbase_url = "{server.url}"\n[[models]]\nid = "smol"\n'
                                    'provider = "local"\nname = "smol-wire"\nwindow = 100000\nthinking = "adaptive"\n')
    async with gateway(base) as g:
        yield g


def deltas(g: Opened, kind: str) -> list[str]:
    return [tell.text for tell in g.heard if isinstance(tell, Delta) and tell.kind == kind]


async def test_the_models_are_listed_and_switched_in_the_middle(tmp_path: Path, server: MessagesServer) -> None:
    async with opened(tmp_path, server) as g:
        status = await g.client.status()
        assert [model.id for model in status.models] == ["smol", "rehearsal"] and status.default_model == "smol"
        session = await g.start("hello")
        await g.client.wait_idle(session)
        await g.client.set(session, "model", "rehearsal")
        await g.client.submit(session, "read README.md")
        await g.client.wait_idle(session)
        await g.client.set(session, "model", "smol")
        await g.client.submit(session, "and now?")
        await g.client.wait_idle(session)
        assert [request.told["model"] for request in server.requests] == ["smol-wire", "smol-wire"]
        assert "x-api-key" not in server.requests[0].headers
        check(server.requests[1].messages)
        assert "# Test" in str(server.requests[1].messages)


async def test_a_reply_that_starts_over_is_marked_and_logged_once(tmp_path: Path, server: MessagesServer) -> None:
    server.say(cut(WHOLE, 9), WHOLE)
    async with opened(tmp_path, server) as g:
        session = await g.start("go")
        await g.client.wait_idle(session)
        shown = "".join(deltas(g, "text"))
        assert shown.count("starts over") == 1 and shown.index("Some") < shown.index("starts over") < shown.rindex("Some")
        [waiting, *_] = deltas(g, "waiting")
        assert "broke" in waiting and "trying again in 1 s" in waiting
        said = [body for body in await g.log(session) if isinstance(body, Assistant)]
        assert [block["text"] for block in said[0].blocks if block["type"] == "text"] == ["Some words of it."] and len(said) == 2


STOPS: dict[str, tuple[Answer, str]] = {
    "before the first word": (silent(WHOLE, 0), ""), "in thinking": (silent(WHOLE, 4), "thinking"),
    "in text": (silent(WHOLE, 8), "text"), "in arguments": (silent(WHOLE, len(WHOLE.pieces) - 4), "tool-call"),
    "while it waits": (error(429, retry_after="60"), "waiting"), "between slow bytes": (spaced(WHOLE, 0.2), "text"),
}


@pytest.mark.parametrize("moment", STOPS)
async def test_a_stop_is_quick_wherever_it_finds_the_reply(tmp_path: Path, server: MessagesServer, moment: str) -> None:
    """complaints 1, 2, 5, 12: what a stop leaves behind is a history the next request may have, with one word about it."""
    answer, seen = STOPS[moment]
    server.say(answer)
    async with opened(tmp_path, server) as g:
        session = await g.start("go")
        await asyncio.to_thread(server.wait_for, 1)
        if seen:
            await g.until_delta(seen)
        began = time.monotonic()
        assert await g.client.stop(session)
        await g.until_event(TurnFinished)
        assert time.monotonic() - began < 5
        log = await g.log(session)
        assert isinstance(log[-1], TurnFinished) and log[-1].stopped_by == "cancelled"
        await g.client.submit(session, "and now?")
        await g.client.wait_idle(session)
        check(server.requests[-1].messages)
        words = [block["text"] for message in server.requests[-1].messages for block in message["content"] if "text" in block]
        assert words[0] == "go" and words[-1] == "and now?"
        assert sum(said.startswith("[system note]") for said in words) == 1


async def test_a_model_host_that_dies_is_told_of_the_providers_again(tmp_path: Path, server: MessagesServer) -> None:
    server.say(silent(WHOLE, 8))
    async with opened(tmp_path, server) as g:
        session = await g.start("go")
        await g.until_delta("text")
        host = g.gateway.fleet.supervisor.get("model")
        assert host is not None
        os.kill(host.pid, signal.SIGKILL)
        await g.until_event(TurnFinished)
        log = await g.log(session)
        assert log[-1].stopped_by == "model-error" and "died" in log[-1].detail
        assert [body.partial for body in log if isinstance(body, Assistant)] == [True]
        await g.client.submit(session, "again")
        await g.client.wait_idle(session)
        assert (await g.log(session))[-1].stopped_by == "stop"
        check(server.requests[-1].messages)


async def test_words_said_while_it_waits_reach_the_next_request(tmp_path: Path, server: MessagesServer) -> None:
    server.say(error(429, retry_after="0.5"), WHOLE)
    async with opened(tmp_path, server) as g:
        session = await g.start("go")
        await g.until_delta("waiting")
        assert (await g.client.submit(session, "also this")).how == "nudge"
        await g.client.wait_idle(session)
        assert "also this" in str(server.requests[-1].messages) and "also this" not in str(server.requests[1].messages)
        for request in server.requests:
            check(request.messages)
        assert isinstance(await g.client.status(), c.Status)
