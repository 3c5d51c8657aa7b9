"""The turn loop: ask the model, run its calls, until it is done or something ends the turn.

Owns the order of things and why a turn ended. Holds nothing between turns: everything it knows it reads from the log.
Must not know how results read or what a provider sends.
"""

from __future__ import annotations

from typing import Any

from guards import REPEATED, SAME_FAILURES, limit_reached
from history import History
from prompt import system_prompt
from thetis_guest import llm, session, tooling
from thetis_guest.lenient import flag, mapping, number, objects, text
from toolbox import CHANGES_TOOLS, Toolbox, read_only

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
    toolbox = Toolbox(tooling.registry(), restricted, text(mode, "id"))
    max_tokens = number(model, "max_output", DEFAULT_MAX_TOKENS)
    request = {"system": system_prompt(turn, restricted), "tools": toolbox.definitions(), "max_tokens": max_tokens}
    history = History(text(model, "id"))
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

        reply = llm.complete({**request, "messages": history.messages(), "record": True, "seen": history.seen})
        end, detail = text(reply, "end"), text(reply, "detail")
        if end in ("cancelled", "limit"):
            return _ended(end, detail, history)
        if end in FAILURES:
            return _ended("model-error", detail or FAILURES[end], history)

        calls = _calls(reply)
        if calls:
            resolved = [toolbox.resolve(call) for call in calls]
            tooling.invoke_many(resolved)
            if any(text(call, "op") in CHANGES_TOOLS for call in resolved):  # a tool it has just made can be called at once
                toolbox = Toolbox(tooling.registry(), restricted, text(mode, "id"))
                request["tools"] = toolbox.definitions()
        if end == "max-tokens":
            _note("limit", _CUT.format(tokens=max_tokens))
        elif not calls:
            inbox = session.poll_inbox()
            if flag(inbox, "cancelled"):
                return _ended("cancelled", "", history)
            if not any(number(nudge, "seq") > history.seen for nudge in objects(inbox, "nudges")):
                declined = "The model declined to answer." if end == "refusal" else ""
                return _ended("stop", detail or declined, history)


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
