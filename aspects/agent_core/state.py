"""What the conversation is besides its messages: plan, todos, tool groups, open questions, live sub-agents.

A fold: what the host says stood when the turn began, and every event since. A compaction restates it, because the messages
that said it may be gone. Must not change anything.
"""

from __future__ import annotations

from typing import Any

from thetis_guest.lenient import mapping, number, objects, parsed, text

SCOPES = ("plan", "todos", "groups", "tools")
MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}
PLAN_CHARS = 12_000
"""Of a plan that is restated; read_plan has the rest."""


class State:
    """Feed it every event in order; those the host's account holds already change nothing."""

    def __init__(self, turn: dict[str, Any]) -> None:
        told = mapping(turn, "state")
        self.seq = number(told, "seq")
        values = mapping(told, "values")
        self.values: dict[str, dict[str, Any]] = {
            scope: {key: parsed(value) for key, value in mapping(values, scope).items() if isinstance(value, str)}
            for scope in SCOPES
        }
        self.children = {text(child, "child"): text(child, "label") for child in objects(told, "children")}
        self.mode = text(mapping(turn, "mode"), "label") or text(mapping(turn, "mode"), "id")

    def feed(self, event: dict[str, Any]) -> None:
        """Take the next event."""
        if number(event, "seq") <= self.seq:
            return
        self.seq = number(event, "seq")
        kind, body = text(event, "kind"), mapping(event, "body")
        if kind == "state-changed" and text(body, "scope") in self.values:
            self.put(text(body, "scope"), text(body, "key"), parsed(text(body, "value")) if body.get("value") else None)
        elif kind == "child-started":
            self.children[text(body, "child")] = text(body, "label")
        elif kind == "child-settled":
            self.children.pop(text(body, "child"), None)

    def put(self, scope: str, key: str, value: Any) -> None:
        """A value is another one now; None removes it."""
        if value is None:
            self.values[scope].pop(key, None)
        else:
            self.values[scope][key] = value

    @property
    def plan(self) -> dict[str, Any]:
        """{"title", "body", "revision"}, or {} while there is none."""
        found = self.values["plan"].get("document")
        return found if isinstance(found, dict) else {}

    @property
    def todos(self) -> list[dict[str, Any]]:
        """[{"id", "content", "status", ...}] in order."""
        return objects({"items": self.values["todos"].get("list")}, "items")

    @property
    def groups(self) -> dict[str, str]:
        """Why each loaded tool group was loaded, by group."""
        return {key: text(value, "why") or "loaded" for key, value in self.values["groups"].items()}

    def restated(self) -> str:
        """All of it as text for a model; "" when there is nothing to say but the mode."""
        parts = [f"How things stand at event {self.seq}:", f"Mode: {self.mode}."]
        if self.groups:
            parts.append(f"Tool groups loaded: {', '.join(self.groups)}.")
        if self.children:
            live = ", ".join(f"{label} ({child})" for child, label in self.children.items())
            parts.append(f"Sub-agents at work, do not start them again: {live}.")
        if self.plan:
            parts.append(
                f"Plan, {text(self.plan, 'title') or 'without a title'}:\n{text(self.plan, 'body')[:PLAN_CHARS]}"
            )
        if self.todos:
            parts.append("Todos:\n" + todo_lines(self.todos))
        return "\n".join(parts)


def todo_lines(todos: list[dict[str, Any]]) -> str:
    """The list, a line each."""
    return "\n".join(
        f"{MARKS.get(text(todo, 'status'), '[ ]')} {text(todo, 'id')}. {text(todo, 'content')}" for todo in todos
    )
