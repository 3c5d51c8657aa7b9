"""What a conversation is at any moment: a left fold over its events, and nothing besides.

`apply` takes one event into a state and returns that state; folding a prefix and applying the rest gives what folding all
of it gives. Fold the raw line of a conversation (for a fork, its parent's events first), not its projection: settings
and facts about the branch outlive a rewind, while plan, todos, notes and groups go back with it. Unknown kinds change
nothing; a body that does not decode changes nothing but `skipped`. Knows neither the database nor who is alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import msgspec

from thetis_kernel.protocol.approvals import USED
from thetis_kernel.protocol.events import (
    REFUSED,
    Answer,
    Approval,
    BranchOp,
    ChildSettled,
    ChildStarted,
    Event,
    Incident,
    Modification,
    Nudge,
    Question,
    Queued,
    QueueEdited,
    QueueRecalled,
    Rewind,
    SessionStarted,
    SettingChanged,
    Spending,
    StateChanged,
    ToolInvocation,
    TurnFinished,
    TurnStarted,
    Usage,
    User,
)
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.store import projection, queueing, summary
from thetis_kernel.store.partly import Reply, Result
from thetis_kernel.store.sessionstate import SessionState as SessionState
from thetis_kernel.store.turnstats import TurnStats as TurnStats

_KEPT = ("kv:", "pins")
"""Scopes whose values no rewind takes back: a guest's own, and what a person pinned."""

ANSWERS = 64
"""Of settled sub-agents whose answers are at hand; those of older ones are in the log."""


def fold(events: Iterable[Event], state: SessionState | None = None) -> SessionState:
    """The state after `events`, taken into `state` (a new one by default), which is changed and returned."""
    state = SessionState() if state is None else state
    for event in events:
        feed(state, event.seq, event.kind, event.raw)
    return state


def apply(state: SessionState, event: Event) -> SessionState:
    """Take one more event into `state` and return it."""
    feed(state, event.seq, event.kind, event.raw)
    return state


def feed(state: SessionState, seq: int, kind: str, raw: bytes) -> None:
    """`apply` without an Event, for readers of whole logs."""
    state.seq = seq
    found = _HANDLERS.get(kind)
    if found is None:
        return
    decode, handle = found
    try:
        body = decode(raw)
    except msgspec.MsgspecError:
        state.skipped += 1
        return
    handle(state, seq, body)


def _started(state: SessionState, seq: int, body: SessionStarted) -> None:
    """A conversation begins; for a fork, after all it inherited: what belongs to the parent alone is dropped."""
    state.started = body
    state.mode, state.model, state.archived, state.network = body.mode, body.model, False, False
    state.branch = state.materialised = None
    state.restoring = body.tree
    state.approvals.clear()
    state.grants.clear()
    state.granted.clear()
    state.children.clear()
    state.settled.clear()
    state.queue.clear()
    state.spent.clear()
    state.stats = TurnStats()
    state.purse, state.purse_turn, state.purse_steps, state.purse_ms = Spent(), "", 0, 0


def _user(state: SessionState, seq: int, body: User) -> None:
    attachment = body.attachments[0].name if body.attachments else ""
    state.title = state.title or summary.title(body.text, attachment)
    state.last_user_text = body.text
    queueing.said(state.queue, body.queued)
    state.said = body.text if body.text.strip() else state.said
    state.approvals.clear()
    state.granted.clear()
    state.questions.clear()
    state.interrupted, state.waiting = False, seq


def _assistant(state: SessionState, seq: int, body: Reply) -> None:
    for block in body.blocks:
        if block.type == "text" and block.text.strip():
            state.said = block.text
            break
    state.unread_nudges = 0
    state.stats.iterations += 1
    state.purse_steps += 1
    _spend(state, body.model, body.usage, body.cost)


def _spending(state: SessionState, seq: int, body: Spending) -> None:
    _spend(state, body.model, body.usage, body.cost)


def _spend(state: SessionState, model: str, usage: Usage, cost: Decimal | None) -> None:
    state.stats.add(usage, cost)
    state.purse = state.purse.plus(usage, cost)
    if usage.total:
        state.spent[model] = state.spent.get(model, Spent()).plus(usage, cost)


def _nudge(state: SessionState, seq: int, body: Nudge) -> None:
    state.unread_nudges += body.source == "user"


def _invocation(state: SessionState, seq: int, body: ToolInvocation) -> None:
    state.unanswered[body.call] = state.last_call = body
    state.stats.tool_calls += 1


def _result(state: SessionState, seq: int, body: Result) -> None:
    state.unanswered.pop(body.call, None)


def _turn_started(state: SessionState, seq: int, body: TurnStarted) -> None:
    state.turn = state.last_started = body
    state.turns += body.attempt == 0
    if state.waiting:  # a person spoke; a turn that a notice or a restart began goes on with the purse there was
        state.purse, state.purse_turn, state.purse_steps, state.purse_ms = Spent(), body.turn, 0, 0
    state.stats = TurnStats(body.turn, spent=state.stats.spent if body.attempt else Spent())
    state.interrupted, state.waiting = False, 0


def _turn_finished(state: SessionState, seq: int, body: TurnFinished) -> None:
    state.turn, state.last_finished, state.waiting = None, body, 0
    state.purse_ms += body.duration_ms
    if body.stopped_by == "cancelled":
        state.approvals.clear()
    state.interrupted = body.stopped_by == "restarted"


def _branch(state: SessionState, seq: int, body: BranchOp) -> None:
    if body.op == "restored":
        state.restoring = ""
    if body.ok:
        state.branch = body
        if body.op == "materialised":
            state.materialised = body


def _setting(state: SessionState, seq: int, body: SettingChanged) -> None:
    if body.name == "title":
        state.title = summary.one_line(body.value, summary.NAME_LENGTH)
    elif body.name == "mode":
        state.mode = body.value
    elif body.name == "model":
        state.model = body.value
    elif body.name == "archived":
        state.archived = body.value == "true"
    elif body.name == "network":
        state.network = body.value == "true"


def _value(state: SessionState, seq: int, body: StateChanged) -> None:
    if not body.scope.startswith(_KEPT):
        state.changes.append((seq, body))
    _put(state.values, body)


def _rewind(state: SessionState, seq: int, body: Rewind) -> None:
    """Values become those of the branch the conversation goes on from."""
    state.rewinds.append((seq, body.to_seq))
    state.restoring = body.tree
    if (
        body.to_seq < seq - 1
    ):  # what was open then is not any more: nobody waits for an answer, no words wait for a turn
        state.approvals.clear()
        state.granted.clear()
        state.questions.clear()
        state.interrupted, state.waiting, state.unread_nudges = False, 0, 0
    branch = projection.live(seq, state.rewinds)
    state.values = {scope: held for scope, held in state.values.items() if scope.startswith(_KEPT)}
    for changed, change in state.changes:
        if projection.on(branch, changed):
            _put(state.values, change)


def _modification(state: SessionState, seq: int, body: Modification) -> None:
    (state.refused if body.verdict == REFUSED else state.modifications).append((seq, body))


def _mishap(state: SessionState, seq: int, body: Incident) -> None:
    """Incidents about a guest stand beside its revisions."""
    if body.data.get("aspect"):
        state.mishaps.append((seq, body))


def _put(values: dict[str, dict[str, str]], change: StateChanged) -> None:
    if change.value:
        values.setdefault(change.scope, {})[change.key] = change.value
    else:
        values.get(change.scope, {}).pop(change.key, None)


def _approval(state: SessionState, seq: int, body: Approval) -> None:
    if not body.decision:
        state.approvals[body.id] = body
        return
    state.approvals.pop(body.id, None)
    if body.decision == USED:
        state.granted.pop(body.effect, None)
    elif body.decision == "allow-session":
        state.grants += [(body.capability, pattern) for pattern in body.patterns]
    elif body.decision == "allow-once" and not body.live and body.effect:
        state.granted[body.effect] = body.id


def _question(state: SessionState, seq: int, body: Question) -> None:
    state.questions[body.id] = body


def _answer(state: SessionState, seq: int, body: Answer) -> None:
    state.questions.pop(body.id, None)


def _child(state: SessionState, seq: int, body: ChildStarted) -> None:
    state.children[body.child] = body


def _child_settled(state: SessionState, seq: int, body: ChildSettled) -> None:
    if state.children.pop(body.child, None) is None:
        return  # settled before, or not ours: it is counted once
    state.settled[body.child] = body
    if len(state.settled) > ANSWERS:
        faded = list(state.settled)[-ANSWERS - 1]
        state.settled[faded] = msgspec.structs.replace(state.settled[faded], result="")
    state.purse_steps += body.steps
    for model, spent in body.spent.items():
        state.purse += spent
        state.spent[model] = state.spent.get(model, Spent()) + spent


def _on(type_: Any, handle: Callable[[SessionState, int, Any], None]) -> tuple[Callable[[bytes], Any], Any]:
    return msgspec.json.Decoder(type_).decode, handle


_HANDLERS = {
    "session-started": _on(SessionStarted, _started),
    "user": _on(User, _user),
    "assistant": _on(Reply, _assistant),
    "nudge": _on(Nudge, _nudge),
    "tool-invocation": _on(ToolInvocation, _invocation),
    "tool-result": _on(Result, _result),
    "turn-started": _on(TurnStarted, _turn_started),
    "turn-finished": _on(TurnFinished, _turn_finished),
    "branch-op": _on(BranchOp, _branch),
    "setting-changed": _on(SettingChanged, _setting),
    "state-changed": _on(StateChanged, _value),
    "rewind": _on(Rewind, _rewind),
    "queued": _on(Queued, lambda state, _, body: queueing.queued(state.queue, body)),
    "queue-edited": _on(QueueEdited, lambda state, _, body: queueing.edited(state.queue, body)),
    "queue-recalled": _on(QueueRecalled, lambda state, _, body: queueing.recalled(state.queue, body)),
    "modification": _on(Modification, _modification),
    "incident": _on(Incident, _mishap),
    "spending": _on(Spending, _spending),
    "approval": _on(Approval, _approval),
    "question": _on(Question, _question),
    "answer": _on(Answer, _answer),
    "child-started": _on(ChildStarted, _child),
    "child-settled": _on(ChildSettled, _child_settled),
}
