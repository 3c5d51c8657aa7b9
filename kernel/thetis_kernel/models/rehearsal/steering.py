"""Rehearsals of what a conversation does with itself: todos, a question to the person, tools found, originals read, a summary.

Must not know requests or streams.
"""

from __future__ import annotations

import re

from thetis_kernel.models.rehearsal.answers import failure, fenced, named
from thetis_kernel.models.rehearsal.scene import Scene
from thetis_kernel.models.rehearsal.script import Script, Step, call

PART = "The part to sum up"
"""How the agent begins a request for a summary."""
SUMMED_LINES, SUMMED_CHARS = 12, 120


def ask(scene: Scene, words: str, choices: str) -> Script:
    """ask me Q: A, B or C"""
    options = [choice.strip() for choice in re.split(r",| or ", choices) if choice.strip()]
    question = {"question": words if words.endswith("?") else f"{words}?", **({"options": options} if len(options) > 1 else {})}
    [asked] = yield Step("Only you can decide this.", [call("ask_user", questions=[question])])
    if not asked.ok:
        return failure(asked)
    return f"Thank you. You told me:\n\n{fenced(scene.news, 'text')}" if scene.news else "You have not answered me."


def work_through(scene: Scene, steps: str) -> Script:
    """work through A; B; C"""
    names = [step.strip() for step in steps.split(";") if step.strip()]
    body = "\n".join(f"{at}. {name}" for at, name in enumerate(names, 1))
    todos = [{"content": name, "status": "pending"} for name in names]
    [planned, listed] = yield Step("A plan first.", [call("plan_write", title="What to do", body=body),
                                                     call("todo_write", todos=todos)])
    if not (planned.ok and listed.ok):
        return failure(planned if not planned.ok else listed)
    for at, name in enumerate(names, 1):
        [listed] = yield Step(f"Doing {named(name)}.", [call("todo_update", updates=[{"id": str(at), "status": "completed"}])])
    return f"All done:\n\n{fenced(listed.text, 'text')}"


def leave_open(scene: Scene, steps: str) -> Script:
    """begin A; B and stop"""
    todos = [{"content": step.strip(), "status": "pending"} for step in steps.split(";") if step.strip()]
    [listed] = yield Step("A list first.", [call("todo_write", todos=todos)])
    return f"I stop here.\n\n{fenced(listed.text, 'text')}" if listed.ok else failure(listed)


def find_tool(scene: Scene, wanted: str) -> Script:
    """find a tool for W"""
    [found] = yield Step("Looking for tools.", [call("tool_search", **({"query": wanted} if wanted else {}))])
    return f"The tools:\n\n{fenced(found.text, 'text')}" if found.ok else failure(found)


def originals(scene: Scene, first: str, last: str) -> Script:
    """read events N to M"""
    [read] = yield Step("Reading what was logged.", [call("recall_span", first=int(first), last=int(last))])
    return f"Events {first} to {last}:\n\n{fenced(read.text, 'text')}" if read.ok else failure(read)


def remember_for_all(scene: Scene, key: str, text: str) -> Script:
    """remember for the project K: V"""
    [noted] = yield Step(f"Noting {named(key)}.", [call("remember", key=key, content=text, scope="project")])
    return f"Every conversation of this project knows now: {text}" if noted.ok else failure(noted)


def recall_for_all(scene: Scene) -> Script:
    """recall the project's notes"""
    [notes] = yield Step("Looking into the project's notes.", [call("recall", scope="project")])
    return f"The project's notes:\n\n{fenced(notes.text, 'text')}" if notes.ok else failure(notes)


def summary(instruction: str) -> str:
    """A summary of the part a request holds: its first lines, cut. "" when the request asks for none."""
    if not instruction.startswith(PART):
        return ""
    lines = [line for line in instruction.split("\n") if re.match(r"\[\d+\] ", line)]
    told = [line if len(line) <= SUMMED_CHARS else line[: SUMMED_CHARS - 1] + "…" for line in lines[:SUMMED_LINES]]
    more = f"\n(and {len(lines) - len(told)} more)" if len(lines) > len(told) else ""
    return "Progress (a rehearsal's summary: the first lines of what happened):\n" + "\n".join(told) + more
