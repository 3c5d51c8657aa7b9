"""A host for the agent guest in one object: a log in memory, a scripted model, and tools that are plain functions.

Implements the imports of the agent world by their names in the contract, as JSON text, so that the same host serves
the guest natively and inside wasm. It logs what the real host logs: assistant events, invocations and results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import Compaction
from thetis_kernel.store import projection

Reply = dict[str, Any]
Model = Callable[[dict[str, Any]], Reply]
Perform = Callable[[dict[str, Any]], tuple[str, str]]
"""A call with its `op` and `op-args` in, (outcome, content) out."""


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def use(call: str, name: str, **args: Any) -> dict[str, Any]:
    """A tool_use block."""
    return {"type": "tool_use", "id": call, "name": name, "input": args}


def reply(*blocks: dict[str, Any], end: str = "", **more: Any) -> Reply:
    """A model's reply; `end` follows from the blocks unless given."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {"end": end or ("tool-use" if calls else "stop"), "blocks": list(blocks), **more}


def scripted(*replies: Reply) -> Model:
    """A model that gives these replies one after another; asked once more, it fails the test."""
    script: Iterator[Reply] = iter(replies)

    def model(request: dict[str, Any]) -> Reply:
        found = next(script, None)
        if found is None:
            raise AssertionError("the model was asked more often than the script has replies")
        return found

    return model


class AgentHost:
    """One conversation. `requests` are the model requests, `calls` the calls that reached a tool."""

    def __init__(self, model: Model, perform: Perform | None = None, registry: list[dict[str, Any]] | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.registry = registry or []
        self.model = model
        self.perform: Perform = perform or (lambda call: ("ok", f"did {call['name']}"))
        self.cancelled = False
        self.nudges: list[dict[str, Any]] = []
        self.elapsed_ms = 0
        self.tokens = 0
        self.turn = "t1"
        self.reads = 0
        self.kv: dict[str, str] = {}

    # -- what the kernel does

    def log(self, kind: str, **body: Any) -> int:
        """Append an event; its seq."""
        seq = len(self.events) + 1
        self.events.append({"seq": seq, "kind": kind, "ts_ms": seq, "body": {"kind": kind, **body}})
        return seq

    def start(self, words: str, turn: str = "t1") -> dict[str, Any]:
        """A person's message begins a turn; the answer is what `handle-turn` gets."""
        self.turn = turn
        self.log("user", text=words)
        return self.resume()

    def resume(self, attempt: int = 0, **changes: Any) -> dict[str, Any]:
        """turn-started, and the turn's description."""
        self.log("turn-started", turn=self.turn, mode="agent", model="m1", attempt=attempt)
        return {
            "session": "s1",
            "turn": self.turn,
            "mode": {"id": "agent", "label": "Agent", "read_only": False, "prompt": ""},
            "model": {"id": "m1", "label": "Model One", "window": 200_000, "max_output": 4096},
            "root": {"path": ".", "branch": "conv/ab12cd34", "project_rules": "", "workspace": []},
            "limits": {"iterations": 20, "tokens": 100_000, "wall_ms": 60_000},
            "attempt": attempt,
            "today": "2026-01-02",
            **changes,
        }

    def nudge(self, words: str) -> None:
        """A person speaks during the turn."""
        seq = self.log("nudge", text=words, source="user", turn=self.turn)
        self.nudges.append({"seq": seq, "text": words})

    def finish(self, outcome: dict[str, Any]) -> None:
        """turn-finished, from what `handle-turn` answered."""
        self.log("turn-finished", turn=self.turn, **outcome)

    def kinds(self) -> list[str]:
        """The kinds in the log, in order."""
        return [event["kind"] for event in self.events]

    # -- imports

    def imports(self) -> dict[str, Callable[..., str | int | None]]:
        """The agent world's imports that the agent uses."""
        return {
            "session.read": self._read,
            "session.append": self._append,
            "session.poll-inbox": self._poll,
            "llm.complete": self._complete,
            "tooling.registry": lambda: json.dumps(self.registry),
            "tooling.invoke-many": self._invoke_many,
            "sys.log": lambda level, message: None,
            "sys.now-ms": lambda: 0,
            "sys.sleep": lambda ms: None,
            "sys.kv-get": lambda key: self.kv.get(key, "null"),
            "sys.kv-put": lambda key, value: self.kv.__setitem__(key, value) or "null",
        }

    def _read(self, after: int, max_bytes: int) -> str:
        self.reads += 1
        page: list[dict[str, Any]] = []
        size = 0
        for event in self._shown(after):
            size += len(json.dumps(event))
            if page and size > max_bytes:
                return json.dumps({"events": page, "next": page[-1]["seq"], "end": False})
            page.append(event)
        return json.dumps({"events": page, "next": page[-1]["seq"] if page else after, "end": True})

    def _shown(self, after: int) -> list[dict[str, Any]]:
        """The events after `after` as the store shows them: those a compaction stands for are left out."""
        written = [event for event in self.events if event["kind"] == "compaction"]
        operations = [(event["seq"], Compaction([tuple(span) for span in event["body"]["spans"]], "")) for event in written]
        shown = projection.project(len(self.events), operations)
        return [event for event in self.events[after:] if projection.on(shown, event["seq"])]

    def _append(self, kind: str, body_json: str) -> str:
        if kind not in ("assistant", "system-note", "compaction", "state-changed"):
            raise ThetisError(f"A guest cannot write {kind} events.", code="refused")
        body = json.loads(body_json)
        body.pop("kind", None)
        return json.dumps({"seq": self.log(kind, **body)})

    def _poll(self) -> str:
        nudges, self.nudges = self.nudges, []
        return json.dumps(
            {"cancelled": self.cancelled, "nudges": nudges, "elapsed-ms": self.elapsed_ms, "tokens": self.tokens}
        )

    def _complete(self, request_json: str) -> str:
        request = json.loads(request_json)
        self.requests.append(request)
        answer = {"detail": "", "usage": {}, **self.model(request)}
        good = answer["end"] in ("stop", "tool-use", "max-tokens", "refusal")
        seq = 0
        if request.get("record", True) and (answer["blocks"] or good):
            seq = self.log(
                "assistant", blocks=answer["blocks"], model="m1", end=answer["end"], partial=not good,
                detail=answer["detail"], turn=self.turn, seen=request.get("seen", 0), usage=answer["usage"],
            )  # fmt: skip
        return json.dumps({"seq": seq, **answer})

    def _invoke_many(self, calls_json: str) -> str:
        answers = []
        for call in json.loads(calls_json):
            self.log("tool-invocation", call=call["id"], name=call["name"], args=call["args"], op=call["op"],
                     mutating=call["op"] in ("files.write-file", "files.edit-file", "terminal.run"), turn=self.turn)  # fmt: skip
            if self.cancelled:
                outcome, content = "cancelled", "Stopped before it ran."
            elif call["op"] == "answer":
                outcome, content = ("ok" if call["op-args"]["ok"] else "error"), call["op-args"]["text"]
            else:
                self.calls.append(call)
                outcome, content = self.perform(call)
            self.log("tool-result", call=call["id"], outcome=outcome, content=content, turn=self.turn)
            answers.append({"id": call["id"], "outcome": outcome, "content": content, "data": {}})
        return json.dumps(answers)
