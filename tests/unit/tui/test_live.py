"""What streams by: closed by what is durable, never said twice, bounded."""

from __future__ import annotations

from thetis_kernel.protocol.client import Delta

from thetis_tui.live import OUTPUT_LINES, Live, Output


def delta(text: str, stream: str = "s1", kind: str = "text") -> Delta:
    return Delta(session="a", kind=kind, text=text, stream=stream)


def test_a_reply_grows_and_is_closed_by_its_event() -> None:
    live = Live()
    live.hear(delta("he"))
    live.hear(delta("llo"))
    live.hear(delta("hm", kind="thinking"))
    reply = live.assistant_stored()
    assert reply is not None
    assert (reply.text, reply.thinking) == ("hello", "hm")
    assert live.assistant_stored() is None


def test_what_comes_late_for_a_closed_reply_is_ignored() -> None:
    live = Live()
    live.hear(delta("hello"))
    live.assistant_stored()
    assert live.hear(delta(" again")) is None
    assert live.hear(delta("next", stream="s2")) is not None


def test_the_oldest_open_reply_is_the_one_that_is_stored() -> None:
    live = Live()
    live.hear(delta("one", "s1"))
    live.hear(delta("two", "s2"))
    first = live.assistant_stored()
    assert first is not None
    assert first.key == "s1"
    assert list(live.replies) == ["s2"]


def test_streams_without_a_name_are_told_apart_by_what_is_stored_between_them() -> None:
    live = Live()
    live.hear(delta("one", ""))
    live.assistant_stored()
    heard = live.hear(delta("two", ""))
    assert heard is not None
    assert heard[0].text == "two"


def test_a_line_end_split_over_pieces_is_one_line_end() -> None:
    live = Live()
    live.hear(delta("a\r"))
    heard = live.hear(delta("\nb"))
    assert heard is not None
    assert heard[0].text == "a\nb"


def test_foreign_characters_are_visible_in_what_streams() -> None:
    heard = Live().hear(delta("x\x1b[31m"))
    assert heard is not None
    assert heard[1] == "x\u241b[31m"


def test_output_is_bounded_and_its_open_line_shows() -> None:
    out = Output()
    for number in range(3 * OUTPUT_LINES):
        out.add(f"line {number}\n")
    out.add("half")
    assert len(out.lines) == OUTPUT_LINES
    assert out.tail(2) == [f"line {3 * OUTPUT_LINES - 1}", "half"]
    assert out.total == 3 * OUTPUT_LINES
    out.add("x" * 1_000_000)
    assert len(out.tail(1)[0]) <= 4000


def test_a_turns_end_closes_what_never_became_durable() -> None:
    live = Live()
    live.hear(delta("lost"))
    live.output(Delta(session="a", kind="output", text="x\n", call="c1"))
    assert [reply.text for reply in live.turn_ended()] == ["lost"]
    assert not live.outputs
    assert live.hear(delta("late")) is None
