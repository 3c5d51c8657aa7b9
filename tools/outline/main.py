"""The outline tool: what stands where in a source file, without reading the file.

Owns its manifest, reading the file through the sandbox in parts, and choosing how to outline it. Must not know any
language's syntax.
"""

from __future__ import annotations

from typing import Any

import heuristic
import pythonic
from entries import Entry, listed
from thetis_guest import HostError, ToolManifest, sandbox

MAX_LINES = 20_000
"""Of a file; what comes after is not outlined, and the outline says so."""
PART = 2_000
MAX_DEPTH = 6

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "depth": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_DEPTH,
            "description": "levels; default 2",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}


def describe() -> ToolManifest:
    """What the model is told of this tool."""
    return ToolManifest(
        name="outline",
        description="Classes and functions of a source file with signatures and lines, Markdown's headings: before you read a "
        "long file. Exact for Python.",
        input_schema=SCHEMA,
        group="code",
        mutating=False,
    )


def invoke(session_id: str, args: dict[str, Any], config: dict[str, Any]) -> str:
    """The outline as text. Raises HostError with what is wrong with the arguments or the file."""
    path, depth = _checked(args)
    text, whole = _read(path)
    found, note = _outline(path, text)
    lines = [f"{path}: {_lines(text)}{note}"]
    if not whole:
        lines.append(f"(only the first {MAX_LINES} lines are outlined)")
    lines += listed(found, depth) or ["(nothing that stands out: no classes, functions or headings)"]
    return "\n".join(lines)


def _checked(args: dict[str, Any]) -> tuple[str, int]:
    path, depth = args.get("path"), args.get("depth", 2)
    if not isinstance(path, str) or not path.strip():
        raise HostError("bad-arguments", "`path` is missing.", "Give a source file, relative to the checkout.")
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= MAX_DEPTH:
        raise HostError("bad-arguments", f"`depth` must be a whole number from 1 to {MAX_DEPTH}.", "Leave it out for 2.")
    return path, depth


def _read(path: str) -> tuple[str, bool]:
    """(the text, whether it is all of it): the sandbox gives long files in parts."""
    parts: list[str] = []
    count = 0
    while count < MAX_LINES:
        try:
            part = sandbox.read_file(path, offset=count + 1, limit=PART)
        except HostError:
            if count == 0:
                raise
            break  # the part before ended with the file's last line
        if not part:
            break
        parts.append(part)
        count += part.count("\n") + 1
    return "\n".join(parts), count < MAX_LINES


def _outline(path: str, text: str) -> tuple[list[Entry], str]:
    """(entries, a remark on how they were found)."""
    if pythonic.speaks(path, text):
        try:
            return pythonic.entries(text), ""
        except SyntaxError as error:
            return heuristic.entries("x.py", text), f"; it does not parse ({error.msg}, line {error.lineno}), so by patterns"
        except (RecursionError, MemoryError, ValueError):
            return heuristic.entries("x.py", text), "; too deep to parse, so by patterns"
    return heuristic.entries(path, text), ""


def _lines(text: str) -> str:
    count = text.count("\n") + 1 if text else 0
    return "1 line" if count == 1 else f"{count} lines"
