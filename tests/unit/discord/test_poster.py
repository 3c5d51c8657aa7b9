"""Messages made to match what is wanted: through failures, without one twice, not faster than agreed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from thetis_kernel.connectors.discord import pause as pauses
from thetis_kernel.connectors.discord.pause import Pause
from thetis_kernel.connectors.discord.poster import GONE, Poster, Unsent


class Channel:
    """A channel: `fails` are what the next requests raise, before or (`after`) when they were done."""

    def __init__(self) -> None:
        self.messages: dict[int, str] = {}
        self.requests: list[str] = []
        self.nonces: dict[str, int] = {}
        self.fails: list[Unsent | None] = []
        self.after = False

    def _fail(self) -> None:
        failure = self.fails.pop(0) if self.fails else None
        if failure is not None:
            raise failure

    async def send(self, channel: int, content: str, *, reply_to: int = 0, nonce: str = "", components: Any = ()) -> int:
        self.requests.append("send")
        if not self.after:
            self._fail()
        if nonce not in self.nonces:
            self.nonces[nonce] = len(self.messages) + 1
            self.messages[self.nonces[nonce]] = content
        if self.after:
            self._fail()
        return self.nonces[nonce]

    async def edit(self, channel: int, message: int, content: str, *, components: Any = None) -> None:
        self.requests.append("edit")
        self._fail()
        self.messages[message] = content

    async def delete(self, channel: int, message: int) -> None:
        self.requests.append("delete")
        self._fail()
        self.messages.pop(message, None)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "FIRST_S", 0.001)
    monkeypatch.setattr(Pause.__init__, "__defaults__", (0.001, 0.01))


def poster(channel: Channel, posts: list[int] | None = None, kept: list[list[int]] | None = None) -> Poster:
    return Poster(channel, 7, "turn", reply_to=3, interval_s=0.0, posts=posts or [],
                  kept=(kept if kept is not None else []).append)


async def test_it_grows_shrinks_and_changes_as_wanted() -> None:
    channel, kept = Channel(), list[list[int]]()
    one = poster(channel, kept=kept)
    for wanted in (["a"], ["a", "b", "c"], ["a", "B"], [], ["z"]):
        one.want(lambda wanted=wanted: wanted)
        await one.settle()
        assert list(channel.messages.values()) == wanted
    assert kept[1] == [1, 2]


async def test_what_passes_is_tried_again_and_what_was_done_without_an_answer_is_not_done_twice() -> None:
    channel = Channel()
    channel.after = True
    channel.fails = [Unsent("cut", lasting=False), Unsent("cut", lasting=False), None]
    one = poster(channel)
    one.want(lambda: ["a", "b"])
    await one.settle()
    assert list(channel.messages.values()) == ["a", "b"] and channel.requests == ["send"] * 4


async def test_a_connector_that_comes_back_goes_on_in_the_same_messages() -> None:
    channel = Channel()
    channel.messages = {1: "a", 2: "half"}
    one = poster(channel, posts=[1, 2])
    one.want(lambda: ["a", "half and whole", "more"])
    await one.settle()
    assert list(channel.messages.values()) == ["a", "half and whole", "more"]


async def test_what_somebody_deleted_is_not_shown_again_and_holds_nothing_up() -> None:
    channel, kept = Channel(), list[list[int]]()
    one = poster(channel, posts=[5], kept=kept)
    channel.fails = [Unsent("unknown message", lasting=True, gone=True)]
    one.want(lambda: ["a", "b"])
    await one.settle()
    assert list(channel.messages.values()) == ["b"] and kept[-1] == [GONE, 1]


async def test_a_channel_that_is_closed_to_us_is_given_up() -> None:
    channel = Channel()
    channel.fails = [Unsent("HTTP 403", lasting=True)] * 2
    one = poster(channel)
    one.want(lambda: ["a", "b"])
    await one.settle()
    assert channel.messages == {} and channel.requests == ["send"] * 2


async def test_many_changes_become_few_messages() -> None:
    channel = Channel()
    one = Poster(channel, 7, "turn", reply_to=0, interval_s=30.0, kept=lambda posts: None)
    said: list[str] = []
    running = asyncio.create_task(one.run())
    for number in range(200):
        said.append(str(number))
        one.want(lambda: [" ".join(said)])
        await asyncio.sleep(0)
    one.end()
    await running
    await one.settle()
    assert len(channel.requests) <= 3 and list(channel.messages.values()) == [" ".join(said)]


def test_pauses_grow_to_a_minute_and_are_short_again_after_a_success() -> None:
    pause = Pause(1.0, 60.0)
    waits = [pause.next_s() for _ in range(12)]
    assert waits[0] <= 1.0 and all(wait <= 60.0 for wait in waits) and waits[-1] >= 30.0
    pause.reset()
    assert pause.next_s() <= 1.0
