"""What of a log is the conversation now: the live branch after rewinds, compacted spans represented by their summary.

Pure functions over sequence numbers. A rewind at r to t makes t the predecessor of r: the live branch is found by walking
back from the end, so going back to an abandoned branch brings that branch back. Numbers are those of the whole line of a
conversation (a fork counts on from its parent's), so spans and rewinds may reach into what was inherited. Order stays
that of the log: whoever lays a summary out where its span began finds the place in the span.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thetis_kernel.protocol.events import Compaction, Rewind

Stretch = tuple[int, int]
"""Sequence numbers from..to, both included."""
Operation = tuple[int, Rewind | Compaction]


def live(last_seq: int, rewinds: Sequence[tuple[int, int]]) -> list[Stretch]:
    """The stretches of 1..`last_seq` on the live branch, ascending, given (seq of the rewind, its `to_seq`).

    A rewind that does not point back is ignored.
    """
    stretches: list[Stretch] = []
    end = last_seq
    for seq, to_seq in sorted(rewinds, reverse=True):
        if seq <= end and 0 <= to_seq < seq:
            stretches.append((seq, end))
            end = to_seq
    if end >= 1:
        stretches.append((1, end))
    return stretches[::-1]


def on(stretches: Sequence[Stretch], seq: int) -> bool:
    """Whether `seq` lies in one of the stretches."""
    return any(first <= seq <= last for first, last in stretches)


def project(last_seq: int, operations: Sequence[Operation]) -> list[Stretch]:
    """The stretches to read, ascending, given the line's rewinds and compactions in order.

    The spans of each compaction on the live branch are left out. A compaction goes too when the place it stands for is in
    a later one's span, because that later summary was made from it; otherwise it stays, even if a span runs across it.
    """
    branch = live(last_seq, rewinds(operations))
    summaries = [
        (seq, spans)
        for seq, op in operations
        if isinstance(op, Compaction) and on(branch, seq) and (spans := _usable(op, seq))
    ]
    hidden: list[Stretch] = []
    shown: list[int] = []
    later: list[Stretch] = []
    for seq, spans in reversed(summaries):
        if on(later, spans[0][0]):
            hidden.append((seq, seq))
        else:
            shown.append(seq)
        later += spans
    return _minus(branch, _minus(_merged(hidden + later), [(seq, seq) for seq in sorted(shown)]))


def rewinds(operations: Sequence[Operation]) -> list[tuple[int, int]]:
    """The rewinds among `operations`, as `live` wants them."""
    return [(seq, op.to_seq) for seq, op in operations if isinstance(op, Rewind)]


def operation(kind: str, raw: bytes) -> Rewind | Compaction:
    """The body of an event that shapes the projection. Raises msgspec's errors when its fields do not fit."""
    return msgspec.json.decode(raw, type=Rewind if kind == "rewind" else Compaction)


def _usable(compaction: Compaction, seq: int) -> list[Stretch]:
    """The spans that lie before the compaction itself, the first one first. A guest wrote them."""
    return sorted((first, last) for first, last in compaction.spans if 1 <= first <= last < seq)


def _merged(stretches: Sequence[Stretch]) -> list[Stretch]:
    """The same numbers in as few stretches as possible, ascending."""
    merged: list[Stretch] = []
    for first, last in sorted(stretches):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _minus(stretches: Sequence[Stretch], gaps: Sequence[Stretch]) -> list[Stretch]:
    """`stretches` without the numbers in `gaps`; both ascending and apart. Once through both: there may be thousands."""
    left: list[Stretch] = []
    at = 0
    for first, last in stretches:
        while at < len(gaps) and gaps[at][1] < first:
            at += 1
        here = at
        while here < len(gaps) and gaps[here][0] <= last:
            if gaps[here][0] > first:
                left.append((first, gaps[here][0] - 1))
            first = gaps[here][1] + 1
            here += 1
        if first <= last:
            left.append((first, last))
    return left
