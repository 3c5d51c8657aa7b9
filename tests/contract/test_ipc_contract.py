"""What a channel promises, whatever it is made of: one body over every kind of far end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from thetis_kernel.errors import DeadlineExceeded, PeerGone, ProtocolError, Refused, RemoteError
from thetis_kernel.ipc.aio import AsyncPeer
from thetis_kernel.ipc.pair import join
from thetis_kernel.ipc.unix import Stranger, connect_unix, serve_unix
from thetis_kernel.protocol.wire import MAX_FRAME
from thetis_kernel.supervise.spawn import Plan, RoleSource, spawn

from tests.support.waiting import until
from tests.support.words import (
    Add,
    AddMore,
    Burst,
    CallBack,
    Echo,
    Fail,
    Heard,
    Hold,
    LoopEnd,
    Note,
    Nothing,
    Release,
    Shout,
    Unknown,
    UnknownNote,
    Withdrawals,
)

ROLES = RoleSource("tests.support.roles", Path(__file__).parents[2])


class Near:
    """Our end: what the far end may ask and tell us, and the channel to it."""

    def __init__(self) -> None:
        self.notes: list[int] = []
        self.unexpected: list[BaseException] = []
        self.peer: AsyncPeer

    def make(self) -> AsyncPeer:
        self.peer = AsyncPeer(role="near", other="the far end", asks=self.asks(), tells=self.tells())
        return self.peer

    def asks(self):
        return {Shout: self.shout}

    def tells(self):
        return {Note: lambda note: self.notes.append(note.n)}

    async def shout(self, ask: Shout) -> str:
        if ask.text == "no":
            raise Refused("no shouting", capability="shout")
        await asyncio.sleep(0)
        return ask.text.upper()


@pytest.fixture(params=["pair", "process", "unix"])
async def near(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Near]:
    near = Near()
    # Errors that handlers were meant to raise are reported to the loop; none but those may be.
    asyncio.get_running_loop().set_exception_handler(lambda _, context: near.unexpected.append(context["exception"]))
    if request.param == "pair":
        end = LoopEnd()
        end.peer = AsyncPeer(role="far", other="the near end", asks=end.asks(), tells=end.tells())
        await join(near.make(), end.peer)
        yield near
        end.peer.close()
    elif request.param == "process":
        child = await spawn(Plan("words", asks=near.asks(), tells=near.tells()), source=ROLES)
        near.peer = child.peer
        yield near
        child.kill()
        await child.wait()
    else:
        ends: list[LoopEnd] = []

        def accept(_: Stranger) -> AsyncPeer:
            end = LoopEnd()
            end.peer = AsyncPeer(role="far", other="the near end", asks=end.asks(), tells=end.tells())
            ends.append(end)
            return end.peer

        server = await serve_unix(tmp_path / "s" / "control", accept)
        await connect_unix(server.path, near.make())
        yield near
        server.close()
    near.peer.close()
    gc.collect()  # a future whose error nobody looked at would complain now
    assert [error for error in near.unexpected if not isinstance(error, ZeroDivisionError)] == []


async def test_answers_are_typed(near: Near) -> None:
    assert await near.peer.call(Add(2, 3)) == 5
    assert await near.peer.call(Add(2)) == 3
    assert await near.peer.call(Echo(b"\x00\xff")) == b"\x00\xff"
    assert await near.peer.call(Nothing()) is None


async def test_many_calls_at_once_get_their_own_answers(near: Near) -> None:
    answers = await asyncio.gather(*(near.peer.call(Add(n, n)) for n in range(200)))
    assert answers == [2 * n for n in range(200)]
    assert near.peer.open_calls == 0


async def test_a_slow_request_does_not_hold_up_others(near: Near) -> None:
    slow = asyncio.create_task(near.peer.call(Hold()))
    assert await near.peer.call(Add(1, 1)) == 2
    assert not slow.done()
    near.peer.tell(Release())
    assert await slow == "released"


async def test_large_bodies_pass_both_ways(near: Near) -> None:
    data = bytes(range(256)) * ((MAX_FRAME - 4096) // 256)
    assert await near.peer.call(Echo(data)) == data


async def test_an_error_of_the_tree_keeps_its_fields(near: Near) -> None:
    with pytest.raises(RemoteError) as caught:
        await near.peer.call(Fail("refused"))
    error = caught.value
    assert (error.code, error.message, error.hint) == ("refused", "writing is refused here", "Switch the mode.")
    assert error.data == {"capability": "files.write", "path": "a/b"}


async def test_an_unexpected_error_tells_only_its_type(near: Near) -> None:
    with pytest.raises(RemoteError) as caught:
        await near.peer.call(Fail("unexpected"))
    assert caught.value.code == "internal"
    assert "ZeroDivisionError" in caught.value.message
    assert "secret" not in str(caught.value) + str(caught.value.data)
    assert await near.peer.call(Add(1, 1)) == 2


@pytest.mark.parametrize("how", ["odd-data", "own-hint"])
async def test_odd_error_fields_do_not_break_the_channel(near: Near, how: str) -> None:
    with pytest.raises(RemoteError) as caught:
        await near.peer.call(Fail(how))
    assert caught.value.message == "odd"
    assert await near.peer.call(Add(1, 1)) == 2


async def test_an_answer_of_the_wrong_type_fails_the_call_alone(near: Near) -> None:
    with pytest.raises(ProtocolError, match=r"t\.fail"):
        await near.peer.call(Fail("wrong-type"))
    assert await near.peer.call(Add(1, 1)) == 2


@pytest.mark.parametrize("how", ["surrogate", "too-large"])
async def test_an_answer_that_cannot_be_sent_is_an_error_not_silence(near: Near, how: str) -> None:
    with pytest.raises(RemoteError) as caught:
        await near.peer.call(Fail(how))
    assert caught.value.code == "protocol"
    assert await near.peer.call(Add(1, 1)) == 2


async def test_a_request_that_cannot_be_sent_raises_here_and_leaves_nothing(near: Near) -> None:
    for ask in (Echo(b"x" * (MAX_FRAME + 1)), Shout("\udc80")):
        with pytest.raises(ProtocolError):
            await near.peer.call(ask)
    assert near.peer.open_calls == 0
    assert await near.peer.call(Add(1, 1)) == 2


async def test_a_deadline_raises_and_withdraws(near: Near) -> None:
    with pytest.raises(DeadlineExceeded, match=r"t\.hold"):
        await near.peer.call(Hold(), timeout=0.05)
    await _withdrawn(near, 1)
    assert near.peer.open_calls == 0


async def test_cancelling_a_call_withdraws_it(near: Near) -> None:
    call = asyncio.create_task(near.peer.call(Hold(), timeout=None))
    assert await near.peer.call(Add(1, 1)) == 2
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await _withdrawn(near, 1)


async def _withdrawn(near: Near, count: int) -> None:
    while await near.peer.call(Withdrawals(), timeout=10) != count:
        await asyncio.sleep(0.005)


async def test_the_far_end_calls_back_while_serving(near: Near) -> None:
    answers = await asyncio.gather(*(near.peer.call(CallBack(f"w{n}")) for n in range(20)))
    assert answers == [f"W{n}" for n in range(20)]
    assert await near.peer.call(CallBack("no")) == "refused: no shouting"


async def test_what_is_told_before_an_answer_is_heard_before_it(near: Near) -> None:
    assert await near.peer.call(Burst(500)) == 500
    assert near.notes == list(range(500))


async def test_notices_arrive_in_order(near: Near) -> None:
    for n in range(500):
        near.peer.tell(Note(n))
    assert await near.peer.call(Heard()) == list(range(500))


async def test_an_unknown_request_is_refused_alone(near: Near) -> None:
    with pytest.raises(RemoteError) as caught:
        await near.peer.call(Unknown())
    assert caught.value.code == "protocol"
    assert await near.peer.call(Add(1, 1)) == 2


async def test_a_field_nobody_knows_is_refused(near: Near) -> None:
    """Whose channel it is, the far end knows from the channel; a claim in a field is an error, not a wish."""
    with pytest.raises(RemoteError, match="session"):
        await near.peer.call(AddMore(1, session="another"))


async def test_an_unknown_notice_ends_the_channel(near: Near) -> None:
    near.peer.tell(UnknownNote())
    reason = await asyncio.wait_for(near.peer.wait_closed(), 10)
    assert isinstance(reason, PeerGone)


async def test_the_channel_itself_answers_pings(near: Near) -> None:
    held = asyncio.create_task(near.peer.call(Hold()))
    for _ in range(3):
        near.peer.ping()
    await until(lambda: near.peer.pongs >= 3)  # a child is pinged by its supervisor as well
    held.cancel()


async def test_closing_ends_open_calls_and_later_ones(near: Near) -> None:
    call = asyncio.create_task(near.peer.call(Hold(), timeout=None))
    await near.peer.call(Add(1, 1))
    near.peer.close()
    with pytest.raises(PeerGone):
        await call
    with pytest.raises(PeerGone):
        await near.peer.call(Add(1, 1))
    with pytest.raises(PeerGone):
        near.peer.tell(Note(1))
    with pytest.raises(PeerGone):
        await near.peer.drained()
    assert near.peer.open_calls == 0 or near.peer.closed.done()
