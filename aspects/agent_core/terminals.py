"""The agent's terminals: what the model is told of the tools, and how their results read.

Owns the texts of the seven `terminal_*` tools and of their answers. The order is fixed and the texts never vary, so that the
provider's cache of the tool list holds. Must not know modes, messages or how a terminal works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalog import Tool
from schemas import boolean, count, string, takes
from thetis_guest.lenient import flag, mapping, number, objects, strings, text

_ID = string(hint="its id or name")

TERMINALS: tuple[Tool, ...] = (
    Tool(
        "terminal_open",
        "Open a terminal: a shell that keeps directory, variables and functions, for servers and programs you talk to. "
        "Single commands go to run.",
        takes(
            cwd=string(hint="default: the checkout's top"),
            name=string(hint="such as server", maxLength=40),
            env={"type": "object", "hint": "variables"},
            host=string("of ssh_host_list; has its own cwd"),
        ),
        "terminals.open",
        mutating=True,
    ),
    Tool(
        "terminal_run",
        "Run a command in a terminal; answers exit code and output at its end. With background it answers after a "
        "moment and goes on, the terminal its input: for servers, and programs terminal_send types to (a REPL). "
        "One at a time; you are told when a background one ends.",
        takes(
            "id command",
            id=string("or its name"),
            command=string(hint="for the shell"),
            timeout_ms=count(hint="default 120000, background 8 hours"),
            background=boolean(hint="default false"),
        ),
        "terminals.run",
        mutating=True,
    ),
    Tool(
        "terminal_read",
        "What a terminal's command wrote since you last looked, or its screen. Use wait_ms rather than ask again.",
        takes("id", id=_ID, wait_ms=count("up to 600000")),
        "terminals.read",
        mutating=False,
    ),
    Tool(
        "terminal_send",
        "Type into a terminal's background command; then read what it answers.",
        takes(
            "id",
            id=_ID,
            text=string(hint="a line feed is Enter"),
            key=string(
                "after the text: enter, tab, escape, up, home, page-up, ctrl-c",
                hint="enter, tab, escape, up, down, left, right, home, end, page-up, page-down, backspace, delete, space, "
                "ctrl-a to ctrl-z",
            ),
            submit=boolean("then Enter; default true"),
        ),
        "terminals.send",
        mutating=True,
    ),
    Tool(
        "terminal_signal",
        "Signal a terminal's command. INT is Ctrl-C; KILL ends all of it.",
        takes(
            "id signal",
            id=_ID,
            signal=string(enum=["INT", "TERM", "HUP", "QUIT", "KILL", "TSTP", "CONT", "USR1", "USR2"]),
        ),
        "terminals.signal",
        mutating=True,
    ),
    Tool(
        "terminal_close",
        "Close a terminal and end what runs in it.",
        takes("id", id=_ID),
        "terminals.close",
        mutating=True,
    ),
    Tool(
        "terminal_list",
        "The open terminals and what runs in each.",
        takes(),
        "terminals.list",
        mutating=False,
    ),
)


def _open(value: Any, args: dict[str, Any]) -> str:
    name = text(value, "name")
    host = text(value, "host")
    where = f"on {host}, where its entry says" if host else f"in {text(value, 'cwd')}"
    told = f"opened {text(value, 'terminal')}" + (f" ({name})" if name else "") + f" {where}"
    return "\n".join([told, *_notes(value)])


def look(value: Any, args: dict[str, Any]) -> str:
    """What run, read, send and signal answer: the output or the screen, notes, and how the command stands."""
    screen = text(value, "screen")
    output = text(value, "output").rstrip("\n")
    lines = []
    if screen:
        cursor = value.get("cursor")
        known = isinstance(cursor, list) and len(cursor) == 2
        place = f"; the cursor is in line {cursor[0]}, column {cursor[1]}" if known else ""
        lines += [f"[the screen of {text(value, 'terminal')}{place}]", screen]
    elif output:
        lines.append(output)
    lines += _notes(value)
    quiet = "" if screen or output else ", no output" if "exit" in value or flag(value, "running") else ", nothing new"
    lines.append(f"[{_standing(value)}{quiet}]")
    return "\n".join(lines)


def _standing(value: Any) -> str:
    where = text(value, "cwd")
    if flag(value, "running"):
        seconds = number(value, "since_ms") / 1000
        return f"{text(value, 'terminal')} runs {_short(text(value, 'command'))} since {seconds:.0f} s"
    ended = mapping(value, "ended") or value
    if "exit" not in ended:
        return f"nothing was run in {text(value, 'terminal')} yet; it is in {where}"
    if flag(ended, "timed_out"):
        how = f"timed out after {number(ended, 'duration_ms') / 1000:.0f} s and was ended; the terminal is still there"
    elif flag(ended, "cancelled"):
        how = "stopped by the person"
    elif number(ended, "signal"):
        how = f"killed by signal {number(ended, 'signal')}"
    else:
        how = f"exit {number(ended, 'exit')}"
    spill = text(value, "spill")
    kept = f"; output cut, the whole is in {spill}" if spill else "; output cut" if flag(value, "truncated") else ""
    return f"{how}; {text(value, 'terminal')} is in {where}{kept}"


def _notes(value: Any) -> list[str]:
    return [f"[{note}]" for note in strings(value, "notes")]


def _short(command: str) -> str:
    words = " ".join(command.split())
    return repr(words if len(words) <= 80 else f"{words[:79]}…")


def _close(value: Any, args: dict[str, Any]) -> str:
    return f"closed {text(value, 'terminal')} and all that ran in it"


def _list(value: Any, args: dict[str, Any]) -> str:
    lines = []
    for one in objects(value, "terminals"):
        name = f" ({text(one, 'name')})" if text(one, "name") else ""
        if flag(one, "running"):
            does = f"runs {_short(text(one, 'command'))} since {number(one, 'since_ms') / 1000:.0f} s"
        elif text(one, "command"):
            does = f"free; {_short(text(one, 'command'))} ended with exit {number(one, 'exit_code')}"
        else:
            does = "free"
        left = number(one, "left")
        more = f"; {left} background process(es)" if left and not flag(one, "running") else ""
        lines.append(f"{text(one, 'terminal')}{name} in {text(one, 'cwd')}: {does}{more}")
    return "\n".join(lines) or "no terminals are open"


READERS: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "terminals.open": _open,
    "terminals.run": look,
    "terminals.read": look,
    "terminals.send": look,
    "terminals.signal": look,
    "terminals.close": _close,
    "terminals.list": _list,
}
