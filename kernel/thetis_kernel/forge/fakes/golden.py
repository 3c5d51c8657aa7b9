"""Golden logs: conversations in which everything happened that makes a history hard to tell, and a host that only listens.

Each ends in a turn that has just begun. They are told as the store projects them: what a compaction covers is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_kernel.forge.fakes.agent import MODEL, AgentHost
from thetis_kernel.forge.fakes.host import dumps, loads_object
from thetis_kernel.forge.fakes.log import Log
from thetis_kernel.protocol import events as ev
from thetis_kernel.protocol.ids import new_call_id, new_session_id, new_turn_id, short

OTHER = "claude-opus-4-1"
MAX_ASKED = 8
"""Requests in one turn; an agent that asks on and on is told to stop."""


class GoldenHost(AgentHost):
    """Imports of one call over a golden log. `requests`: the messages of each request the agent made, in order; `said`: what
    the person said in the log, which each of them must hold."""

    def __init__(self, golden: Callable[[str, str], Log]) -> None:
        super().__init__()
        self.log = golden(self.session, self.turn)
        self.requests: list[Any] = []
        bodies = [event["body"] for event in self.log.events if event["kind"] in ("user", "nudge")]
        self.said = [body["text"] for body in bodies if body.get("source", "user") == "user" and body["text"].strip()]

    def _complete(self, request_json: str) -> str:
        request = loads_object(request_json, "request")
        self.completions += 1
        if request.get("record", True):
            self.requests.append(request.get("messages"))
        text = {"type": "text", "text": "It is tested in tests/test_book.py."}
        end = "stop" if self.completions <= MAX_ASKED else "cancelled"
        seq = self._log(ev.Assistant([text], MODEL, end, turn=self.turn)) if request.get("record", True) else 0
        usage = {"input": 900, "output": 40, "cache_read": 0, "cache_write": 0}
        return dumps({"seq": seq, "end": end, "blocks": [text], "usage": usage, "detail": ""})


def interrupted(session: str, turn: str) -> Log:
    """Calls side by side, one of which failed and one never ended; a stop; words in between; a reply that was cut."""
    log, first, second = _begun(session), new_turn_id(), new_turn_id()
    good, bad, open_call, unrun = (new_call_id() for _ in range(4))
    _say(log, "Read both files and compare them.", first)
    asked = [_call(good, "read", path="a.md"), _call(bad, "read", path="b.md"), _call(open_call, "run", command="make")]
    log.append(ev.Assistant([{"type": "text", "text": "I look at all three."}, *asked], MODEL, "tool-use", turn=first))
    for call in (good, bad):
        log.append(ev.ToolInvocation(call, "read", {"path": "a.md"}, "files.read-file", False, first))
    log.append(ev.ToolInvocation(open_call, "run", {"command": "make"}, "terminal.run", True, first))
    log.append(ev.ToolResult(bad, "error", "There is no file b.md.", {"code": "not-found"}, turn=first))
    log.append(ev.Nudge("Never mind the second one.", "user", first))
    page = '{"path":"a.md","text":"# A","first":1,"lines":1,"total":1,"truncated":false}'
    log.append(ev.ToolResult(good, "ok", page, turn=first))
    log.append(ev.ToolResult(open_call, "interrupted", "", turn=first))
    log.append(ev.TurnFinished(first, "restarted", "Thetis ended while the turn ran."))
    log.append(ev.SystemNote("Thetis was started again; a command may have run.", "restart"))
    _say(log, "Go on, please.", second)
    log.append(ev.Assistant([{"type": "text", "text": "I go o"}, _call(unrun, "read", path="c.md")], MODEL, "cancelled", True,
                            turn=second))  # fmt: skip
    log.append(ev.TurnFinished(second, "cancelled"))
    log.append(ev.SystemNote("The person stopped the turn.", "stop"))
    return _now(log, "Stop reading. What do you know so far?", turn)


def strange(session: str, turn: str) -> Log:
    """Another model's thinking and call ids, blank texts, a result nobody asked for, kinds from the future, unusual letters."""
    log, first = _begun(session, OTHER), new_turn_id()
    odd = "functions.read:0"
    _say(log, "Wie heißt die Klasse? \u202e ☃ 𝔘", first, [ev.BlobRef("a" * 64, 4096, "image/png", "shot.png")])
    log.append(ev.Assistant([
        {"type": "thinking", "thinking": "Find it first.", "signature": "c2lnbmF0dXJl"},
        {"type": "redacted_thinking", "data": "ZGF0YQ"},
        {"type": "text", "text": ""},
        _call(odd, "read file", path="a.md"),
    ], OTHER, "tool-use", turn=first))  # fmt: skip
    log.append(ev.ToolInvocation(odd, "read file", {"path": "a.md"}, "files.read-file", False, first))
    log.append(ev.ToolResult(odd, "ok", "", turn=first))
    log.append(ev.ToolResult(new_call_id(), "ok", "An answer to nothing.", turn=first))
    log.append(ev.Assistant([{"type": "text", "text": "  \n"}], OTHER, "stop", turn=first))
    log.append(ev.Assistant([{"type": "thinking", "thinking": "Was that all?", "signature": "c2ln"}], MODEL, "stop", turn=first))
    log.append(ev.TurnFinished(first, "stop", iterations=3))
    log.append(ev.SettingChanged("model", MODEL))
    log.append(ev.Incident("guest-trap", "tool/outline trapped.", {"count": 1}))
    log.append(ev.ChildStarted(new_session_id(), "tests", "Write the missing tests."))
    log.put("weather", {"sky": "clear", "wind": [3, {"unit": "m/s"}]})
    log.append(ev.StateChanged("todos", "1", '{"content": "Rename", "status": "open"}'))
    return _now(log, "And its methods?", turn)


def compacted(session: str, turn: str) -> Log:
    """The beginning was summed up; a call that the summary covers has its result after it; a question was answered."""
    log, first, call = _begun(session), new_turn_id(), new_call_id()
    _say(log, "Rename total to balance.", first)
    start = log.events[-1]["seq"] + 1
    for name in ("a.py", "b.py"):
        each = new_call_id()
        log.append(ev.Assistant([_call(each, "read", path=name)], MODEL, "tool-use", turn=first))
        log.append(ev.ToolInvocation(each, "read", {"path": name}, "files.read-file", False, first))
        log.append(ev.ToolResult(each, "ok", "x = 1", turn=first))
    end = log.events[-1]["seq"]
    log.append(ev.Compaction([(start, end)], "Both files were read; total stands in a.py alone.", 6, 52_000))
    log.hide(start, end)
    edit = _call(call, "edit", path="a.py", old_text="total", new_text="balance")
    log.append(ev.Assistant([edit], MODEL, "tool-use", turn=first))
    log.append(ev.ToolInvocation(call, "edit", {"path": "a.py"}, "files.edit-file", True, first))
    log.append(ev.ToolResult(call, "refused", "The person said no.", {"code": "refused"}, turn=first))
    log.append(ev.Question("q1", [{"question": "Both files?", "type": "choice", "options": ["Yes", "No"]}], "Before I go on:"))
    log.append(ev.TurnFinished(first, "asked", iterations=4))
    log.append(ev.Answer("q1", [{"question": "Both files?", "answer": "Yes"}]))
    log.append(ev.Modification("tool/outline", "a" * 64, "b" * 64, "pass", "agent", "Reads JavaScript as well."))
    return _now(log, "Both, yes.", turn)


GOLDEN: dict[str, Callable[[str, str], Log]] = {
    "an interrupted conversation": interrupted,
    "a conversation with another model": strange,
    "a conversation that was summed up": compacted,
}


def _begun(session: str, model: str = MODEL) -> Log:
    log = Log()
    log.append(ev.SessionStarted(".", "tui", "agent", model, f"conv/{short(session)}", "main"))
    return log


def _say(log: Log, text: str, turn: str, attachments: list[ev.BlobRef] | None = None) -> None:
    log.append(ev.User(text, attachments or []))
    log.append(ev.TurnStarted(turn, "agent", MODEL))


def _now(log: Log, text: str, turn: str) -> Log:
    _say(log, text, turn)
    return log


def _call(identifier: str, name: str, **arguments: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": name, "input": arguments}
