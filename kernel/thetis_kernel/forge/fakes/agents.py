"""Sub-agents in memory: each is done as soon as it is begun. Knows no imports, only operations."""

from __future__ import annotations

from typing import Any

from thetis_kernel.forge.fakes.host import BadRequest
from thetis_kernel.protocol.ids import new_session_id

ANSWER = "Book.total is tested in tests/test_book.py:14; Book.remove is not."
MOST = 64


class Agents:
    """Operations by name, without their interface."""

    def __init__(self) -> None:
        self._children: list[dict[str, Any]] = []

    def perform(self, op: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of `agents.*` and `wait.until`. Raises BadRequest for what no host would do."""
        if op == "agents.spawn":
            return self._spawn(arguments)
        if op == "agents.profiles":
            return {"profiles": [{"id": "explore", "label": "Explore", "description": "Read-only.", "mode": "plan", "model": ""}]}
        if op == "wait.until":
            return {"woken_by": "agents", "until": "all", "waited_ms": 12, **self._status("")}
        if op in ("agents.status", "agents.cancel"):
            return self._status(str(arguments.get("child", "")))
        if op == "agents.transcript":
            found = self._status(str(arguments.get("child", "")))["agents"]
            if not found:
                raise BadRequest("There is no sub-agent of that name.", code="not-found")
            return {"child": found[0]["child"], "label": found[0]["label"], "text": f"says: {ANSWER}", "next": 4, "end": True}
        raise BadRequest(f"There is no operation {op[:40]}.")

    def _spawn(self, arguments: dict[str, Any]) -> dict[str, Any]:
        label, task = arguments.get("label", "tests"), arguments.get("task", "")
        if not isinstance(label, str) or not isinstance(task, str) or len(self._children) >= MOST:
            raise BadRequest("A sub-agent needs a label and a task.")
        child = {"child": new_session_id(), "label": label, "mode": "agent", "model": "", "profile": ""}
        self._children.append({**child, "state": "done", "last": "read tests/test_book.py", "elapsed_ms": 900, "steps": 2,
                               "tokens": 1900, "result": ANSWER, "detail": ""})  # fmt: skip
        return child

    def _status(self, child: str) -> dict[str, Any]:
        found = [one for one in self._children if not child or child in (one["label"], one["child"])]
        return {"agents": found, "purse": {"tokens": 1900, "cost": "0", "steps": 2, "elapsed_ms": 900, "reached": ""}}
