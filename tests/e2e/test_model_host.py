"""The model host as the process it is: streams side by side, cancelling, and dying in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import PeerGone, RemoteError
from thetis_kernel.protocol.lifecycle import ShutdownIfIdle
from thetis_kernel.protocol.model import Complete, ListModels, Streamed
from thetis_kernel.protocol.models import Finished, ModelRequest, StreamItem, TextDelta, ToolCallDelta
from thetis_kernel.supervise.handle import Child
from thetis_kernel.supervise.spawn import Plan, spawn

from tests.support.waiting import until

NOTICE = "rehearsal: no language model connected"


def request(words: str, model: str = "rehearsal") -> bytes:
    tools = [{"name": "list", "description": "", "input_schema": {}}]
    messages = [{"role": "user", "content": [{"type": "text", "text": words}]}]
    return msgspec.json.encode(ModelRequest(model=model, system="", messages=messages, tools=tools))


class Host:
    """A running model host and what it has told, by stream; `batches` counts the notices."""

    def __init__(self) -> None:
        self.told: dict[str, list[StreamItem]] = {}
        self.batches: dict[str, int] = {}
        self.child: Child

    def hear(self, tell: Streamed) -> None:
        self.told.setdefault(tell.stream, []).extend(tell.items)
        self.batches[tell.stream] = self.batches.get(tell.stream, 0) + 1

    def ask(self, stream: str, words: str, **more: Any) -> asyncio.Task[Finished]:
        ask = Complete(stream=stream, request=request(words, **more))
        return asyncio.ensure_future(self.child.peer.call(ask, timeout=None))

    def text(self, stream: str) -> str:
        return "".join(item.text for item in self.told.get(stream, []) if isinstance(item, TextDelta))


@asynccontextmanager
async def running(delay_ms: int = 0) -> AsyncIterator[Host]:
    host = Host()
    host.child = await spawn(
        Plan("model", settings={"THETIS_REHEARSAL_DELAY_MS": str(delay_ms)}, tells={Streamed: host.hear})
    )
    try:
        yield host
    finally:
        await host.child.terminate()


async def test_it_says_which_models_there_are() -> None:
    async with running() as host:
        [model] = await host.child.peer.call(ListModels())
        assert model.id == "rehearsal" and model.notice == NOTICE


async def test_a_reply_is_streamed_and_then_answered_whole() -> None:
    async with running() as host:
        finished = await host.ask("s1", "hello")
        assert finished.end == "stop" and NOTICE in finished.blocks[0]["text"]
        assert host.text("s1") == finished.blocks[0]["text"] and finished.usage.output > 0
        assert host.batches["s1"] < len(host.told["s1"])
        calling = await host.ask("s2", "list")
        assert calling.end == "tool-use" and calling.blocks[-1]["name"] == "list"
        assert any(isinstance(item, ToolCallDelta) and item.name == "list" for item in host.told["s2"])


async def test_the_first_words_come_long_before_the_last() -> None:
    async with running(delay_ms=1000) as host:
        asked = host.ask("s1", "hello")
        await until(lambda: bool(host.text("s1")), 20)
        assert not asked.done() and len(host.text("s1")) < 200


async def test_streams_run_side_by_side_and_keep_apart() -> None:
    async with running(delay_ms=1) as host:
        slow = host.ask("slow", "rehearse: slow 60000 ms")
        many = [host.ask(f"s{n}", f"run echo {n}") for n in range(8)]
        for n, finished in enumerate(await asyncio.gather(*many)):
            assert "not offered" in finished.blocks[0]["text"] and host.text(f"s{n}") == finished.blocks[0]["text"]
        assert not slow.done()


async def test_taking_a_request_back_stops_its_stream() -> None:
    async with running(delay_ms=5) as host:
        slow = host.ask("slow", "rehearse: slow 600000 ms")
        await host.ask("other", "hello")
        assert not await host.child.peer.call(ShutdownIfIdle())
        slow.cancel()
        async with asyncio.timeout(10):
            while not await host.child.peer.call(ShutdownIfIdle()):
                await asyncio.sleep(0.01)


async def test_failures_are_answers() -> None:
    async with running() as host:
        assert (await host.ask("s1", "rehearse: fail")).end == "transport"
        assert (await host.ask("s2", "hello", model="gpt")).end == "bad-request"
        with pytest.raises(RemoteError) as refused:
            await host.child.peer.call(Complete(stream="s3", request=b'{"model": 1}'))
        assert refused.value.code == "model"
        assert (await host.ask("s4", "hello")).end == "stop"


@pytest.mark.parametrize("point", ["model-host.request", "model-host.mid-stream"])
async def test_its_crash_points_are_where_they_say(point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THETIS_CRASH", point)
    async with running() as host:
        with pytest.raises(PeerGone):
            await host.ask("s1", "hello")
        assert bool(host.text("s1")) == (point == "model-host.mid-stream")
        assert (await host.child.wait()).status == -9


async def test_its_process_holds_no_providers_sdk_and_little_memory() -> None:
    async with running() as host:
        await host.ask("s1", "hello")
        maps = Path(f"/proc/{host.child.pid}/maps").read_text()
        assert "wasmtime" not in maps and "apsw" not in maps and "pygit2" not in maps
