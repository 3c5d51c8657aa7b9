"""The turn loop: ask the model, run its calls, until it is done or something ends the turn.

Owns the order of things and why a turn ended. Holds nothing between turns: everything it knows it reads from the log.
Must not know how results read or what a provider sends.
"""

from __future__ import annotations

import json
from typing import Any

from choosing import CHARACTERS_A_TOKEN
from compacting import Compactor
from guards import REPEATED, SAME_FAILURES, limit_reached
from history import History
from prompt import system_prompt
from reminding import reminded
from state import State
from summing import Cancelled
from surface import Tools
from thetis_guest import HostError, llm, session, tooling
from thetis_guest.lenient import flag, mapping, number, objects, text
from toolbox import read_only

DEFAULT_MAX_TOKENS = 8192
FAILURES = {
    "context-overflow": "The conversation is too long for the model.",
    "rate-limited": "The model's provider asks to slow down.",
    "overloaded": "The model's provider is overloaded.",
    "transport": "The connection to the model broke.",
    "auth": "The model's provider does not accept the credentials.",
    "bad-request": "The model's provider rejected the request.",
}


def run_turn(turn: dict[str, Any]) -> dict[str, Any]:
    """Carry one turn to its end. `turn` and the answer: see `handle-turn` in the contract."""
    mode, model = mapping(turn, "mode"), mapping(turn, "model")
    restricted = read_only(mode)
    max_tokens = number(model, "max_output", DEFAULT_MAX_TOKENS)
    request: dict[str, Any] = {"system": system_prompt(turn, restricted), "max_tokens": max_tokens}
    state = State(turn)
    tools = Tools(turn, restricted, state)
    history = History(text(model, "id"), state, tools.deferred)
    history.refresh()
    tools.begin(history.opening)
    request |= tools.part(history.compacted)
    history.weigh(len(json.dumps([request["system"], request["tools"]])) // CHARACTERS_A_TOKEN)
    compactor = Compactor(turn, max_tokens)
    if "compact" in turn:  # a person asked for this and nothing else
        return _compacted(compactor, history, text(mapping(turn, "compact"), "hint"))
    overflowed = False
    while True:
        inbox = session.poll_inbox()
        history.refresh()
        if flag(inbox, "cancelled"):
            return _ended("cancelled", "", history)
        reached = limit_reached(mapping(turn, "limits"), history.progress, inbox)
        if reached:
            return _ended("limit", reached, history)
        stuck = history.progress.stuck()
        if stuck:
            call, warned = stuck
            if warned:
                return _ended(REPEATED, f"The same call failed {SAME_FAILURES + 1} times: {_short(call)}", history)
            _note(REPEATED, _WARNING.format(n=SAME_FAILURES, call=_short(call)))
            history.refresh()

        try:
            if (wish := history.take_wish()) is not None:
                compactor.compact(history, "asked", wish)
            elif compactor.due(history.meter.now()):
                compactor.compact(history, "threshold")
            request |= tools.part(history.compacted)
            reply = _asked({**request, "messages": history.messages(), "record": True, "seen": history.seen})
            end, detail = text(reply, "end"), text(reply, "detail")
            if end == "context-overflow" and not overflowed:
                history.refresh()
                overflowed = compactor.compact(history, "overflow")
                if overflowed:
                    continue
        except Cancelled:
            return _ended("cancelled", "", history)
        overflowed = overflowed and end in FAILURES
        if end in ("cancelled", "limit"):
            return _ended(end, detail, history)
        if end in FAILURES:
            return _ended("model-error", detail or FAILURES[end], history)

        calls = _calls(reply)
        if calls:
            resolved = [tools.resolve(call) for call in calls]
            results = tooling.invoke_many(resolved)
            tools.ran(resolved)
            if any(_asks(call, result) for call, result in zip(resolved, results, strict=False)):
                return _ended("asked", "", history)
        if end == "max-tokens":
            _note("limit", _CUT.format(tokens=max_tokens))
        elif not calls:
            inbox = session.poll_inbox()
            if flag(inbox, "cancelled"):
                return _ended("cancelled", "", history)
            if any(number(nudge, "seq") > history.seen for nudge in objects(inbox, "nudges")):
                continue
            if end == "refusal" or restricted or not reminded(history):
                declined = "The model declined to answer." if end == "refusal" else ""
                return _ended("stop", detail or declined, history)


def _asks(call: dict[str, Any], result: dict[str, Any]) -> bool:
    """Whether the call put a question to the person: the turn ends, the answer begins another."""
    return text(call, "op") == "session.ask" and text(result, "outcome") == "ok"


def _asked(request: dict[str, Any]) -> dict[str, Any]:
    """The model's reply; a request that the host itself finds too large has overflowed, too."""
    try:
        return llm.complete(request)
    except HostError as error:
        if error.code != "request-too-large":
            raise
        return {"end": "context-overflow", "blocks": [], "detail": error.message}


def _compacted(compactor: Compactor, history: History, hint: str) -> dict[str, Any]:
    """A turn that compacts and does nothing else."""
    history.refresh()
    before = history.meter.now()
    try:
        smaller = compactor.compact(history, "asked", hint or history.take_wish() or "")
    except Cancelled:
        return _ended("cancelled", "", history)
    after = history.meter.now()
    words = f"Compacted: about {before:,} tokens before, {after:,} now." if smaller else _NOTHING.format(tokens=before)
    return _ended("stop", words, history)


_NOTHING = (
    "There is nothing to compact: of about {tokens:,} tokens, all are the person's words, the beginning and the newest "
    "messages, which are kept."
)
_WARNING = (
    "The same call has failed {n} times and nothing was changed in between: {call}\n"
    "Do not repeat it. Read the error, look for its cause, and do something different, or tell the person what stands "
    "in the way."
)
_CUT = (
    "Your reply reached the limit of {tokens} tokens and was cut there. A call that was complete has been run, one that "
    "was cut has not. Go on in smaller steps: a large file in several parts, first write and then edit."
)


def _calls(reply: dict[str, Any]) -> list[dict[str, Any]]:
    """The reply's calls by id; a second call under one id cannot be told apart and is answered as not run."""
    calls: dict[str, dict[str, Any]] = {}
    for block in objects(reply, "blocks"):
        if block.get("type") == "tool_use" and text(block, "id"):
            calls.setdefault(text(block, "id"), block)
    return list(calls.values())


def _note(about: str, words: str) -> None:
    session.append("system-note", {"text": words, "about": about})


def _ended(stopped_by: str, detail: str, history: History) -> dict[str, Any]:
    history.refresh()
    return {"stopped_by": stopped_by, "detail": detail, "iterations": history.progress.iterations}


def _short(call: str) -> str:
    return call if len(call) <= 200 else call[:197] + "..."
