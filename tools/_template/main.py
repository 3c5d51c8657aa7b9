"""What a new tool starts from: counts lines and words of a file. Replace the counting; keep the shape.

A tool is called in a fresh instance each time and keeps nothing. What it can reach is `thetis_guest.sandbox`, as far as
the conversation's mode allows; `available()` says what that is. An error is a HostError with the way out as its hint:
the model reads it and calls again. Keep the work in functions that know no host: they are easy to test.
"""

from __future__ import annotations

from typing import Any

from thetis_guest import HostError, ToolManifest, sandbox

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "a text file, relative to the checkout"}},
    "required": ["path"],
    "additionalProperties": False,
}


def describe() -> ToolManifest:
    """What the model is told: what the tool does, when to use it, what comes back."""
    return ToolManifest(
        name="template",
        description="Count the lines, words and long lines of a text file.",
        input_schema=SCHEMA,
        group="extra",
        mutating=False,  # True as soon as a call changes anything: read-only modes then leave the tool out
    )


def invoke(session_id: str, args: dict[str, Any], config: dict[str, Any]) -> str:
    """The answer as text for the model."""
    path = args.get("path")
    if not isinstance(path, str) or not path:
        raise HostError("bad-arguments", "`path` is missing.", "Give a text file, relative to the checkout.")
    longest = config.get("longest", 120)
    return report(path, sandbox.read_file(path), longest if isinstance(longest, int) else 120)


def report(path: str, text: str, longest: int) -> str:
    """The counts in a line."""
    lines = text.splitlines()
    long = sum(len(line) > longest for line in lines)
    return f"{path}: {len(lines)} lines, {len(text.split())} words, {long} lines longer than {longest} characters"
