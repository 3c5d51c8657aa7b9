"""The tools by which a conversation steers itself: plan, todos, questions to the person, originals, and finding tools.

Owns their texts. The order is fixed and the texts never vary, so that the provider's cache of the tool list holds. What has an
`op` beginning with "self." the agent answers itself (`desk`). Must not know modes or how results read.
"""

from __future__ import annotations

from typing import Any

from catalog import Tool

STATUSES = ["pending", "in_progress", "completed", "cancelled"]


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _schema(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def _list(item: dict[str, Any], description: str = "") -> dict[str, Any]:
    return {"type": "array", "items": item, **({"description": description} if description else {})}


_NUMBER = {"type": "integer", "minimum": 1}

STEERING: tuple[Tool, ...] = (
    Tool(
        "recall_span",
        "Read events of this conversation as they were logged, such as those a summary stands for.",
        _schema("first last", first=_NUMBER, last=_NUMBER),
        "session.recall-span",
        mutating=False,
    ),
    Tool(
        "ask_user",
        (
            "Ask the person, when only they can decide and the readings lead to different work. Ends your "
            "turn; the answer begins the next. Up to 5 questions, with options where there are some."
        ),
        _schema(
            "questions",
            questions=_list(
                {
                    "type": "object",
                    "properties": {
                        "question": {"type": "string"},
                        "options": _list({"type": "string"}),
                        "allow_multiple": {"type": "boolean"},
                    },
                    "required": ["question"],
                }
            ),
            intro=_text("what leads to them"),
        ),
        "session.ask",
        mutating=False,
    ),
    Tool(
        "plan_write",
        "Keep the plan of this conversation, replacing all of it.",
        _schema("body", body=_text("Markdown", minLength=1, maxLength=100_000), title=_text("left out: as before")),
        "self.plan-write",
        mutating=False,
    ),
    Tool(
        "plan_edit",
        "Replace text that stands once in the plan; with old_text empty, append.",
        _schema("old_text new_text", old_text={"type": "string"}, new_text={"type": "string"}),
        "self.plan-edit",
        mutating=False,
    ),
    Tool("plan_read", "Read the plan and the todos.", _schema(""), "self.plan-read", mutating=False),
    Tool(
        "todo_write",
        "Keep a list of todos for work of several steps, replacing all of it; one is in_progress at a time.",
        _schema(
            "todos",
            todos=_list(
                {
                    "type": "object",
                    "properties": {"content": {"type": "string"}, "status": {"type": "string", "enum": STATUSES}},
                    "required": ["content"],
                }
            ),
        ),
        "self.todo-write",
        mutating=False,
    ),
    Tool(
        "todo_update",
        "Change the status of todos as soon as it changes.",
        _schema(
            "updates",
            updates=_list(
                {
                    "type": "object",
                    "properties": {"id": {"type": "string"}, "status": {"type": "string", "enum": STATUSES}},
                    "required": ["id", "status"],
                }
            ),
        ),
        "self.todo-update",
        mutating=False,
    ),
    Tool(
        "tool_search",
        "Find and load tools. Capabilities you have may not be visible right now: call this the moment you suspect that a "
        "tool exists which you cannot see, rather than working around the gap. Without arguments it lists every group.",
        _schema("", query=_text("what you want to do"), load=_list({"type": "string"}, "groups by name")),
        "self.tool-search",
        mutating=False,
    ),
)
