"""`python -m tests.support.reference`: writes docs/screen.md from what the program itself says.

A test compares the two, so that a key, command or kind of block without its line turns red.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

from textual.binding import Binding
from thetis_kernel.protocol.blocks import KINDS

import thetis_tui
from thetis_tui.commands import SECTIONS
from thetis_tui.overview import STATES
from thetis_tui.screens.help import TYPING

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = {
    "user": "What a person said; what was said into a running turn has another colour, what is on its way is grey.",
    "assistant": "A model's reply, Markdown, drawn while it streams.",
    "thinking": "A model's reasoning, folded to one line.",
    "tool": "A call: its name and what it is about in words, live output while it runs; its result stands in the same block.",
    "result": "What came of a call whose own block is not in view.",
    "diff": "A change to files, in the colours of their language; old and new side by side from 124 columns on.",
    "note": "A remark, a changed setting, a commit; also every kind the screen does not know.",
    "incident": "Something went wrong that a person should know.",
    "turn": "How a turn ended, with steps, calls, tokens, cost and time.",
    "state": "A changed plan, list of things to do, note or group of tools.",
    "plan": "The plan of the conversation.",
    "todos": "The list of things to do, with what is done.",
    "question": "A form of questions the agent asks.",
    "compaction": "A summary that stands for earlier events; it unfolds to the originals.",
    "change": "A change the conversation made to a guest, with its verdict.",
}
INTRO = """# The screen

Written by `python -m tests.support.reference` from the commands, keys and kinds themselves; a test keeps it true.

The log is the truth and the screen a window on it: only what is near the view is drawn, whatever the length of a conversation,
and a reader who scrolled up is never moved. Everything can be done with the keyboard; the mouse scrolls, folds and selects.
"""


def commands() -> list[str]:
    """Tables of everything a person can do, as the help has them."""
    out = ["## Commands", "", "By key, by `/name` in the prompt, or by title in the palette (`ctrl+p`)."]
    for name, commands_ in SECTIONS:
        out += ["", f"### {name}", "", "| key | in the prompt | what it does |", "|---|---|---|"]
        for command in commands_:
            keys = ", ".join(f"`{key}`" for key in command.key_names.split(", ") if key)
            argument = f" {command.argument}" if command.argument else ""
            slash = f"`/{command.slash}{argument}`" if command.slash else ""
            out.append(f"| {keys} | {slash} | **{command.title}**. {command.help} |".replace("|]", "\\|]"))
    return out


def typing() -> list[str]:
    """A table of the prompt's keys."""
    out = ["## Typing", "", "| keys | what they do |", "|---|---|"]
    return [*out, *(f"| {', '.join(f'`{k.strip()}`' for k in keys.split(','))} | {text} |" for keys, text in TYPING)]


def bound() -> dict[str, list[tuple[str, str]]]:
    """The keys of every screen and widget of ours, by the class that has them: (keys, what they do)."""
    out: dict[str, list[tuple[str, str]]] = {}
    for info in sorted(pkgutil.walk_packages(thetis_tui.__path__, "thetis_tui."), key=lambda info: info.name):
        module = importlib.import_module(info.name)
        for name, cls in sorted(vars(module).items()):
            own = inspect.isclass(cls) and cls.__module__ == info.name and "BINDINGS" in vars(cls)
            if own and name != "Desk":
                out[name] = [(b.key, b.description) for b in cls.BINDINGS if isinstance(b, Binding)]
    return out


def keys() -> list[str]:
    """A table of keys within screens and panes."""
    out = ["## Keys of single screens and panes", "", "| where | keys | what they do |", "|---|---|---|"]
    for name, pairs in bound().items():
        for key, description in pairs:
            shown = ", ".join(f"`{k}`" for k in key.split(","))
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().replace("thetis app", "everywhere")
            out.append(f"| {words} | {shown} | {description} |")
    return out


def blocks() -> list[str]:
    """The kinds of blocks a renderer may make."""
    out = ["## Blocks", "", "What events are rendered to; the widgets that draw them are the kernel's, whoever rendered.", "",
           "| kind | what it is |", "|---|---|"]
    return [*out, *(f"| `{kind}` | {BLOCKS[kind]} |" for kind in sorted(KINDS))]


def states() -> list[str]:
    """The states of the list of conversations."""
    out = ["## States of a conversation", "", "| mark | state |", "|---|---|"]
    return [*out, *(f"| {mark} | {state} |" for state, (mark, _) in STATES.items())]


def screen() -> str:
    """docs/screen.md."""
    parts = [INTRO.rstrip(), *("\n".join(part()) for part in (typing, commands, keys, states, blocks))]
    return "\n\n".join(parts) + "\n"


PAGES = {"screen.md": screen}


def main() -> int:
    """Write them."""
    for name, make in PAGES.items():
        (DOCS / name).write_text(make())
    return 0


if __name__ == "__main__":
    sys.exit(main())
