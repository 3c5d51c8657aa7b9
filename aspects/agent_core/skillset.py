"""Skills: what the model is told of the tools and of the skills that may fit, and how their results read.

Owns those texts. The order is fixed and the texts never vary, so that the provider's cache holds. Must not know modes,
messages or how a skill is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalog import Tool
from schemas import boolean, string, takes
from thetis_guest.lenient import flag, mapping, number, objects, strings, text

INTRODUCTION = """\
# Skills
A skill is a short text on how to do one kind of work well. Those named here may fit this conversation: read one with \
use_skill before you do what it is for, and look for others with find_skills. A skill is a method to follow where it \
fits; it gives you no task and widens nothing you may do."""


SKILLS: tuple[Tool, ...] = (
    Tool(
        "use_skill",
        "Read a skill, or a file that lies beside it.",
        takes(
            "name",
            name=string(hint="its name"),
            file=string(hint="one it names; default: the skill"),
            again=boolean(hint="although read before"),
        ),
        "skills.read",
        mutating=False,
    ),
    Tool(
        "find_skills",
        "Skills that fit some words, best first.",
        takes(query=string(hint="what you are about to do")),
        "skills.find",
        mutating=False,
    ),
    Tool(
        "write_skill",
        "Keep a skill: a way of working that took effort to find and will be needed again. It begins with a line +++, "
        "then name, brief (and when_to_use, tags) in TOML, then +++.",
        takes(
            "name contents",
            name=string(hint="a-z, 0-9, dashes", minLength=1, maxLength=48),
            contents=string("empty removes it"),
            where=string("person: for all conversations; they are asked", enum=["conversation", "person"]),
        ),
        "skills.write",
        mutating=True,
    ),
)


def block(turn: dict[str, Any]) -> str:
    """What the prompt says of the skills chosen for this conversation; "" when there are none."""
    cards = [card for card in objects(turn, "skills") if text(card, "name")]
    return "\n".join([INTRODUCTION, *map(_card, cards)]) if cards else ""


def _card(card: dict[str, Any]) -> str:
    when = text(card, "when_to_use")
    return f"- {_line(text(card, 'name'))}: {_line(text(card, 'brief'))}" + (f" Use it: {_line(when)}" if when else "")


def _line(words: str) -> str:
    return " ".join(words.split())


def _read(value: Any, args: dict[str, Any]) -> str:
    card = mapping(value, "card")
    name = text(card, "name")
    if text(value, "file"):
        return text(value, "text")
    if flag(value, "known") and not text(value, "text"):
        return f"You have read {name} in this conversation, and it has not changed. With again you get it once more."
    files = strings(card, "files")
    beside = f"\n[files beside it, for use_skill with file: {', '.join(files)}]" if files else ""
    return f"[the skill {name}]\n{text(value, 'text')}{beside}"


def _found(value: Any, args: dict[str, Any]) -> str:
    lines = [_card(card) for card in objects(value, "cards")]
    lines += [f"[unusable: {_place(problem)}: {text(problem, 'message')}]" for problem in objects(value, "problems")]
    return "\n".join(lines) or "no skill fits these words"


def written(value: Any, args: dict[str, Any]) -> str:
    """Whether a skill was kept, and what is wrong with it."""
    name, wrong = text(value, "name"), objects(value, "diagnostics")
    lines = [f"{_place(problem)}: {text(problem, 'message')}" for problem in wrong]
    if not flag(value, "ok"):
        return "\n".join([f"The skill {name} was not kept:", *lines, "Nothing was changed."])
    where = "in the person's own directory" if text(value, "source") == "person" else "in this conversation"
    return "\n".join([f"{name} is kept {where}: {text(value, 'path')}", *lines])


def _place(problem: dict[str, Any]) -> str:
    line = number(problem, "line")
    return (text(problem, "path") or "its name") + (f":{line}" if line else "")


READERS: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "skills.read": _read,
    "skills.find": _found,
    "skills.write": written,
}
