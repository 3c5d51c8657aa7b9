"""One body over every backend: rehearsal, and a provider through the real SDK and real HTTP.

Whatever a backend is, its stream ends in exactly one Finished, its deltas add up to its blocks, and a stop stops it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from thetis_kernel.models.rehearsal import Rehearsal
from thetis_kernel.models.retry import Policy, Retrying
from thetis_kernel.models.stream import ModelBackend
from thetis_kernel.protocol.models import ModelRequest, TextDelta, ThinkingDelta, ToolCallDelta

from tests.support.history import check
from tests.support.messages_server import Answer, MessagesServer, Request, call, reply, silent, text, thinking
from tests.support.providers import ask, backend, last, said, words

TOOLS = [{"name": "list", "description": "List.", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}]


def scripted(request: Request) -> Answer:
    """A little model: `list` calls a tool, a result is answered, the reply to `hello` never ends."""
    block = request.told["messages"][-1]["content"][-1]
    if block["type"] == "tool_result":
        return reply(text(f"It says: {block['content']} – done 🎈"))
    if block["text"] == "hello":
        return silent(reply(text("word " * 50)), 20)
    return reply(thinking("A list is wanted.", "sig"), text("Looking."), call("toolu_1", "list", path="."))


@pytest.fixture(params=["rehearsal", "anthropic", "anthropic, retried"])
def model(request: pytest.FixtureRequest) -> Iterator[ModelBackend]:
    if request.param == "rehearsal":
        yield Rehearsal(0)
        return
    with MessagesServer(scripted) as server:
        real = backend(server.url)
        yield Retrying(real, Policy(tries=2)) if "retried" in request.param else real


def asked(*messages: dict[str, Any]) -> ModelRequest:
    return ModelRequest(model="sonnet", system="You help.", messages=list(messages), tools=TOOLS)


def test_a_round_of_a_tool(model: ModelBackend) -> None:
    request = asked(said("list"))
    items = ask(model, request)
    end = last(items)
    assert end.end == "tool-use" and end.model == "sonnet" and not end.detail and not end.retry
    shown = words(items)
    assert shown == "".join(block["text"] for block in end.blocks if block["type"] == "text")
    assert "".join(item.text for item in items if isinstance(item, ThinkingDelta)) == "".join(
        block["thinking"] for block in end.blocks if block["type"] == "thinking")
    for block in end.blocks:
        if block["type"] == "tool_use":
            pieces = [item for item in items if isinstance(item, ToolCallDelta) and item.call == block["id"]]
            assert pieces[0].name == block["name"] == "list"
            assert msgspec.json.decode("".join(item.json for item in pieces) or "{}") == block["input"]
    results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "README.md"}
               for block in end.blocks if block["type"] == "tool_use"]
    then = asked(said("list"), {"role": "assistant", "content": end.blocks}, {"role": "user", "content": results})
    check(then.messages)
    final = last(ask(model, then))
    assert final.end == "stop" and "README.md" in final.blocks[-1]["text"] and final.usage.output > 0


def test_the_same_request_gives_the_same_reply(model: ModelBackend) -> None:
    assert last(ask(model, asked(said("list")))) == last(ask(model, asked(said("list"))))


def test_a_stop_before_the_first_word(model: ModelBackend) -> None:
    cancel = threading.Event()
    cancel.set()
    end = last(ask(model, asked(said("list")), cancel))
    assert end.end == "cancelled" and not [block for block in end.blocks if block["type"] == "tool_use"]


def test_a_stop_in_the_middle(model: ModelBackend) -> None:
    cancel = threading.Event()
    items = []
    for item in model.stream(asked(said("hello")), cancel):
        items.append(item)
        if isinstance(item, TextDelta):
            cancel.set()
    assert words(items)
    end = last(items)
    assert end.end == "cancelled"
    assert words(items).startswith("".join(block["text"] for block in end.blocks).rstrip())


def test_streams_side_by_side_keep_apart(model: ModelBackend) -> None:
    ends: dict[int, Any] = {}

    def run(n: int) -> None:
        result = {"type": "tool_result", "tool_use_id": "c", "content": f"number {n}"}
        calls = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "list", "input": {"path": "."}}]}
        ends[n] = last(ask(model, asked(said("list"), calls, {"role": "user", "content": [result]})))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [f"number {n}" in ends[n].blocks[-1]["text"] for n in range(6)] == [True] * 6
