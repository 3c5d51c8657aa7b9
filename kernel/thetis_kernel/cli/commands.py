"""Every command of the command line: the section of the help it stands in, and the function that does it.

A command's words are in `parser.py` and `elsewhere.py`; a test insists that both know the same ones. Imports nothing: what a
command needs is imported when it is the one that was given.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """`does`: "module:function" of this package; the function takes the parsed words and returns the exit status."""

    section: str
    does: str


TALKING = "Conversations"
WORK = "What they changed"
BACK = "Going back"
ITSELF = "What the agent is made of"
ALLOWED = "What is allowed"
UPKEEP = "This machine and this root"

COMMANDS: dict[str, Command] = {
    "run": Command(TALKING, "run:run"),
    "ls": Command(TALKING, "listing:ls"),
    "log": Command(TALKING, "listing:log"),
    "show": Command(TALKING, "listing:show"),
    "answer": Command(TALKING, "answer:answer"),
    "compact": Command(TALKING, "compact:compact"),
    "export": Command(TALKING, "export:export"),
    "usage": Command(TALKING, "usage:usage"),
    "diff": Command(WORK, "merging:diff"),
    "merge": Command(WORK, "merging:merge"),
    "apply": Command(WORK, "merging:apply"),
    "path": Command(WORK, "merging:path"),
    "worktrees": Command(WORK, "merging:worktrees"),
    "publish": Command(WORK, "publish:publish"),
    "rewind": Command(BACK, "timemachine:rewind"),
    "undo": Command(BACK, "timemachine:undo"),
    "fork": Command(BACK, "timemachine:fork"),
    "self": Command(ITSELF, "selfwork:selfwork"),
    "skills": Command(ITSELF, "skills:skills"),
    "kernel": Command(ITSELF, "kernel:kernel"),
    "trust": Command(ALLOWED, "trust:trust"),
    "rules": Command(ALLOWED, "rules:rules"),
    "ssh": Command(ALLOWED, "ssh:ssh"),
    "config": Command(UPKEEP, "config:config"),
    "doctor": Command(UPKEEP, "doctor:doctor"),
    "disk": Command(UPKEEP, "disk:disk"),
    "daemon": Command(UPKEEP, "daemon:daemon"),
    "connect": Command(UPKEEP, "connect:connect"),
    "setup": Command(UPKEEP, "setup:setup"),
}


def sections(helps: dict[str, str]) -> str:
    """The commands by section, a line each, with what `helps` says of them."""
    lines: list[str] = []
    section = ""
    for name, command in COMMANDS.items():
        if command.section != section:
            section = command.section
            lines += ["", f"{section}:"]
        lines.append(f"  {name:<11} {helps[name]}")
    return "\n".join(lines[1:])
