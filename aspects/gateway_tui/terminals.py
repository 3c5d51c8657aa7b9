"""Terminals in human form: what is done in one, said as one would type it, and what stands in it.

Owns the titles of the `terminal_*` calls and the shapes of their results. Must not fail on any content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_guest.lenient import flag, mapping, number, objects, strings, text

Block = dict[str, Any]

FOLD_LINES = 20
"""Lines of output that stay in view: a build's last words, not its whole."""
SIGNS = {"enter": "⏎", "escape": "esc", "tab": "⇥", "up": "↑", "down": "↓", "left": "←", "right": "→"}


def _where(args: dict[str, Any]) -> str:
    return text(args, "id") or "?"


def _line(words: str, limit: int) -> str:
    words = " ".join(words.split())
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


def _open(args: dict[str, Any]) -> str:
    name, cwd = text(args, "name"), text(args, "cwd")
    return (
        "open terminal"
        + (f" {_line(name, 40)}" if name else "")
        + (f" in {_line(cwd, 120)}" if cwd not in ("", ".") else "")
    )


def _run(args: dict[str, Any]) -> str:
    lines = text(args, "command").strip().split("\n")
    more = f" … {len(lines) - 1} more lines" if len(lines) > 1 else ""
    behind = " &" if flag(args, "background") else ""
    return f"{_where(args)} $ {_line(lines[0], 300)}{more}{behind}".rstrip()


def _send(args: dict[str, Any]) -> str:
    key = text(args, "key").strip().lower()
    enter = "" if args.get("submit") is False else "⏎"
    words = _line(text(args, "text").replace("\n", " ⏎ "), 120)
    return " ".join(filter(None, [f"{_where(args)} ‹", words, SIGNS.get(key, key) if key else enter]))


TITLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "terminal_open": _open,
    "terminal_run": _run,
    "terminal_read": lambda args: f"look at {_where(args)}",
    "terminal_send": _send,
    "terminal_signal": lambda args: f"{_where(args)} signal {_line(text(args, 'signal'), 20)}",
    "terminal_close": lambda args: f"close {_where(args)}",
    "terminal_list": lambda args: "list terminals",
}
"""The whole title of a call, its name included."""


def looked(value: dict[str, Any]) -> Block:
    """A command in a terminal: how it stands, and its output or its screen."""
    body = text(value, "screen") or text(value, "output")
    ended = mapping(value, "ended") or value
    if flag(value, "running"):
        title, tone = f"running · {_seconds(number(value, 'since_ms'))}", "muted"
    elif "exit" not in ended:
        title, tone = "nothing was run yet", "muted"
    elif flag(ended, "timed_out"):
        title, tone = f"timed out after {_seconds(number(ended, 'duration_ms'))}", "bad"
    elif flag(ended, "cancelled"):
        title, tone = "stopped", "muted"
    elif number(ended, "signal"):
        title, tone = f"killed by signal {number(ended, 'signal')}", "bad"
    else:
        code = number(ended, "exit")
        title, tone = f"exit {code}", "good" if code == 0 else "bad"
    if not body.strip():
        title += " · no output"
    notes = strings(value, "notes")
    fields = [("note", note) for note in notes[:8]]
    return {"title": title, "body": body, "tone": tone, "fields": fields, "folded": body.count("\n") >= FOLD_LINES}


def opened(value: dict[str, Any]) -> Block:
    """A terminal was opened."""
    name = text(value, "name")
    return {"title": f"{text(value, 'terminal')}" + (f" ({name})" if name else "") + f" in {text(value, 'cwd')}", "body": "",
            "fields": [("note", note) for note in strings(value, "notes")[:8]]}  # fmt: skip


def closed(value: dict[str, Any]) -> Block:
    """A terminal was closed."""
    return {"title": "closed", "body": ""}


def listed(value: dict[str, Any]) -> Block:
    """The open terminals, one a line."""
    lines = []
    for one in objects(value, "terminals"):
        name = f" {text(one, 'name')}" if text(one, "name") else ""
        command = _line(text(one, "command"), 80)
        does = f"$ {command}" if flag(one, "running") else "free"
        lines.append(f"{text(one, 'terminal')}{name}  {text(one, 'cwd')}  {does}")
    count = len(lines)
    return {
        "title": f"{count} terminal{'' if count == 1 else 's'}" if count else "no terminals",
        "body": "\n".join(lines),
    }


def _seconds(ms: int) -> str:
    seconds = ms // 1000
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"


SHAPES: tuple[tuple[tuple[str, ...], Callable[[dict[str, Any]], Block]], ...] = (
    (("terminal", "running"), looked),
    (("terminal", "closed"), closed),
    (("terminal", "name", "cwd"), opened),
    (("terminals",), listed),
)
"""Fields by which a result is known, before the shapes of other tools."""
