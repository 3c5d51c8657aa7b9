"""Projection over sequence numbers, against a slow and obvious reckoning (the model's is a third, see the contract)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.events import Compaction, Rewind
from thetis_kernel.store import projection

LAST = 30
seqs = st.integers(1, LAST)
operations = st.dictionaries(
    seqs,
    st.builds(Rewind, to_seq=st.integers(-1, LAST))
    | st.builds(Compaction, spans=st.lists(st.tuples(st.integers(-1, LAST), st.integers(-1, LAST)), max_size=3),
                summary=st.just("s")),
    max_size=6,
).map(lambda found: sorted(found.items()))


def numbers(stretches: list[projection.Stretch]) -> list[int]:
    return [n for first, last in stretches for n in range(first, last + 1)]


@given(operations)
def test_the_live_branch_is_the_way_back_from_the_end(ops):
    rewinds = projection.rewinds(ops)
    back = {seq: to for seq, to in rewinds if 0 <= to < seq}
    way, at = [], LAST
    while at >= 1:
        way.append(at)
        at = back.get(at, at - 1)
    assert numbers(projection.live(LAST, rewinds)) == way[::-1]


@given(operations)
def test_the_projection_is_ascending_and_within_the_live_branch(ops):
    shown = numbers(projection.project(LAST, ops))
    assert shown == sorted(set(shown))
    assert set(shown) <= set(numbers(projection.live(LAST, projection.rewinds(ops))))


@given(operations)
def test_what_is_left_out_is_in_a_span_or_a_compaction_made_again(ops):
    live = set(numbers(projection.live(LAST, projection.rewinds(ops))))
    spans = [s for seq, op in ops if isinstance(op, Compaction) and seq in live for s in op.spans if 1 <= s[0] <= s[1] < seq]
    for gone in live - set(numbers(projection.project(LAST, ops))):
        assert projection.on(spans, gone) or isinstance(dict(ops).get(gone), Compaction)


def test_cases():
    assert projection.project(0, []) == []
    assert projection.project(5, []) == [(1, 5)]
    assert projection.live(9, [(5, 0)]) == [(5, 9)]
    assert projection.live(9, [(5, 5), (6, 7)]) == [(1, 9)], "a rewind that does not point back is none"
    assert projection.live(9, [(5, 2), (8, 4)]) == [(1, 4), (8, 9)], "back to an abandoned branch"
    assert projection.project(9, [(6, Compaction([(2, 9)], "s"))]) == [(1, 9)], "a span past its compaction is none"
    assert projection.project(9, [(6, Compaction([], "s"))]) == [(1, 9)]
    compacted = [(6, Compaction([(2, 3)], "s")), (9, Compaction([(5, 8)], "t"))]
    assert projection.project(9, compacted) == [(1, 1), (4, 4), (6, 6), (9, 9)]
    assert projection.project(9, [(6, Compaction([(2, 3)], "s")), (9, Compaction([(1, 8)], "t"))]) == [(9, 9)]
