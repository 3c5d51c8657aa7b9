"""Whatever a backend does, its stream keeps its promises."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from thetis_kernel.models.registry import Entry, Registry, standard
from thetis_kernel.models.stream import ModelBackend, Received, guarded
from thetis_kernel.protocol.models import (
    Finished,
    ModelInfo,
    ModelRequest,
    StreamItem,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Waiting,
)

REQUEST = ModelRequest(model="m", system="", messages=[])


class Scripted:
    """A backend that runs a function."""

    def __init__(self, run: Callable[[threading.Event], Iterator[StreamItem]]) -> None:
        self._run = run

    def stream(self, request: ModelRequest, cancel: threading.Event) -> Iterator[StreamItem]:
        return self._run(cancel)


def answer(run: Callable[[threading.Event], Iterator[StreamItem]], cancel: threading.Event | None = None) -> list[StreamItem]:
    return list(guarded(Scripted(run), REQUEST, cancel or threading.Event()))


def test_a_good_stream_passes_unchanged() -> None:
    items: list[StreamItem] = [ThinkingDelta("hm"), TextDelta("a"), Waiting(5, "busy"), Finished(end="stop", blocks=[])]
    assert answer(lambda cancel: iter(items)) == items


def test_nothing_follows_the_last_item() -> None:
    last = Finished(end="stop", blocks=[])
    assert answer(lambda cancel: iter([last, TextDelta("more"), last])) == [last]


@pytest.mark.parametrize("error", [ValueError("boom"), RuntimeError(), OSError("gone"), StopIteration()])
def test_what_a_backend_raises_becomes_the_last_item_with_what_had_come(error: Exception) -> None:
    def run(cancel: threading.Event) -> Iterator[StreamItem]:
        yield TextDelta("half ")
        yield TextDelta("a word")
        raise error

    last = answer(run)[-1]
    assert isinstance(last, Finished) and last.end == "transport"
    assert last.blocks == [{"type": "text", "text": "half a word"}] and last.model == "m"


def test_a_backend_that_raises_before_its_first_item() -> None:
    def run(cancel: threading.Event) -> Iterator[StreamItem]:
        raise ValueError("boom")

    [last] = answer(run)
    assert isinstance(last, Finished) and last.end == "transport" and "boom" in last.detail


def test_a_stream_without_an_end_gets_one() -> None:
    items = answer(lambda cancel: iter([TextDelta("a")]))
    assert [type(item) for item in items] == [TextDelta, Finished]
    assert isinstance(items[-1], Finished) and items[-1].end == "transport"


def test_a_cancelled_stream_ends_as_cancelled_whatever_the_backend_says_next() -> None:
    cancel = threading.Event()

    def run(event: threading.Event) -> Iterator[StreamItem]:
        yield TextDelta("a")
        cancel.set()
        yield TextDelta("b")
        yield TextDelta("c")

    items = answer(run, cancel)
    assert items[:-1] == [TextDelta("a")]
    assert isinstance(items[-1], Finished) and items[-1].end == "cancelled" and items[-1].blocks[0]["text"] == "a"


def test_what_was_received_keeps_order_and_whole_calls_only() -> None:
    received = Received()
    for item in (TextDelta("a"), ThinkingDelta("hm"), ToolCallDelta("c1", "read"), ToolCallDelta("c1", json='{"pa'),
                 ToolCallDelta("c1", json='th": "f"}'), TextDelta(" \n"), ToolCallDelta("c2", "run"),
                 ToolCallDelta("c2", json='{"command": "rm'), ToolCallDelta("c3", "list"), ToolCallDelta("c4", "x"),
                 ToolCallDelta("c4", json="[1]")):  # fmt: skip
        received.take(item)
    assert received.blocks() == [
        {"type": "text", "text": "a"},
        {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "f"}},
        {"type": "tool_use", "id": "c3", "name": "list", "input": {}},
    ]


def test_the_table_makes_a_backend_once_and_keeps_its_order() -> None:
    made: list[int] = []

    def make() -> ModelBackend:
        made.append(1)
        return Scripted(lambda cancel: iter([]))

    infos = [ModelInfo(id=name, provider="p", label=name, window=1) for name in ("b", "a")]
    registry = Registry([Entry(info, make) for info in infos])
    assert [info.id for info in registry.models()] == ["b", "a"] and made == []
    assert registry.backend("a") is registry.backend("a") and len(made) == 1


def test_a_model_that_is_not_there_says_so_in_the_stream() -> None:
    registry = standard({})
    request = ModelRequest(model="gone", system="", messages=[])
    [last] = list(guarded(registry.backend("gone"), request, threading.Event()))
    assert isinstance(last, Finished) and last.end == "bad-request"
    assert "'gone'" in last.detail and "rehearsal" in last.detail


def test_the_rehearsal_is_the_default_and_says_what_it_is() -> None:
    first = standard({}).models()[0]
    assert first.id == "rehearsal" and first.notice == "rehearsal: no language model connected"


def test_the_table_imports_no_providers_sdk(clean_import: Any) -> None:
    assert "anthropic" not in clean_import("import thetis_kernel.models.registry as r; r.standard({}).backend('rehearsal')")
