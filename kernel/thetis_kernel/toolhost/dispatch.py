"""A reply's tool calls: logged before they run, each answered exactly once, results in call order.

Neighbouring calls that change nothing run at the same time; any other runs alone, after those before it and before those
after it. A mutating call's invocation is durable before the effect begins. A stop answers what has not run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.protocol.events import BlobRef, ToolInvocation, ToolResult
from thetis_kernel.protocol.ids import new_call_id
from thetis_kernel.toolhost import authority, bounds
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.operations import OPERATIONS, BadArguments, perform, permitted
from thetis_kernel.toolhost.patches import PATCH

MAX_CALLS = 64
"""Of one reply; more are refused one by one, so that each still has its result."""
MAX_PARALLEL = 8
TOOL_PREFIX = "tool:"
ANSWER = "answer"
ALONE = frozenset({"wait.until"})
"""Operations that change nothing and still run alone, in their place: what is waited for is begun by the calls before."""

Outcome = Literal["ok", "error", "refused", "interrupted", "cancelled"]
Done = tuple[Outcome, str, dict[str, Any]]
Effect = Callable[[], Done]


class Call(msgspec.Struct, frozen=True, rename={"op_args": "op-args"}):
    """One call as the agent hands it over: `op` of operations.OPERATIONS, `tool:<name>`, or `answer`."""

    id: str
    name: str
    op: str
    args: dict[str, Any] = {}
    op_args: dict[str, Any] = {}


def invoke_many(context: TurnContext, calls_json: str) -> list[dict[str, Any]]:
    """Run the calls; [{"id", "outcome", "content", "data"}] in call order. Raises BadArguments when the list does not fit."""
    try:
        calls = msgspec.json.decode(calls_json, type=list[Call])
    except msgspec.MsgspecError as error:
        raise BadArguments(f"The calls do not fit: {error}.") from error
    if len({call.id for call in calls}) != len(calls) or any(not call.id for call in calls):
        raise BadArguments("Each call needs an id of its own.")
    results: dict[str, ToolResult] = {}
    group: list[Call] = []
    for position, call in enumerate(calls):
        if position < MAX_CALLS and call.op not in ALONE and not changes(context, call):
            group.append(call)
            continue
        _run_together(context, group, results)
        group = []
        results[call.id] = _one(context, call, position >= MAX_CALLS)
    _run_together(context, group, results)
    ordered = [results[call.id] for call in calls]
    return [{"id": r.call, "outcome": r.outcome, "content": r.content, "data": r.data} for r in ordered]


def changes(context: TurnContext, call: Call) -> bool:
    """Whether the call may change something outside the conversation; what is not known does."""
    if call.op == ANSWER:
        return False
    if call.op.startswith(TOOL_PREFIX):
        guest = context.guests.get(call.op[len(TOOL_PREFIX):])
        return guest is None or _manifest(guest.describes).get("mutating", True) is not False
    operation = OPERATIONS.get(call.op)
    return operation is None or operation.changes


def direct(context: TurnContext, op: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """An operation the agent calls by its import, outside any call of the model.

    One that changes things is logged like a call, with an id of the kernel's and origin `agent`. Raises as `perform`.
    """
    if not OPERATIONS[op].changes:
        return perform(context, op, "", arguments)
    call = new_call_id()
    run = permitted(context, op, call, arguments)
    context.journal.append(ToolInvocation(call=call, name=op, args=arguments, op=op, mutating=True, turn=context.turn,
                                          origin="agent"))
    crash.point("tool.intent")
    started = time.monotonic()
    try:
        data = run()
    except ThetisError as error:
        _record(context, call, "error", _told(error), {"code": error.code}, started)
        raise
    patch = data.pop(PATCH, "")
    _record(context, call, "ok", msgspec.json.encode(data).decode(), {PATCH: patch} if patch else {}, started)
    return data


def _run_together(context: TurnContext, group: list[Call], results: dict[str, ToolResult]) -> None:
    if len(group) == 1:
        results[group[0].id] = _one(context, group[0], False)
        return
    slots = threading.Semaphore(MAX_PARALLEL)

    def work(call: Call) -> None:
        with slots:
            results[call.id] = _one(context, call, False)

    threads = [threading.Thread(target=work, args=(call,), daemon=True, name=f"call-{call.name}") for call in group]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _one(context: TurnContext, call: Call, too_many: bool) -> ToolResult:
    """One call: permitted (which may take as long as a person thinks), then its intent is logged, then it runs.

    A crash while a person thinks leaves no invocation: such a call is known not to have run.
    """
    mutating = changes(context, call)
    run = _permitted(context, call, mutating, too_many)
    context.journal.append(
        ToolInvocation(call=call.id, name=call.name, args=call.args, op=call.op, mutating=mutating, turn=context.turn))
    if mutating:
        crash.point("tool.intent")
    started = time.monotonic()
    if context.cancelled.is_set():
        return _record(context, call.id, "cancelled", "Stopped before it ran.", {}, started)
    try:
        outcome, content, data = run()
    except Refused as error:
        return _record(context, call.id, "refused", _told(error), {"code": error.code}, started)
    except ThetisError as error:
        stopped = error.code == "cancelled" or context.cancelled.is_set()
        return _record(context, call.id, "cancelled" if stopped else "error", _told(error), {"code": error.code}, started)
    except Exception as error:  # noqa: BLE001 - whatever a handler does, the call has its one result
        return _record(context, call.id, "error", f"The kernel failed at this call: {type(error).__name__}.",
                       {"code": "internal"}, started)
    return _record(context, call.id, outcome, content, data, started)


def _permitted(context: TurnContext, call: Call, mutating: bool, too_many: bool) -> Effect:
    """What the call will do; when it may not, what raises the reason."""
    def instead(error: Exception) -> Effect:
        def told() -> Done:
            raise error
        return told

    if too_many:
        return lambda: ("error", f"Not run: a reply may hold {MAX_CALLS} calls.", {})
    if call.op == ANSWER:
        return lambda: ("ok" if call.op_args.get("ok") else "error", str(call.op_args.get("text", "")), {})
    try:
        if call.op.startswith(TOOL_PREFIX):
            guest = _guest(context, call, mutating)
            return lambda: _effect(lambda: {"": guest()}, mutating)
        run = permitted(context, call.op, call.id, call.op_args)
    except Exception as error:  # noqa: BLE001 - raised again where the call's one result is made of it
        return instead(error)
    return lambda: _effect(run, mutating)


def _effect(run: Callable[[], dict[str, Any]], mutating: bool) -> Done:
    if mutating:
        crash.point("tool.running")
    data = run()
    if mutating:
        crash.point("tool.effect-done")
    if "" in data:  # a tool guest's text
        return "ok", str(data[""]), {}
    failed = bool(data.get("timed_out")) or data.get("exit") not in (None, 0) or bool(data.get("signal"))
    failed = failed or data.get("ok") is False  # the gate's verdict over a change
    outcome: Outcome = "cancelled" if data.get("cancelled") else "error" if failed else "ok"
    told = ("exit", "signal", "timed_out", "spill", "path", "attachment")
    facts = {key: data[key] for key in told if data.get(key) not in (None, "")}
    patch = data.pop(PATCH, "")
    facts |= {PATCH: patch} if patch else {}
    return outcome, msgspec.json.encode(data).decode(), facts


def _guest(context: TurnContext, call: Call, mutating: bool) -> Callable[[], str]:
    """What calls the tool guest. Each of its effects is permitted where it happens."""
    name, invoke = call.op[len(TOOL_PREFIX):], context.call_guest
    if name not in context.guests or invoke is None:
        raise BadArguments(f"There is no tool {name[:80]!r}.", hint="Known: " + (", ".join(sorted(context.guests)) or "none"))
    if mutating and not authority.may(context, "write"):
        raise Refused("This conversation is in a read-only mode: a tool that changes things is not called.",
                      capability="write", hint="A person can switch the mode.")
    if not mutating:
        context.harmless.add(call.id)
    context.callers[call.id] = name
    return lambda: invoke(name, call.id, call.op_args or call.args)


def _record(context: TurnContext, call: str, outcome: Outcome, content: str, data: dict[str, Any],
            started: float) -> ToolResult:
    text, truncated = bounds.cut(content)
    kept = str(data.get("spill", ""))
    if truncated:
        kept = context.tree.keep(call, content)
    inside = context.inside.pop(call, None)
    if inside is not None:
        data = {**data, **inside.told()}
    attached = [msgspec.convert(data.pop("attachment"), BlobRef)] if "attachment" in data else []
    result = ToolResult(call=call, outcome=outcome, content=text, data=data, truncated=truncated, spill=kept,
                        duration_ms=int((time.monotonic() - started) * 1000), turn=context.turn, attachments=attached)
    context.journal.append(result)
    crash.point("result.logged")
    return result


def _told(error: ThetisError) -> str:
    return str(error)


def _manifest(describes: str) -> dict[str, Any]:
    try:
        manifest = msgspec.json.decode(describes)
    except msgspec.DecodeError:
        return {}
    return manifest if isinstance(manifest, dict) else {}
