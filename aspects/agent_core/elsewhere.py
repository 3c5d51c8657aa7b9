"""What lies outside this conversation: other repositories. What the model is told of the tools, and how results read.

Owns those texts. The order is fixed and the texts never vary, so that the provider's cache of the tool list holds. Must not
know modes, messages or how a clone is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalog import Tool
from thetis_guest.lenient import number, strings, text


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


ELSEWHERE: tuple[Tool, ...] = (
    Tool(
        "git_clone",
        "Clone a public repository into /workspace, where every conversation of this repository can read it. No "
        "credentials, hooks or submodules. The person is asked while the network is off. Use depth 1 to read code.",
        {
            "type": "object",
            "properties": {
                "repo": _text("its https address"),
                "dir": _text("name of the directory in /workspace; default: the repository's own"),
                "ref": _text("a branch, a tag, or a commit's 40 digits; default: the default branch"),
                "depth": {"type": "integer", "minimum": 1, "description": "only so many commits; default: all"},
            },
            "required": ["repo"],
            "additionalProperties": False,
        },
        "repository.clone",
        mutating=True,
    ),
)


def _cloned(value: Any, args: dict[str, Any]) -> str:
    commit, branch = text(value, "commit"), text(value, "branch")
    at = f"{branch} at {commit[:10]}" if branch else commit[:10] or "nothing"
    told = f"cloned into {text(value, 'path')}: {at}, {number(value, 'files')} files, {number(value, 'bytes')} bytes"
    return "\n".join([told, *(f"[{note}]" for note in strings(value, "notes"))])


READERS: dict[str, Callable[[Any, dict[str, Any]], str]] = {"repository.clone": _cloned}
