"""What each frame does to a channel's state, without any I/O."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import PeerGone, ProtocolError, Refused, RemoteError, ThetisError
from thetis_kernel.ipc.core import (
    MAX_DATA,
    Alive,
    Asked,
    Core,
    Greeted,
    Happening,
    Send,
    Settled,
    Told,
    Withdrawn,
    error_of,
    failure_of,
)
from thetis_kernel.ipc.framing import FrameReader, encode
from thetis_kernel.ipc.vocabulary import Vocabulary, encode_body
from thetis_kernel.protocol.wire import (
    MAX_FRAME,
    PROTOCOL,
    Envelope,
    Failure,
    Hello,
    Ping,
    Pong,
    Reply,
    Request,
    Said,
    Withdraw,
)

from tests.support.words import Add, Echo, Note, Nothing, Unknown

HELLO = Hello(protocol=PROTOCOL, version="1", role="far", pid=2)


def core(greeted: bool = True, max_open: int = 8) -> Core:
    made = Core(
        Hello(protocol=PROTOCOL, version="1", role="near", pid=1),
        Vocabulary([Add, Echo, Nothing], [Note]),
        other="the far end",
        max_open=max_open,
    )
    if greeted:
        assert hear(made, HELLO) == [Greeted(HELLO)]
    return made


def hear(core: Core, *envelopes: Envelope) -> Sequence[Happening]:
    return list(core.receive(b"".join(bytes(encode(e)) for e in envelopes)))


def sent(frame: bytes | bytearray | None) -> Envelope:
    assert frame is not None
    (envelope,) = FrameReader().feed(frame)
    return envelope


def request(number: int, ask: Add | Echo | Nothing | Unknown, timeout_ms: int = 0) -> Request:
    return Request(number, encode_body(ask, "it"), timeout_ms)


def test_the_first_frame_is_our_hello() -> None:
    hello = sent(core(greeted=False).hello())
    assert isinstance(hello, Hello)
    assert (hello.protocol, hello.role, hello.pid, hello.token) == (PROTOCOL, "near", 1, "")


@pytest.mark.parametrize("first", [Ping(1), Request(1, msgspec.Raw(b"\x80")), Withdraw(1), Pong(1)])
def test_anything_before_a_hello_ends_it(first: Envelope) -> None:
    with pytest.raises(ProtocolError, match="hello"):
        hear(core(greeted=False), first)


def test_another_protocol_ends_it_with_both_numbers() -> None:
    with pytest.raises(ProtocolError) as caught:
        hear(core(greeted=False), Hello(protocol=PROTOCOL + 1, version="9", role="far", pid=2))
    assert caught.value.data == {"theirs": PROTOCOL + 1, "ours": PROTOCOL}
    assert caught.value.hint


def test_a_second_hello_ends_it() -> None:
    with pytest.raises(ProtocolError, match="twice"):
        hear(core(), HELLO)


def test_admit_may_refuse_a_hello() -> None:
    made = core(greeted=False)

    def refuse(hello: Hello) -> None:
        raise ProtocolError(f"not {hello.role}")

    made.admit = refuse
    with pytest.raises(ProtocolError, match="not far"):
        hear(made, HELLO)


def test_a_request_is_served_once_answered() -> None:
    made = core()
    assert hear(made, request(1, Add(2), 1500)) == [Asked(1, Add(2), 1.5)]
    assert made.serving == 1
    answer = sent(made.reply(1, Add(2), 5))
    assert isinstance(answer, Reply)
    assert (answer.id, bytes(answer.body)) == (1, msgspec.msgpack.encode(5))
    assert made.serving == 0


@pytest.mark.parametrize("again", [1, 2, 0, -5])
def test_a_request_number_never_comes_back(again: int) -> None:
    made = core()
    hear(made, request(2, Nothing()))
    made.reply(2, Nothing(), None)
    with pytest.raises(ProtocolError, match="again"):
        hear(made, request(again, Nothing()))


def test_too_many_open_requests_are_refused_one_by_one() -> None:
    made = core(max_open=2)
    one, two, three = hear(made, *(request(n, Nothing()) for n in (1, 2, 3)))
    assert isinstance(one, Asked) and isinstance(two, Asked) and isinstance(three, Send)
    refusal = sent(three.frame)
    assert isinstance(refusal, Failure)
    assert (refusal.id, refusal.code) == (3, "overloaded")
    made.forget(1)
    assert isinstance(hear(made, request(4, Nothing()))[0], Asked)


def test_an_unknown_request_is_answered_with_a_failure() -> None:
    (happening,) = hear(core(), request(1, Unknown()))
    assert isinstance(happening, Send)
    failure = sent(happening.frame)
    assert isinstance(failure, Failure) and failure.code == "protocol"


def test_an_unknown_notice_ends_it() -> None:
    with pytest.raises(ProtocolError):
        hear(core(), Said(msgspec.Raw(msgspec.msgpack.encode({"tell": "nobody.knows"}))))
    assert hear(core(), Said(encode_body(Note(3), "it"))) == [Told(Note(3))]


def test_a_call_is_settled_once() -> None:
    made = core()
    number, frame = made.ask(Add(2), 0.25)
    asked = sent(frame)
    assert isinstance(asked, Request) and asked.timeout_ms == 250
    reply = Reply(number, msgspec.Raw(msgspec.msgpack.encode(5)))
    assert hear(made, reply) == [Settled(number, 5, None)]
    assert hear(made, reply) == []  # replayed: nobody waits for it
    assert made.open_calls == 0


@pytest.mark.parametrize("number", [0, 2, -1, 2**62])
def test_an_answer_to_nothing_ends_it(number: int) -> None:
    made = core()
    made.ask(Add(2), None)
    with pytest.raises(ProtocolError, match="never"):
        hear(made, Reply(number, msgspec.Raw(b"\x05")))


def test_a_withdrawn_call_ignores_its_late_answer() -> None:
    made = core()
    number, _ = made.ask(Add(2), None)
    assert sent(made.withdraw(number)) == Withdraw(number)
    assert made.withdraw(number) is None
    assert hear(made, Reply(number, msgspec.Raw(b"\x05"))) == []


def test_a_withdraw_is_heard_only_while_serving() -> None:
    made = core()
    hear(made, request(1, Nothing()))
    assert hear(made, Withdraw(1)) == [Withdrawn(1)]
    made.forget(1)
    assert hear(made, Withdraw(1), Withdraw(99)) == []


def test_pings_are_answered_and_pongs_must_be_asked_for() -> None:
    made = core()
    (answer,) = hear(made, Ping(7))
    assert isinstance(answer, Send) and sent(answer.frame) == Pong(7)
    made.ping(1)
    assert hear(made, Pong(1)) == [Alive(1)]
    with pytest.raises(ProtocolError, match="ping"):
        hear(made, Pong(2))


def test_an_answer_of_the_wrong_type_is_that_calls_error() -> None:
    made = core()
    number, _ = made.ask(Add(2), None)
    (settled,) = hear(made, Reply(number, msgspec.Raw(msgspec.msgpack.encode("five"))))
    assert isinstance(settled, Settled) and isinstance(settled.error, ProtocolError)
    assert "one version of Thetis" in settled.error.hint


def test_unreadable_failure_data_ends_it() -> None:
    for data in ("", "[]", "{", "[" * 100_000):
        made = core()
        number, _ = made.ask(Add(2), None)
        with pytest.raises(ProtocolError):
            hear(made, Failure(number, "x", "y", data=data))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)


@given(st.text(), st.text(), st.dictionaries(st.text(max_size=20), json_values, max_size=5))
def test_errors_of_the_tree_cross_whole(message: str, hint: str, data: dict[str, object]) -> None:
    error = ThetisError(message, hint=hint, code="some-code")
    error.data = data
    (crossed,) = FrameReader().feed(encode(failure_of(1, error)))
    assert isinstance(crossed, Failure)
    back = error_of(crossed)
    assert (back.code, back.message, back.hint, back.data) == ("some-code", message, hint, data)
    again = error_of(failure_of(2, back))  # relayed by the gateway
    assert (again.code, again.message, again.hint, again.data) == (back.code, back.message, back.hint, back.data)


@given(st.text(alphabet=st.characters(), max_size=50), st.binary(max_size=20))
def test_any_error_makes_a_frame(text: str, data: bytes) -> None:
    """Lone surrogates, bytes, cycles, sizes: a failure must always be sendable, or its caller would wait for ever."""
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    for odd in (data, {text, 1}, float("nan"), cyclic, object(), 2**70, {(1, 2): 3}, "\udc80"):
        error = Refused(text + "\ud800", capability="x", hint="\udfff" + text)
        error.data["odd"] = odd
        assert len(encode(failure_of(1, error))) < MAX_FRAME


def test_a_huge_error_is_cut_to_fit() -> None:
    error = ThetisError("m" * 10_000_000, hint="h" * 10_000_000, code="c" * 10_000_000, blob="x" * (MAX_DATA + 1))
    failure = failure_of(1, error)
    assert len(encode(failure)) < 200_000
    assert "omitted" in failure.data


def test_an_unexpected_error_gives_away_its_type_alone() -> None:
    failure = failure_of(1, KeyError("sk-secret"))
    assert failure.code == "internal"
    assert "KeyError" in failure.message and "secret" not in str(failure)


def test_a_hint_or_message_in_the_data_does_not_disturb() -> None:
    back = error_of(Failure(1, "peer-gone", "m", data='{"message": "x", "hint": "y", "code": "z", "self": 1}'))
    assert isinstance(back, RemoteError) and not isinstance(back, PeerGone)
    assert back.data["code"] == "z" and back.code == "peer-gone"


def test_a_request_that_cannot_be_sent_leaves_no_trace() -> None:
    made = core()
    with pytest.raises(ProtocolError):
        made.ask(Echo(b"x" * (MAX_FRAME + 1)), None)
    assert made.open_calls == 0
    assert made.ask(Add(1), None)[0] == 1
