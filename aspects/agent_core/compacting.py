"""When a conversation is compacted, and how one is carried out: choose, sum up, record, and know when it is no use.

Owns the thresholds, the order of trying and the back-off. It always gets somewhere: a summary that fails is replaced by a
list, and where the middle is not enough and the window is full, the tail gives way too. What is chosen is `choosing`'s
business, the words are `summing`'s.
"""

from __future__ import annotations

from typing import Any

from choosing import CHARACTERS_A_TOKEN, KEPT, Layout
from history import History
from state import State
from summing import LIMITS, Cancelled, retold, summed_up
from thetis_guest import HostError, session, sys
from thetis_guest.lenient import flag, mapping, number

DEFAULTS = {"threshold_percent": 60, "target_percent": 25, "keep_head": 4, "keep_tail": 30}
"""Of [context]; percentages of the model's window."""
DEFAULT_WINDOW = 200_000
FULL_PERCENT = 95
"""Of what a request may hold: from here on the tail gives way too."""
LITTLE_PERCENT = 10
"""A compaction that saves less was no use."""
WAIT_NOTHING, WAIT_USELESS = 110, 125
"""Percent of the present size at which the next try is made, when nothing could go, or little did."""
WORTH_SUMMING = 200
"""Tokens below which a summary would hardly be shorter."""
USELESS_ROUNDS = 3
"""So many in a row that were no use, and it is said instead of tried, until the conversation has grown."""
MEMORY = "compaction"
"""The agent's own key for the back-off, which outlives a restart."""


class Compactor:
    """The compactions of one turn."""

    def __init__(self, turn: dict[str, Any], max_tokens: int) -> None:
        told = mapping(turn, "context")
        self._enabled = told.get("enabled") is not False
        self._settings = {key: number(told, key, value) for key, value in DEFAULTS.items()}
        self.window = number(mapping(turn, "model"), "window", DEFAULT_WINDOW) or DEFAULT_WINDOW
        self._holds = max(self.window - max_tokens, self.window // 2)
        self._remembered: dict[str, Any] | None = None

    def due(self, now: int) -> bool:
        """Whether a request of `now` tokens is compacted first."""
        if not self._enabled or now <= self._percent("threshold_percent"):
            return False
        return now >= number(self._memory(), "wait") or self._full(now)

    def compact(self, history: History, why: str, hint: str = "") -> bool:
        """Compact; whether it got smaller. `why`: threshold, asked or overflow. Raises Cancelled when stopped in between."""
        before = history.meter.now()
        layout = Layout(history.everything())
        chosen = self._chosen(layout, before, why)
        useless = number(self._memory(), "useless")
        if not chosen:
            self._back_off(before * WAIT_NOTHING // 100, useless)
            return False
        shed = self._carry_out(layout, chosen, history.state, before, why, hint)
        history.refresh()
        if shed * 100 >= before * LITTLE_PERCENT:
            if useless:
                self._back_off(0, 0)
            return True
        self._back_off(before * WAIT_USELESS // 100, useless + 1)
        if useless + 1 == USELESS_ROUNDS and why == "threshold":
            session.append(
                "system-note", {"text": _USELESS.format(n=USELESS_ROUNDS, tokens=before), "about": "compaction"}
            )
            history.refresh()
        return shed > 0

    # -- choosing

    def _chosen(self, layout: Layout, now: int, why: str) -> list[int]:
        """The rounds that go. Unless the window is full, only the middle; then half the tail, and so on to the last round."""
        target = self._percent("target_percent")
        if why != "threshold":
            target = min(target, now // 2)
        head, tail = self._settings["keep_head"], self._settings["keep_tail"]
        chosen = layout.oldest(layout.eligible(head, tail), now - target)
        enough = now // 2 if why == "overflow" else min(self._percent("threshold_percent"), self._holds)
        if why != "overflow" and not self._full(now):
            return chosen
        for kept in ((head, tail // 2), (head, tail // 4), (head, 2), (head, 0), (0, 0)):
            if now - sum(layout.rounds[number_].tokens for number_ in chosen) <= enough:
                break
            chosen = layout.oldest(layout.eligible(*kept), now - target)
        return chosen

    def _full(self, now: int) -> bool:
        return now * 100 >= self._holds * FULL_PERCENT

    def _percent(self, setting: str) -> int:
        return self.window * self._settings[setting] // 100

    # -- carrying out

    def _carry_out(self, layout: Layout, chosen: list[int], state: State, before: int, why: str, hint: str) -> int:
        """Sum up and record, a batch that fits one request after the other; the tokens that were shed."""
        batches = self._batches(layout, chosen)
        shed = 0
        for at, batch in enumerate(batches):
            if flag(session.poll_inbox(), "cancelled"):
                raise Cancelled("cancelled")
            rounds = [layout.rounds[number_] for number_ in batch]
            replaced, messages = sum(round_.tokens for round_ in rounds), sum(round_.messages for round_ in rounds)
            if replaced < WORTH_SUMMING:
                continue
            part = f" ({at + 1} of {len(batches)})" if len(batches) > 1 else ""
            summary = summed_up(
                _part(layout, batch), self._room(), hint, f"Summing up {messages} earlier messages{part}"
            )
            restated = state.restated() if at == len(batches) - 1 else ""
            saved = replaced - (len(summary.words) + len(restated)) // CHARACTERS_A_TOKEN
            if saved <= 0:
                continue  # it would only lose something
            shed += saved
            body = {
                "spans": layout.spans(batch), "summary": summary.words, "replaced": messages, "tokens_before": before,
                "tokens_after": max(before - shed, 0), "how": summary.how, "why": why, "detail": summary.why, "state": restated,
            }  # fmt: skip
            session.append("compaction", body)
        return shed

    def _room(self) -> int:
        """Tokens the request for a summary may hold; what surrounds the part is small."""
        return self._holds * 3 // 4

    def _batches(self, layout: Layout, chosen: list[int]) -> list[list[int]]:
        """The chosen rounds in order, in as few batches as fit a request each."""
        batches: list[list[int]] = []
        filled = self._room() + 1
        for number_ in chosen:
            size = len(retold(layout.rounds[number_].events, LIMITS[0])) // CHARACTERS_A_TOKEN
            if filled + size > self._room():
                batches.append([])
                filled = 0
            batches[-1].append(number_)
            filled += size
        return batches

    # -- knowing when it is no use

    def _memory(self) -> dict[str, Any]:
        if self._remembered is None:
            try:
                kept = sys.kv_get(MEMORY)
            except HostError:
                kept = None
            self._remembered = kept if isinstance(kept, dict) else {}
        return self._remembered

    def _back_off(self, wait: int, useless: int) -> None:
        self._remembered = {"wait": wait, "useless": useless}
        sys.kv_put(MEMORY, self._remembered)


def _part(layout: Layout, batch: list[int]) -> list[dict[str, Any]]:
    """The events of the batch, and the person's words between them."""
    wanted = set(batch)
    places = [at for at, row in enumerate(layout.rows) if row.round in wanted]
    rows = layout.rows[places[0] : places[-1] + 1]
    return [row.event for row in rows if row.round in wanted or row.round == KEPT]


_USELESS = (
    "Summing up earlier messages did not make this conversation smaller, {n} times in a row (about {tokens} tokens): what "
    "fills it is the newest work and the person's own words, which are kept. It is tried again once it has grown. A new "
    "conversation has the whole window."
)
