"""Items of streams are sent in order, none lost, the first at once, and not one by one."""

from __future__ import annotations

import threading

from thetis_kernel.hosts.model.batching import MAX_ITEMS, Batches
from thetis_kernel.protocol.models import StreamItem, TextDelta

from tests.support.waiting import blocking_until


class Sent:
    """What was sent, by stream, batch by batch."""

    def __init__(self) -> None:
        self.batches: dict[str, list[list[str]]] = {}

    def __call__(self, stream: str, items: list[StreamItem]) -> None:
        texts = [item.text for item in items if isinstance(item, TextDelta)]
        self.batches.setdefault(stream, []).append(texts)

    def texts(self, stream: str) -> list[str]:
        return [text for batch in self.batches.get(stream, []) for text in batch]


def test_the_first_item_is_sent_at_once_and_the_last_before_the_stream_is_closed() -> None:
    sent = Sent()
    with Batches(sent).opened("s") as batch:
        batch.add(TextDelta("a"))
        assert sent.batches["s"] == [["a"]]
        batch.add(TextDelta("b"))
        batch.add(TextDelta("c"))
    assert sent.texts("s") == ["a", "b", "c"]


def test_many_items_travel_together() -> None:
    sent = Sent()
    with Batches(sent).opened("s") as batch:
        for n in range(1 + 10 * MAX_ITEMS):
            batch.add(TextDelta(str(n)))
    assert sent.texts("s") == [str(n) for n in range(1 + 10 * MAX_ITEMS)]
    assert all(len(items) <= MAX_ITEMS for items in sent.batches["s"]) and len(sent.batches["s"]) < 5 * MAX_ITEMS


def test_a_stream_that_pauses_does_not_hold_back_what_it_said() -> None:
    sent = Sent()
    with Batches(sent).opened("s") as batch:
        batch.add(TextDelta("a"))
        batch.add(TextDelta("b"))
        blocking_until(lambda: sent.texts("s") == ["a", "b"])


def test_streams_on_many_threads_lose_nothing_and_keep_their_order() -> None:
    sent = Sent()
    batches = Batches(sent)

    def speak(stream: str) -> None:
        with batches.opened(stream) as batch:
            for n in range(500):
                batch.add(TextDelta(f"{stream}-{n}"))

    threads = [threading.Thread(target=speak, args=(f"s{n}",), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for n in range(8):
        assert sent.texts(f"s{n}") == [f"s{n}-{k}" for k in range(500)]
