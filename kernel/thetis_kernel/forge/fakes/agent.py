"""The agent world's stand-in: a conversation in its second turn, a model with a fixed script, tools that answer.

The model first calls a read-only tool it was offered, then answers. The log grows as the host would write it, so an
agent that rebuilds its context from the log sees a consistent one. What the agent does wrong on the way (a request
no provider would take) is kept in `complaints`.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from thetis_kernel.errors import Refused
from thetis_kernel.forge.fakes.agents import Agents
from thetis_kernel.forge.fakes.branch import Branch
from thetis_kernel.forge.fakes.checkout import Checkout
from thetis_kernel.forge.fakes.devkit import DevKit
from thetis_kernel.forge.fakes.host import BadRequest, FakeHost, dumps, lately_ms, loads_object
from thetis_kernel.forge.fakes.log import conversation
from thetis_kernel.forge.fakes.messages import request_problem
from thetis_kernel.forge.fakes.turn import turn_description
from thetis_kernel.forge.schema import load_json
from thetis_kernel.protocol import events as ev
from thetis_kernel.protocol.ids import new_call_id, new_turn_id

MODEL = "claude-sonnet-4-5"
MAX_LOG = 8 * 1024 * 1024
MODES: tuple[dict[str, Any], ...] = (
    {"id": "agent", "label": "Agent", "read_only": False, "prompt": ""},
    {"id": "plan", "label": "Plan", "read_only": True, "prompt": "Investigate and plan; change nothing."},
    {"id": "review", "label": "Review", "read_only": True, "prompt": "Review; change nothing."},
)
"""The two built-in modes and one a person might have made, which an agent does not know and must take as read-only."""
REGISTRY: tuple[dict[str, Any], ...] = (
    {
        "name": "outline",
        "description": "Classes and functions of a source file.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "group": "code",
        "mutating": False,
    },
    {
        "name": "rename-symbol",
        "description": "Rename a symbol everywhere.",
        "input_schema": {
            "type": "object",
            "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
            "required": ["old", "new"],
        },
        "group": "code",
        "mutating": True,
    },
)


class AgentHost(FakeHost):
    """Imports of one call of an agent. `complaints`: sentences about requests a provider would refuse."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = new_turn_id()
        self.log = conversation(self.session, self.turn, MODEL)
        self.complaints: list[str] = []
        self.completions = 0
        self._checkout = Checkout()
        self._devkit = DevKit()
        self._branch = Branch()
        self._agents = Agents()
        self._notes: dict[str, str] = {"style": "Tests first."}
        self._started = time.monotonic()
        self.imports.update(
            {
                "session.read": lambda after, max_bytes: dumps(self.log.page(after, max_bytes)),
                "session.append": self._append,
                "session.poll-inbox": self._poll,
                "llm.complete": self._complete,
                "tooling.registry": lambda: dumps(REGISTRY),
                "tooling.invoke-many": self._invoke_many,
                "files.read-file": self._op("files.read-file", "path", "offset", "limit"),
                "files.write-file": self._op("files.write-file", "path", "contents"),
                "files.edit-file": self._op("files.edit-file", "path", "old_text", "new_text", "replace_all"),
                "files.list-dir": self._op("files.list-dir", "path"),
                "files.search-files": lambda query: self._perform("files.search-files", loads_object(query, "query")),
                "files.find-files": lambda query: self._perform("files.find-files", loads_object(query, "query")),
                "terminal.run": lambda command, options: self._perform(
                    "terminal.run", {"command": command, **loads_object(options, "options")}
                ),
                "notes.remember": self._remember,
                "notes.recall": self._recall,
                "agents.spawn": lambda request: self._perform("agents.spawn", loads_object(request, "request")),
                "agents.status": self._op("agents.status", "child"),
                "agents.transcript": self._op("agents.transcript", "child", "after"),
                "agents.cancel": self._op("agents.cancel", "child"),
                "agents.profiles": self._op("agents.profiles"),
                "wait.until": lambda query: self._perform("wait.until", loads_object(query, "query")),
                "devkit.list-code": self._op("devkit.list-code", "directory"),
                "devkit.read-code": self._op("devkit.read-code", "path", "offset", "limit"),
                "devkit.write-code": self._op("devkit.write-code", "path", "contents"),
                "devkit.patch-code": self._op("devkit.patch-code", "path", "old_text", "new_text"),
                "devkit.remove-code": self._op("devkit.remove-code", "path"),
                "devkit.new-tool": self._op("devkit.new-tool", "name", "description"),
                "devkit.history": self._op("devkit.history", "aspect"),
                "devkit.roll-back": self._op("devkit.roll-back", "aspect", "revision"),
                "devkit.update-code": self._op("devkit.update-code", "aspect"),
                "branch.status": self._op("branch.status"),
                "branch.log": self._op("branch.log", "limit"),
                "branch.commit": self._op("branch.commit", "message"),
                "branch.update-from-trunk": self._op("branch.update-from-trunk"),
                "branch.complete-merge": self._op("branch.complete-merge", "message"),
                "branch.abort-merge": self._op("branch.abort-merge"),
                "branch.reset-to": self._op("branch.reset-to", "revision"),
                "devkit.add-dependency": self._op("devkit.add-dependency", "aspect", "requirement"),
                "devkit.remove-dependency": self._op("devkit.remove-dependency", "aspect", "name"),
                "devkit.list-dependencies": self._op("devkit.list-dependencies", "aspect"),
            }
        )

    def turn_json(self, mode: dict[str, Any] = MODES[0]) -> dict[str, Any]:
        """What handle-turn is given for this conversation: every field that the gateway and the worker would give."""
        return turn_description(self.session, self.turn, mode, MODEL, self.log.events[-1]["seq"])

    def _append(self, kind: str, body_json: str) -> str:
        if kind not in ev.GUEST_MAY_APPEND:
            raise Refused(f"A guest cannot write {kind[:40]!r} events.", capability="append")
        body = {**loads_object(body_json, "body"), "kind": kind}
        try:
            event = ev.decode_body(kind, msgspec.json.encode(body))
        except (msgspec.MsgspecError, ValueError, RecursionError) as exc:
            raise BadRequest(f"The body does not fit {kind}: {exc}.") from exc
        if isinstance(event, ev.Unknown):
            raise BadRequest(f"There is no kind {kind[:40]!r}.")
        return dumps({"seq": self._log(event)})

    def _log(self, body: ev.Body) -> int:
        if self.log.bytes > MAX_LOG:
            raise BadRequest("The conversation is full.", code="store-full")
        return self.log.append(body)

    def _poll(self) -> str:
        elapsed = int((time.monotonic() - self._started) * 1000)
        return dumps({"cancelled": False, "nudges": [], "elapsed-ms": elapsed, "tokens": 900 * self.completions})

    def _complete(self, request_json: str) -> str:
        request = loads_object(request_json, "request")
        self.completions += 1
        problem = request_problem(request)
        if problem:
            self.complaints.append(problem)
            return dumps({"seq": 0, "end": "bad-request", "blocks": [], "usage": _usage(), "detail": problem})
        tools = request.get("tools", [])
        blocks, end = self._reply(tools if self.completions == 1 else [])
        seq = 0
        if request.get("record", True):
            seq = self._log(ev.Assistant(blocks, MODEL, end, usage=ev.Usage(900, 40), turn=self.turn))
        return dumps({"seq": seq, "end": end, "blocks": blocks, "usage": _usage(), "detail": ""})

    def _reply(self, tools: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
        """The model's script: one call when it was offered tools, else an answer."""
        offered = {tool["name"]: tool for tool in tools}
        name = next((name for name in ("read", "outline", "list") if name in offered), next(iter(offered), ""))
        if not name:
            return [{"type": "text", "text": "It is tested in tests/test_book.py."}], "stop"
        known = {"path": "tests/test_book.py", "pattern": "Book", "glob": "*.py", "key": "style", "command": "git status"}
        wanted = offered[name]["input_schema"].get("required", [])
        arguments = {key: known.get(key, "tests/test_book.py") for key in wanted}
        call = {"type": "tool_use", "id": new_call_id(), "name": name, "input": arguments}
        return [{"type": "text", "text": "I will look."}, call], "tool-use"

    def _invoke_many(self, calls_json: str) -> str:
        calls, problem = load_json(calls_json, "The calls")
        if problem or not isinstance(calls, list) or len(calls) > 64:
            raise BadRequest(problem or "The calls must be a list.")
        return dumps([self._invoke(call) for call in calls])

    def _invoke(self, call: Any) -> dict[str, Any]:
        if not isinstance(call, dict) or not all(isinstance(call.get(key), str) for key in ("id", "name", "op")):
            raise BadRequest("A call needs id, name and op as texts.")
        identifier, op, arguments = call["id"], call["op"], call.get("op-args") or {}
        args = call.get("args") or {}
        if not isinstance(arguments, dict) or not isinstance(args, dict):
            raise BadRequest("A call's args and op-args must be objects.")
        self._log(ev.ToolInvocation(identifier, call["name"], args, op, False, self.turn))
        outcome, content = self._outcome(op, arguments)
        self._log(ev.ToolResult(identifier, outcome, content, duration_ms=2, turn=self.turn))
        return {"id": identifier, "outcome": outcome, "content": content, "data": {}}

    def _outcome(self, op: str, arguments: dict[str, Any]) -> tuple[Any, str]:
        if op == "answer":
            return ("ok" if arguments.get("ok") else "error"), str(arguments.get("text", ""))
        if op.startswith("tool:"):
            return "ok", "class Book (line 6)\n  def add (line 12)\n  def total (line 15)"
        try:
            return "ok", self._perform(op, arguments)
        except BadRequest as exc:
            return "error", str(exc)

    def _op(self, op: str, *names: str) -> Any:
        return lambda *values: self._perform(op, dict(zip(names, values, strict=True)))

    def _perform(self, op: str, arguments: dict[str, Any]) -> str:
        if op == "notes.recall":
            return self._recall(str(arguments.get("key", "")))
        if op == "notes.remember":
            return self._remember(str(arguments.get("key", "")), str(arguments.get("content", "")))
        interface, _, name = op.partition(".")
        if interface in ("agents", "wait"):
            return dumps(self._agents.perform(op, arguments))
        if interface == "devkit":
            return dumps(self._devkit.perform(name, arguments))
        if interface == "branch":
            return dumps(self._branch.perform(name, arguments))
        return dumps(self._checkout.perform(op, arguments))

    def _remember(self, key: str, content: str) -> str:
        if not key or len(content) > 1 << 16 or len(self._notes) > 200:
            raise BadRequest("The note does not fit.")
        self._notes[key] = content
        return "{}"

    def _recall(self, key: str) -> str:
        found = {key: self._notes[key]} if key in self._notes else {} if key else self._notes
        notes = [{"key": k, "content": v, "ts_ms": lately_ms()} for k, v in sorted(found.items())]
        return dumps({"notes": notes})


def _usage() -> dict[str, int]:
    return {"input": 900, "output": 40, "cache_read": 0, "cache_write": 0}
