"""What a compaction sheds: the rules, as pure functions over the events the agent reads.

- The head and the tail are kept verbatim; their edges are moved so that no round is cut by them.
- What the person said is never summarised, wherever it stands.
- Between them lie rounds: a reply with the results that answer its calls, or a reply alone. They go oldest first, and the
  walk stops at the first boundary that gets under the target.
- A round is never split, and a span never runs across what is kept.

Deciding what goes matters more than how it is summed up. Must not know models, words or the host.
"""

from __future__ import annotations

from typing import Any

from thetis_guest.lenient import mapping, number, objects, text

CHARACTERS_A_TOKEN = 4
PICTURE_TOKENS = 1_500
"""Of a picture or PDF page in a request, roughly (provider's vision guide: width times height over 750)."""


class Round:
    """A reply with its results, or an earlier summary. `seqs`: its places in the conversation, ascending."""

    def __init__(self, summary: bool) -> None:
        self.summary = summary
        self.events: list[dict[str, Any]] = []
        self.seqs: list[int] = []
        self.messages = 0
        self.tokens = 0

    def take(self, place: int, event: dict[str, Any], counts: int) -> None:
        """One more event of it."""
        self.events.append(event)
        self.seqs.append(place)
        self.messages += counts
        self.tokens += tokens(event)


class Row:
    """An event in its place. `round` is the index of its round, KEPT for what stays, SILENT for what a model never sees.

    `counts`: 1 when it is a message of its own.
    """

    def __init__(self, place: int, event: dict[str, Any], round_: int, counts: int) -> None:
        self.place = place
        self.event = event
        self.round = round_
        self.counts = counts


KEPT = -1
SILENT = -2


class Layout:
    """The conversation as rows, in the order a model reads them, and its rounds."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.rows: list[Row] = []
        self.rounds: list[Round] = []
        self._spoken = True
        """Whether something that is kept stands after the newest round."""
        self._owners: dict[str, int] = {}
        """Which round began each call: its results are of that round, wherever they stand."""
        self._leading: list[Row] = []
        for event in sorted(events, key=place):
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        kind, at = text(event, "kind"), place(event)
        if said(event):
            self.rows.append(Row(at, event, KEPT, 1))
            self._spoken = True
        elif kind in ("assistant", "compaction"):
            self._begin(at, event)
        elif kind in ("tool-invocation", "tool-result"):
            owner = self._owners.get(text(mapping(event, "body"), "call"), self._newest())
            self._put(at, event, owner, int(kind == "tool-result"))
        elif kind in ("system-note", "nudge"):
            self._put(at, event, self._newest(), 1)
        else:
            self.rows.append(Row(at, event, SILENT, 0))

    def _begin(self, at: int, event: dict[str, Any]) -> None:
        started = Round(text(event, "kind") == "compaction")
        calls = {text(block, "id") for block in objects(mapping(event, "body"), "blocks")} - {""}
        self._owners.update(dict.fromkeys(calls, len(self.rounds)))
        self.rounds.append(started)
        for row in self._leading:  # what was noted after the person's words and before the reply goes with the reply
            row.round = len(self.rounds) - 1
            started.take(row.place, row.event, row.counts)
        self._leading = []
        self._spoken = False
        self._put(at, event, self._newest(), 1)

    def _newest(self) -> int:
        """The round that is under way, KEPT where something that stays stands after it."""
        return KEPT if self._spoken else len(self.rounds) - 1

    def _put(self, at: int, event: dict[str, Any], owner: int, counts: int) -> None:
        row = Row(at, event, owner, counts)
        self.rows.append(row)
        if owner == KEPT:
            self._leading.append(row)
        else:
            self.rounds[owner].take(at, event, counts)

    def eligible(self, keep_head: int, keep_tail: int) -> list[int]:
        """The rounds that lie wholly between the first `keep_head` and the last `keep_tail` messages, oldest first."""
        whole: dict[int, tuple[int, int]] = {}
        for at, row in enumerate(self.rows):
            if row.round >= 0:
                whole[row.round] = (whole.get(row.round, (at, at))[0], at)
        head = self._edge(range(len(self.rows)), keep_head)
        tail = len(self.rows) - self._edge(range(len(self.rows) - 1, -1, -1), keep_tail)
        return [number for number, (first, last) in whole.items() if first >= head and last < tail]

    def _edge(self, order: range, messages: int) -> int:
        """How many rows from one end hold so many messages."""
        counted = taken = 0
        for at in order:
            if counted >= messages:
                break
            taken += 1
            counted += self.rows[at].counts
        return taken

    def oldest(self, eligible: list[int], need: int) -> list[int]:
        """Of `eligible`, from the oldest on, as many as shed `need` tokens, and none more."""
        chosen: list[int] = []
        shed = 0
        for number_ in eligible:
            if shed >= need:
                break
            chosen.append(number_)
            shed += self.rounds[number_].tokens
        return chosen

    def spans(self, chosen: list[int]) -> list[tuple[int, int]]:
        """The stretches (first, last) of sequence numbers that hold the chosen rounds and nothing that is kept."""
        wanted = set(chosen)
        found: list[tuple[int, int]] = []
        open_ = False
        for row in self.rows:
            if row.round in wanted:
                if open_:
                    found[-1] = (found[-1][0], row.place)
                else:
                    found.append((row.place, row.place))
                    open_ = True
            elif row.round != SILENT:
                open_ = False
        return found


def place(event: dict[str, Any]) -> int:
    """Where a model reads the event: a summary stands where its first span began."""
    seq = number(event, "seq")
    if text(event, "kind") != "compaction":
        return seq
    spans = mapping(event, "body").get("spans")
    pairs = [span for span in spans if isinstance(span, list) and len(span) == 2] if isinstance(spans, list) else []
    firsts = [first for first, last in pairs if type(first) is int and type(last) is int and 1 <= first <= last < seq]
    return min(firsts, default=seq)


def said(event: dict[str, Any]) -> bool:
    """Whether these are a person's own words: they are never summarised."""
    kind = text(event, "kind")
    return kind in ("user", "answer") or (
        kind == "nudge" and text(mapping(event, "body"), "source", "user") != "system"
    )


def tokens(event: dict[str, Any]) -> int:
    """About how many tokens a model reads for the event."""
    body = mapping(event, "body")
    kind = text(event, "kind")
    characters = 0
    if kind == "assistant":
        characters = sum(len(str(block)) for block in objects(body, "blocks"))
    elif kind == "tool-result":
        characters = len(text(body, "content"))
    elif kind in ("user", "nudge", "system-note"):
        characters = len(text(body, "text"))
    elif kind == "answer":
        characters = len(str(body.get("answers")))
    elif kind == "compaction":
        characters = len(text(body, "summary")) + len(text(body, "state"))
    pictures = sum(text(blob, "media_type") != "text/plain" for blob in objects(body, "attachments"))
    return characters // CHARACTERS_A_TOKEN + pictures * PICTURE_TOKENS
