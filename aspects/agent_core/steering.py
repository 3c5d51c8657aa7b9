"""The tools by which a conversation steers itself: plan, todos, questions to the person, originals, and finding tools.

Owns their texts. The order is fixed and the texts never vary, so that the provider's cache of the tool list holds. What has an
`op` beginning with "self." the agent answers itself (`desk`). Must not know modes or how results read.
"""

from __future__ import annotations

from catalog import Tool
from schemas import array, boolean, count, string, takes

STATUSES = ["pending", "in_progress", "completed", "cancelled"]

STEERING: tuple[Tool, ...] = (
    Tool(
        "recall_span",
        "Read events of this conversation as logged, such as those a summary stands for.",
        takes("first last", first=count(), last=count()),
        "session.recall-span",
        mutating=False,
    ),
    Tool(
        "ask_user",
        "Ask the person what only they can decide, when the readings lead to different work. Ends your turn; the "
        "answer begins the next. At most 5 questions.",
        takes(
            "questions",
            questions=array(
                takes("question", question=string(), options=array(string()), allow_multiple=boolean()),
            ),
            intro=string(hint="what leads to them"),
        ),
        "session.ask",
        mutating=False,
    ),
    Tool(
        "plan_write",
        "Keep this conversation's plan (Markdown), replacing all of it.",
        takes(
            "body",
            body=string(minLength=1, maxLength=100_000),
            title=string(hint="left out: as before"),
        ),
        "self.plan-write",
        mutating=False,
    ),
    Tool(
        "plan_edit",
        "Replace text that occurs once in the plan; an empty old_text appends.",
        takes("old_text new_text", old_text=string(), new_text=string()),
        "self.plan-edit",
        mutating=False,
    ),
    Tool("plan_read", "Read the plan and the todos.", takes(), "self.plan-read", mutating=False),
    Tool(
        "todo_write",
        "Keep todos for work of several steps, replacing all; one is in_progress at a time.",
        takes("todos", todos=array(takes("content", content=string(), status=string(enum=STATUSES)))),
        "self.todo-write",
        mutating=False,
    ),
    Tool(
        "todo_update",
        "Change todos' status as soon as it changes.",
        takes("updates", updates=array(takes("id status", id=string(), status=string(choices=STATUSES)))),
        "self.todo-update",
        mutating=False,
    ),
    Tool(
        "tool_search",
        "Find and load tools. Capabilities you have may not be visible right now: call this the moment you suspect a "
        "tool that you cannot see, rather than working around the gap. Without arguments it lists every group.",
        takes(query=string(hint="what you want to do"), load=array(string(), "groups")),
        "self.tool-search",
        mutating=False,
    ),
)
