"""Following one message through kernels that leave and die: it ends in every case, and its words are said once."""

from __future__ import annotations

import asyncio
import io
from contextlib import redirect_stdout
from typing import Any

import pytest
from thetis_kernel.cli.follow import Followed
from thetis_kernel.cli.printing import Answer
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import IpcError, PeerGone, RemoteError
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.events import Body, Event, TurnFinished, TurnStarted, User, encode_body, kind_of

SESSION = "0123456789abcdef"


class Kernel:
    """What a gateway answers, over a log that outlives it. `runs` are the turns it will run, each as the events of one;
    `leaves_at` names the request at which it is gone, `closes_at` the one it refuses because it is closing."""

    def __init__(self, log: list[Event], *runs: list[Body], leaves_at: type[Any] | None = None,
                 closes_at: type[Any] | None = None) -> None:
        self.log = log
        self.runs = list(runs)
        self.leaves_at = leaves_at
        self.closes_at = closes_at
        self.closed: asyncio.Future[IpcError] = asyncio.get_running_loop().create_future()
        self.client = GatewayClient(self)

    def write(self, *bodies: Body) -> None:
        for body in bodies:
            self.log.append(Event(
                session=SESSION, seq=len(self.log) + 1, event_id=f"e{len(self.log)}", ts_ms=0, kind=kind_of(body), v=1, hash="",
                raw=encode_body(body)))

    def run(self) -> None:
        self.write(*self.runs.pop(0))

    async def call(self, ask: Any, *, timeout: float | None = 60.0) -> Any:
        await asyncio.sleep(0)
        if isinstance(ask, self.leaves_at or ()):
            raise PeerGone("the gateway is gone")
        if isinstance(ask, self.closes_at or ()):
            raise RemoteError("closing", code="closing")
        match ask:
            case c.CreateConversation():
                return c.Conversation(id=SESSION, title="", mode="agent", model="m", state="idle", branch="", worktree="",
                                      created_ms=0, updated_ms=0, last_seq=0, preview="")
            case c.Submit():
                said = [event for event in self.log if event.kind == "user"]
                if not said:
                    self.write(User(text=ask.text))
                    if self.runs:
                        self.run()
                return c.Submitted(seq=(said or [self.log[0]])[0].seq, how="turn", turn="")
            case c.Resume():
                if not self.runs:
                    return False
                self.run()
                return True
            case c.ReadEvents():
                return c.EventPage(events=self.log[ask.after:], last_seq=len(self.log))
            case c.WaitIdle() | c.Subscribe():
                return None
        raise AssertionError(ask)


def turn(stopped_by: str, attempt: int = 0) -> list[Body]:
    return [TurnStarted("t", "agent", "m", attempt), TurnFinished("t", stopped_by)]


async def follow(*kernels: Kernel) -> tuple[str, Followed]:
    """The way `thetis run` goes on: the next kernel when one has left."""
    followed = Followed("hello", Answer(json=True), conversation="", mode="", model="", with_changes=False)
    with redirect_stdout(io.StringIO()):
        async with asyncio.timeout(10):
            for kernel in kernels:
                try:
                    return await followed.follow(kernel.client), followed
                except (PeerGone, RemoteError):
                    pass
    raise AssertionError("no kernel brought it to an end")


async def test_a_turn_that_ends() -> None:
    assert (await follow(Kernel([], turn("stop"))))[0] == "stop"


async def test_a_turn_that_was_cut_is_asked_for_again() -> None:
    log: list[Event] = []
    assert (await follow(Kernel(log, turn("restarted"), turn("stop"))))[0] == "stop"
    assert [event.kind for event in log].count("user") == 1


@pytest.mark.parametrize("gone", [c.WaitIdle, c.Resume, c.ReadEvents, c.Subscribe])
@pytest.mark.parametrize("how", ["leaves_at", "closes_at"])
async def test_a_kernel_that_leaves_after_the_cut_was_seen(gone: type[Any], how: str) -> None:
    """Everything is read by then; waiting for more would be for ever."""
    log: list[Event] = []
    first = Kernel(log, turn("restarted"), **{how: c.Resume})
    second = Kernel(log, **{how: gone})
    assert (await follow(first, second, Kernel(log, turn("stop"))))[0] == "stop"


async def test_words_no_turn_was_begun_for() -> None:
    log: list[Event] = []
    assert (await follow(Kernel(log, leaves_at=c.ReadEvents), Kernel(log, turn("stop"))))[0] == "stop"
    ended, followed = await follow(Kernel([]))
    assert ended == "error" and "No turn" in followed.detail


async def test_what_a_live_gateway_gave_up_is_not_begun_again() -> None:
    kernel = Kernel([], [*turn("restarted"), *turn("restarted", 1), *turn("restarted", 2)], turn("stop"))
    assert (await follow(kernel))[0] == "restarted" and len(kernel.runs) == 1


async def test_a_turn_is_asked_for_twice_at_most() -> None:
    kernel = Kernel([], *([turn("restarted")] * 6))
    assert (await follow(kernel))[0] == "restarted" and len(kernel.runs) == 3
