"""What `ThreadPeer` adds to the contract: blocking calls, cancel events, quick handlers, dying channels."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from thetis_kernel.errors import Cancelled, DeadlineExceeded, IpcError, PeerGone, RemoteError
from thetis_kernel.ipc.aio import AsyncPeer
from thetis_kernel.ipc.threads import Serving, ThreadPeer

from tests.support.waiting import until
from tests.support.words import Add, CallBack, Echo, Hold, LoopEnd, Nothing, Shout, ThreadEnd, Withdrawals


class Pair:
    """A `ThreadPeer` as a child has it, and the gateway's end of its channel."""

    def __init__(self) -> None:
        self.loop_end = LoopEnd()
        self.thread_end = ThreadEnd()
        self.gone: list[IpcError] = []
        self.unexpected: list[tuple[str, BaseException]] = []
        self.gateway: AsyncPeer
        self.child: ThreadPeer

    async def open(self, **more: Any) -> Pair:
        here, there = socket.socketpair()
        self.child = ThreadPeer(
            there, role="child", other="the gateway", on_gone=self.gone.append,
            on_unexpected=lambda what, error: self.unexpected.append((what, error)),
            **{"asks": self.thread_end.asks(), "tells": self.thread_end.tells(), "quick": self.thread_end.QUICK, **more},
        )  # fmt: skip
        self.thread_end.peer = self.child
        self.gateway = self.loop_end.peer = AsyncPeer(
            role="gateway", other="the child", asks={**self.loop_end.asks(), Shout: self.shout}
        )
        await self.gateway.attach(here)
        self.child.start()
        await self.gateway.greeted()
        return self

    async def shout(self, ask: Shout) -> str:
        return ask.text.upper()


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    made = await Pair().open()
    yield made
    made.gateway.close()
    made.child.close()
    await until(lambda: len(made.gone) == 1)


def blocking(call: Callable[[], Any]) -> asyncio.Future[Any]:
    """`call` on a thread of its own."""
    return asyncio.get_running_loop().run_in_executor(None, call)


async def test_any_number_of_threads_call_at_once(pair: Pair) -> None:
    results: dict[int, list[int]] = {}

    def work(n: int) -> None:
        results[n] = [pair.child.call(Add(n, k)) for k in range(50)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    await until(lambda: not any(thread.is_alive() for thread in threads), within=30)
    assert results == {n: [n + k for k in range(50)] for n in range(8)}


async def test_a_deadline_raises_and_withdraws(pair: Pair) -> None:
    with pytest.raises(DeadlineExceeded):
        await blocking(lambda: pair.child.call(Hold(), timeout=0.05))
    await until(lambda: pair.loop_end.withdrawals == 1)


async def test_a_cancel_event_raises_and_withdraws(pair: Pair) -> None:
    cancel = threading.Event()
    call = blocking(lambda: pair.child.call(Hold(), timeout=None, cancel=cancel))
    await until(lambda: pair.gateway.serving == 1)
    cancel.set()
    with pytest.raises(Cancelled):
        await asyncio.wait_for(call, 10)
    await until(lambda: pair.loop_end.withdrawals == 1)
    cancel.set()
    with pytest.raises(Cancelled):
        await blocking(lambda: pair.child.call(Hold(), cancel=cancel))


async def test_a_call_from_the_reader_thread_is_an_error_not_a_deadlock() -> None:
    caught: list[BaseException] = []

    def quick(ask: Nothing, serving: Serving) -> None:
        try:
            made.child.call(Add(1))
        except RuntimeError as error:
            caught.append(error)

    made = await Pair().open(asks={Nothing: quick}, quick={Nothing})
    await made.gateway.call(Nothing(), timeout=10)
    assert "t.add" in str(caught[0])
    made.gateway.close()


async def test_quick_handlers_run_on_the_reader_and_others_on_threads_named_for_them() -> None:
    names: list[str] = []

    def note(ask: Any, serving: Serving) -> None:
        names.append(threading.current_thread().name)

    made = await Pair().open(asks={Nothing: note, Hold: lambda a, s: (note(a, s), "x")[1]}, quick={Nothing})
    await made.gateway.call(Nothing())
    await made.gateway.call(Hold())
    assert names == ["channel to the gateway", "t.hold #2"]
    made.gateway.close()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), MemoryError(), KeyError("k")])
async def test_whatever_a_handler_raises_its_caller_hears_of_it(error: BaseException) -> None:
    def explode(ask: Any, serving: Serving) -> Any:
        raise error

    for quick in ((), (Nothing,)):
        made = await Pair().open(asks={Nothing: explode, Add: lambda ask, _: ask.a}, quick=quick)
        with pytest.raises(RemoteError) as caught:
            await made.gateway.call(Nothing(), timeout=10)
        assert caught.value.code == "internal"
        assert await made.gateway.call(Add(4)) == 4
        await until(lambda made=made: [e for _, e in made.unexpected] == [error])  # type: ignore[misc]
        made.gateway.close()


async def test_a_handler_sees_its_deadline_and_that_it_was_withdrawn() -> None:
    seen: list[Serving] = []

    def look(ask: Nothing, serving: Serving) -> None:
        seen.append(serving)
        serving.withdrawn.wait(10)
        serving.check()

    made = await Pair().open(asks={Nothing: look})
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        await made.gateway.call(Nothing(), timeout=0.2)
    (serving,) = seen
    assert serving.deadline is not None and started < serving.deadline < time.monotonic() + 0.2
    await until(serving.withdrawn.is_set)
    call = asyncio.create_task(made.gateway.call(Nothing(), timeout=None))
    await until(lambda: len(seen) == 2)
    assert seen[1].deadline is None and seen[1].remaining() is None
    made.gateway.close()
    await until(seen[1].withdrawn.is_set)  # the channel's end withdraws as well
    with pytest.raises(PeerGone):
        await call
    await until(lambda: made.child.serving == 0)


async def test_the_end_of_the_channel_wakes_every_waiting_call(pair: Pair) -> None:
    calls = [blocking(lambda: pair.child.call(Hold(), timeout=None)) for _ in range(5)]
    await until(lambda: pair.gateway.serving == 5)
    pair.gateway.close()
    for call in calls:
        with pytest.raises(PeerGone):
            await asyncio.wait_for(call, 10)
    with pytest.raises(PeerGone):
        pair.child.call(Add(1))
    with pytest.raises(PeerGone):
        pair.child.tell(_release())
    assert pair.child.wait_closed(10) is not None
    assert len(pair.gone) == 1


def _release() -> Any:
    from tests.support.words import Release

    return Release()


async def test_garbage_ends_the_channel_with_a_reason() -> None:
    here, there = socket.socketpair()
    gone: list[IpcError] = []
    child = ThreadPeer(there, role="child", other="the gateway", on_gone=gone.append)
    child.start()
    here.sendall(b"\x00\x00\x00\x00")
    await until(lambda: gone)
    assert gone[0].code == "protocol"
    here.close()


async def test_the_socket_is_closed_when_the_channel_is_over(pair: Pair) -> None:
    sock = pair.child._sock
    pair.gateway.close()
    await until(lambda: sock.fileno() == -1)


async def test_slow_threads_and_nested_calls_do_not_hold_up_the_channel(pair: Pair) -> None:
    held = [asyncio.create_task(pair.gateway.call(Hold())) for _ in range(20)]
    assert await pair.gateway.call(CallBack("x")) == "X"
    assert await pair.gateway.call(Echo(b"1")) == b"1"
    for task in held:
        task.cancel()
    await asyncio.gather(*held, return_exceptions=True)
    while await pair.gateway.call(Withdrawals()) != 20:
        await asyncio.sleep(0.005)


async def test_a_full_house_is_refused() -> None:
    made = await Pair().open(max_open=2)
    held = [asyncio.create_task(made.gateway.call(Hold())) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(RemoteError) as caught:
        await made.gateway.call(Add(1))
    assert caught.value.code == "overloaded"
    made.gateway.close()
    await asyncio.gather(*held, return_exceptions=True)


async def test_large_messages_both_ways_at_once_do_not_deadlock(pair: Pair) -> None:
    data = b"d" * 3_000_000
    there = [asyncio.create_task(pair.gateway.call(Echo(data))) for _ in range(4)]
    back = [blocking(lambda: pair.child.call(Echo(data))) for _ in range(4)]
    for answer in await asyncio.wait_for(asyncio.gather(*there, *back), 60):
        assert answer == data
