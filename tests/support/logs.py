"""Bodies and logs for the store's tests: small builders, and hypothesis strategies for whatever a log may hold."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from thetis_kernel.protocol.events import (
    Answer,
    Approval,
    Assistant,
    Body,
    BranchOp,
    ChildSettled,
    ChildStarted,
    Compaction,
    Event,
    Incident,
    Nudge,
    Question,
    Rewind,
    SessionStarted,
    SettingChanged,
    StateChanged,
    SystemNote,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    TurnStarted,
    Unknown,
    Usage,
    User,
    encode_body,
    kind_of,
)
from thetis_kernel.protocol.ids import new_session_id
from thetis_kernel.store.store import Store

TURN = "0123456789ab"
CALLS = ["call_a", "call_b", "call_c"]


def started(**fields: Any) -> SessionStarted:
    """The first event of a conversation."""
    given = {"root": "/r", "origin": "tui", "mode": "agent", "model": "m", "branch": "conv/x"}
    return SessionStarted(**{**given, **fields})


def new(store: Store, **fields: Any) -> str:
    """A new conversation in `store`; its id."""
    session = new_session_id()
    store.create(session, started(**fields))
    return session


def say(store: Store, session: str, *texts: str) -> list[Event]:
    """A user event for each text."""
    return [store.append(session, User(text=text)).result(10) for text in texts]


def events(*bodies: Body | Unknown) -> list[Event]:
    """Bodies as a log numbered from 1, without a store."""
    return [
        Event("0" * 16, seq, f"e{seq}", 0, kind_of(body), 1, encode_body(body))
        for seq, body in enumerate(bodies, start=1)
    ]


def reply(text: str = "", *calls: str, turn: str = TURN) -> Assistant:
    """A model's reply that says `text` and asks for `calls`."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": call, "name": "read", "input": {}} for call in calls]
    return Assistant(blocks=blocks, turn=turn, usage=Usage(input=10, output=2))


def call(name: str, turn: str = TURN) -> ToolInvocation:
    """An invocation of the model's call `name`."""
    return ToolInvocation(name, "read", {"path": "a"}, "files.read-file", False, turn)


def result(name: str, turn: str = TURN) -> ToolResult:
    """Its result."""
    return ToolResult(name, "ok", "content", turn=turn)


words = st.sampled_from(["alpha", "beta", "gamma", "delta", "fix the parser", "Ünïcode text", "snake_case", ""])
keys = st.sampled_from(["a", "b"])
numbers = st.integers(0, 40)

bodies: st.SearchStrategy[Body] = st.one_of(
    st.builds(User, text=words),
    st.builds(reply, words, st.sampled_from(CALLS)),
    st.builds(reply, words),
    st.builds(call, st.sampled_from(CALLS)),
    st.builds(result, st.sampled_from(CALLS)),
    st.builds(Nudge, text=words, source=st.sampled_from(["user", "system"])),
    st.builds(SystemNote, text=words),
    st.builds(Incident, code=st.just("x"), message=words),
    st.builds(TurnStarted, turn=st.just(TURN), mode=st.just("agent"), model=st.just("m"), attempt=st.integers(0, 1)),
    st.builds(TurnFinished, turn=st.just(TURN), stopped_by=st.sampled_from(["stop", "restarted"])),
    st.builds(BranchOp, op=st.sampled_from(["materialised", "commit"]), ok=st.booleans(), after=keys),
    st.builds(SettingChanged, name=st.sampled_from(["title", "mode", "model", "archived"]), value=st.sampled_from(["true", "x"])),
    st.builds(StateChanged, scope=st.sampled_from(["plan", "notes", "kv:g"]), key=keys, value=st.sampled_from(['"1"', ""])),
    st.builds(Approval, id=keys, capability=st.just("c"), what=words, decision=st.sampled_from(["", "deny"])),
    st.builds(Question, id=keys, questions=st.just([])),
    st.builds(Answer, id=keys, answers=st.just([])),
    st.builds(ChildStarted, child=keys, label=words, task=words),
    st.builds(ChildSettled, child=keys, state=st.just("done"), result=words),
    st.builds(Compaction, spans=st.lists(st.tuples(numbers, numbers), max_size=3), summary=words),
    st.builds(Rewind, to_seq=numbers),
)
"""Any body but session-started. Numbers and ids are few, so that events meet."""
