"""Words on their way: in order, once, and never lost."""

from __future__ import annotations

import asyncio

from thetis_kernel.errors import PeerGone, RemoteError, ThetisError
from thetis_kernel.protocol.client import Submitted

from thetis_tui.drafts import HISTORY, Drafts, History
from thetis_tui.outbox import Outbox, Place, Words


class Post:
    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.failed: list[tuple[str, str]] = []
        self.created = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: ThetisError | None = None
        self.outbox = Outbox(
            self.create, self.submit, lambda words, _: None,
            lambda words, error: self.failed.append((words.text, error.message)),
        )

    async def create(self, place: Place) -> None:
        self.created += 1
        await asyncio.sleep(0)
        place.session = f"session{self.created}"

    async def submit(self, words: Words) -> Submitted:
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        self.sent.append((words.place.session, words.text))
        return Submitted(seq=1, how="turn", turn="t")

    async def settle(self) -> None:
        for _ in range(50):
            await asyncio.sleep(0)


async def test_words_wait_for_the_gateway_and_keep_their_order() -> None:
    post, place = Post(), Place()
    for text in ("one", "two", "three"):
        post.outbox.send(place, text)
    await post.settle()
    assert post.sent == []
    assert post.outbox.waiting == 3
    post.outbox.ready()
    await post.settle()
    assert post.sent == [("session1", "one"), ("session1", "two"), ("session1", "three")]
    assert post.created == 1
    assert post.outbox.waiting == 0


async def test_one_conversation_does_not_wait_for_another() -> None:
    post = Post()
    post.outbox.ready()
    post.gate.clear()
    post.outbox.send(Place("a"), "slow")
    await post.settle()
    post.gate.set()
    post.outbox.send(Place("b"), "fast")
    await post.settle()
    assert sorted(post.sent) == [("a", "slow"), ("b", "fast")]


async def test_a_failure_concerns_one_message() -> None:
    post, place = Post(), Place("a")
    post.outbox.ready()
    post.error = RemoteError("No space left.")
    post.outbox.send(place, "one")
    await post.settle()
    post.error = None
    post.outbox.send(place, "two")
    await post.settle()
    assert post.failed == [("one", "No space left.")]
    assert post.sent == [("a", "two")]


async def test_each_message_has_an_id_of_its_own() -> None:
    post, place = Post(), Place("a")
    ids = {post.outbox.send(place, "same").event_id for _ in range(5)}
    assert len(ids) == 5
    assert all(len(event_id) == 32 for event_id in ids)
    post.outbox.close()


def test_drafts_are_kept_per_conversation() -> None:
    drafts = Drafts()
    drafts.keep("a", "half a thought")
    drafts.keep("b", "  ")
    assert (drafts.of("a"), drafts.of("b"), drafts.of("c")) == ("half a thought", "", "")
    drafts.keep("a", "")
    assert drafts.of("a") == ""


def test_history_walks_back_and_returns_to_what_stood_there() -> None:
    history = History()
    for text in ("one", "two", "two", " "):
        history.add(text)
    assert history.older("draft") == "two"
    assert history.older("two") == "one"
    assert history.older("one") is None
    assert history.newer() == "two"
    assert history.newer() == "draft"
    assert history.newer() is None


def test_history_is_bounded_and_can_be_seeded() -> None:
    history = History()
    for number in range(HISTORY + 20):
        history.add(str(number))
    history.seed(["older"])
    walked = []
    while (text := history.older("")) is not None:
        walked.append(text)
    assert len(walked) == HISTORY + 1
    assert walked[-1] == "older"


async def test_words_a_lost_gateway_did_not_answer_wait_for_the_next_one() -> None:
    post, place = Post(), Place()
    post.outbox.ready()
    post.gate.clear()
    words = post.outbox.send(place, "one")
    await post.settle()
    post.error = PeerGone("the gateway is gone")
    post.outbox.pause()
    post.gate.set()
    await post.settle()
    assert (post.failed, post.outbox.waiting, post.outbox.held(place)) == ([], 1, [])
    post.error = None
    post.outbox.ready()
    await post.settle()
    assert post.sent == [("session1", "one")]
    assert post.created == 1
    assert words.place.session == "session1"


async def test_a_lost_gateway_that_nobody_looks_for_is_a_failure() -> None:
    post = Post()
    post.outbox.ready()
    post.error = PeerGone("the gateway is gone")
    post.outbox.send(Place("a"), "one")
    await post.settle()
    assert post.failed == [("one", "the gateway is gone")]
