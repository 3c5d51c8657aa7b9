from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import GuestError
from thetis_kernel.hosts.face import batches as module
from thetis_kernel.hosts.face.batches import answers, argument, batches, entries
from thetis_kernel.hosts.face.rendering import MAX_EXTRA_CALLS, render
from thetis_kernel.protocol.face import FaceEvent


def events(count, body=b'{"kind":"user","text":"x"}', first=1):
    return [FaceEvent(seq, "user", 0, body) for seq in range(first, first + count)]


class Guest:
    """render_events in Python; `bad` seqs raise, `hidden` ones are left out."""

    def __init__(self, bad=(), kind="error", hidden=()):
        self.bad, self.kind, self.hidden = set(bad), kind, set(hidden)
        self.batches = []

    def __call__(self, text):
        given_events = json.loads(text)
        self.batches.append([e["seq"] for e in given_events])
        if self.bad & set(self.batches[-1]):
            raise GuestError("KeyError: 'x'", kind=self.kind)
        drawn = [{"seq": e["seq"], "blocks": [{"kind": "note", "body": e["kind"]}]} for e in given_events]
        return json.dumps([d for d in drawn if d["seq"] not in self.hidden])


def seqs(rendered):
    return [r.seq for r in rendered]


def test_fifty_events_are_one_call():
    guest = Guest()
    assert seqs(render(events(120), guest)) == list(range(1, 121))
    assert [len(batch) for batch in guest.batches] == [50, 50, 20]


def test_no_events_are_no_call():
    guest = Guest()
    assert render([], guest) == [] and guest.batches == []


def test_large_events_fill_a_call_sooner():
    guest = Guest()
    render(events(10, json.dumps({"text": "x" * 200_000}).encode()), guest)
    assert [len(batch) for batch in guest.batches] == [5, 5]


UNFIT = {
    "empty": b"",
    "cut": b"{",
    "deep and cut": b"[" * 100_000,
    "deep": b'{"a":' * 63 + b"1" + b"}" * 63,
    "not UTF-8": b"\xff",
    "surrogate": b'"\\ud800"',
    "NaN": b"NaN",
    "infinite": b"1e999",
    "large": json.dumps("x" * 300_000).encode(),
}


@pytest.mark.parametrize("body", UNFIT.values(), ids=UNFIT)
def test_a_body_no_guest_should_see_is_left_to_the_plain_renderer(body):
    guest = Guest()
    mixed = [*events(2), FaceEvent(9, "user", 0, body), *events(1, first=10)]
    assert seqs(render(mixed, guest)) == [1, 2, 10]
    assert all(9 not in batch for batch in guest.batches)


def test_a_body_as_deep_as_may_be_is_given():
    assert seqs(render([FaceEvent(1, "user", 0, b'{"a":' * 60 + b"1" + b"}" * 60)], Guest())) == [1]


def test_only_such_events_are_no_failure():
    assert render(events(3, b"{"), Guest()) == []


def test_a_guest_sees_the_event_as_the_contract_says():
    body = {"kind": "user", "text": 'quote " and \\ and \n'}
    (found,) = entries([FaceEvent(5, "user", 12, json.dumps(body).encode())])
    assert json.loads(found[1]) == {"seq": 5, "kind": "user", "ts_ms": 12, "body": body}


def test_one_bad_event_costs_one_event():
    guest = Guest(bad=[17])
    assert seqs(render(events(50), guest)) == [s for s in range(1, 51) if s != 17]
    assert len(guest.batches) <= 1 + MAX_EXTRA_CALLS


def test_many_bad_events_cost_a_bounded_number_of_calls():
    guest = Guest(bad=range(1, 51, 2))
    assert len(render(events(50), guest)) < 25
    assert len(guest.batches) == 1 + MAX_EXTRA_CALLS


@pytest.mark.parametrize("kind", ["trap", "timeout", "memory", "exit", "abort"])
def test_a_broken_guest_is_not_asked_again(kind):
    guest = Guest(bad=[1], kind=kind)
    with pytest.raises(GuestError):
        render(events(120), guest)
    assert len(guest.batches) == 1


def test_a_guest_that_fails_at_everything_is_an_error():
    with pytest.raises(GuestError):
        render(events(3), Guest(bad=[1, 2, 3]))


@pytest.mark.parametrize("answer", ["", "{}", "null", "[", "[" * 9000, '"x"'])
def test_an_answer_that_is_no_list_is_an_error(answer):
    with pytest.raises(GuestError) as caught:
        render(events(3), lambda text: answer)
    assert caught.value.kind == "type"


def test_what_a_guest_leaves_out_is_left_out():
    assert seqs(render(events(5), Guest(hidden=[2]))) == [1, 3, 4, 5]


def test_misfits_duplicates_and_strangers_are_left_out():
    batch = [(1, "{}"), (2, "{}"), (3, "{}")]
    text = json.dumps(
        [
            {"seq": 1, "blocks": [{"kind": "user", "body": "first"}]},
            {"seq": 1, "blocks": [{"kind": "user", "body": "again"}]},
            {"seq": 2, "blocks": "none"},
            {"seq": 77, "blocks": []},
            3,
        ]
    )
    assert {seq: r.blocks[0].body for seq, r in answers(text, batch).items()} == {1: "first"}


def test_a_lone_surrogate_costs_itself_only():
    text = '[{"seq":1,"blocks":[{"kind":"note","body":"a\\ud800b"}]},{"seq":2,"blocks":[]}]'
    found = answers(text, [(1, ""), (2, "")])
    assert found[1].blocks[0].body == "a\ufffdb" and 2 in found


def test_what_is_drawn_is_bounded_and_clean():
    block = {"kind": "script", "body": "\x1b[2J" + "x" * 100_000, "tone": "shiny"}
    found = answers(json.dumps([{"seq": 1, "blocks": [block] * 99}]), [(1, "")])
    assert len(found[1].blocks) == 16
    first = found[1].blocks[0]
    assert (first.kind, first.tone, len(first.body), first.seq) == ("note", "normal", 64 * 1024, 1)
    assert "\x1b" not in first.body


def test_an_answer_far_too_long_is_read_no_further_than_needed():
    text = json.dumps([{"seq": 9, "blocks": []}] * 100_000 + [{"seq": 1, "blocks": []}])
    assert answers(text, [(1, "")]) == {}


@given(st.lists(st.integers(1, 600_000), max_size=20))
def test_batches_keep_order_and_limits(sizes):
    found = [(seq, "x" * size) for seq, size in enumerate(sizes)]
    cut = list(batches(found))
    assert [entry for batch in cut for entry in batch] == found
    assert all(len(batch) == 1 or sum(len(t) for _, t in batch) <= module.MAX_BATCH for batch in cut)


@given(st.binary(max_size=100))
def test_any_body_is_given_whole_or_not_at_all(body):
    for _, text in entries([FaceEvent(1, "k", 0, body)]):
        assert msgspec.json.decode(text.encode())["body"] == msgspec.json.decode(body)
        assert json.loads(argument([(1, text)]))[0]["seq"] == 1
