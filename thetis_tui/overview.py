"""What the list of all conversations says of each: state, live activity, cost; and which of them match a few words.

Texts come out safe and on one line. Must not know about widgets.
"""

from __future__ import annotations

from dataclasses import dataclass

from thetis_kernel.protocol.client import Conversation, SearchHit
from thetis_kernel.protocol.cutting import head
from thetis_kernel.protocol.spending import price_words

from thetis_tui.sanitise import one_line
from thetis_tui.state import State
from thetis_tui.text import age, duration, plural
from thetis_tui.views import title_of

STATES = {
    "needs you": ("?", "$text-warning"),
    "running": ("●", "$text-accent"),
    "stopped": ("◐", "$text-warning"),
    "error": ("✗", "$text-error"),
    "idle": ("○", "$text-disabled"),
}
"""Every word the list says of a conversation, with its mark and colour; the most urgent first."""


@dataclass(frozen=True, slots=True)
class Card:
    """One conversation. `doing`: what it does now, or what was said there; `live` when that moves."""

    session: str
    title: str
    state: str
    branch: str
    age: str
    cost: str
    doing: str
    live: bool = False
    unread: bool = False
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A place in a transcript."""

    session: str
    seq: int
    title: str
    kind: str
    snippet: str


def state_of(state: State, conversation: Conversation) -> str:
    """One of `STATES`."""
    if state.requests.get(conversation.id) or conversation.asking:
        return "needs you"
    if conversation.id in state.turns:
        return "running"
    if conversation.state in ("parked", "damaged"):
        return "error"
    ended = state.ended.get(conversation.id, "")
    if conversation.state == "interrupted" or ended == "cancelled":
        return "stopped"
    return "error" if ended == "error" else "idle"


def card_of(state: State, conversation: Conversation) -> Card:
    """What the list says of one conversation."""
    session, turn = conversation.id, state.turns.get(conversation.id)
    how = state_of(state, conversation)
    doing = head(one_line(conversation.preview), 300) or "nothing was said yet"
    if how == "needs you":
        doing = next((one_line(f"{r.what}: {head(r.detail, 200)}") for r in state.requests.get(session, {}).values()),
                     "asks for your consent")
    elif turn is not None:
        doing = f"{turn.doing} · {duration(max(0.0, state.now() - turn.started))}"
    elif conversation.state in ("parked", "damaged"):
        doing = f"{conversation.state} · {doing}"
    return Card(
        session=session,
        title=title_of(conversation),
        state=how,
        branch=one_line(conversation.branch) or "not started",
        age=age(conversation.updated_ms, state.wall_ms()),
        cost=price_words(conversation.spent) if conversation.spent.cost or conversation.spent.unpriced else "",
        doing=doing,
        live=turn is not None or how == "needs you",
        unread=session in state.unread,
        archived=conversation.archived,
    )


def cards_of(state: State, words: str = "", *, archived: bool = False) -> list[Card]:
    """All conversations, newest first, or those whose title, branch or first words hold all of `words`.

    Archived ones are in it when asked for, and always when words are looked for.
    """
    own = [c for c in state.conversations.values() if not c.parent]  # those of sub-agents are reached through theirs
    every = sorted(own, key=lambda c: (c.updated_ms, c.created_ms, c.id), reverse=True)
    parts = words.casefold().split()
    shown = [c for c in every if parts or archived or not c.archived]
    if parts:
        shown = [c for c in shown if _holds(c, parts)]
    return [card_of(state, conversation) for conversation in shown]


def _holds(conversation: Conversation, parts: list[str]) -> bool:
    text = f"{conversation.title}\n{conversation.branch}\n{conversation.preview}\n{conversation.id}".casefold()
    return all(part in text for part in parts)


def found_of(state: State, hits: list[SearchHit]) -> list[Found]:
    """Places in transcripts, with the titles of their conversations."""
    out = []
    for hit in hits:
        conversation = state.conversations.get(hit.session)
        title = title_of(conversation) if conversation else hit.session[:8]
        out.append(Found(hit.session, hit.seq, title, one_line(hit.kind), one_line(hit.snippet)))
    return out


def tally(state: State) -> str:
    """The whole in one line: how many, what runs, what needs somebody."""
    cards = cards_of(state)
    parts = [plural(len(cards), "conversation")]
    for word in ("running", "needs you", "stopped", "error"):
        number = sum(card.state == word for card in cards)
        if number:
            parts.append(f"{number} {'need you' if word == 'needs you' and number > 1 else word}")
    away = sum(c.archived and not c.parent for c in state.conversations.values())
    if away:
        parts.append(f"{away} archived")
    return " · ".join(parts)
