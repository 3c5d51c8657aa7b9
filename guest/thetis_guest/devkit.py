"""The guests of this conversation, this one included: read them, change them, see what they were, go back.

Every change is judged by the gate before the call returns; what passes serves from the next call on.
"""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def list_code(directory: str = "") -> dict[str, Any]:
    """{"guests": [{"aspect", "directory", "origin", "revision", "version", "description"}]}, or {"files": [...]} below one."""
    return _bind.value("devkit", "list-code", directory)  # type: ignore[no-any-return]


def read_code(path: str, offset: int = 1, limit: int = 0) -> dict[str, Any]:
    """{"text", "first", "lines", "total", "truncated"}, as files.read_file."""
    return _bind.value("devkit", "read-code", path, offset, limit)  # type: ignore[no-any-return]


def write_code(path: str, contents: str) -> dict[str, Any]:
    """{"path", "aspect", "ok", "revision", "diagnostics", "steps"}: the gate's verdict over the guest as it stands now."""
    return _bind.value("devkit", "write-code", path, contents)  # type: ignore[no-any-return]


def patch_code(path: str, old_text: str, new_text: str) -> dict[str, Any]:
    """Replace a text that stands in the file exactly once; answers as write_code."""
    return _bind.value("devkit", "patch-code", path, old_text, new_text)  # type: ignore[no-any-return]


def remove_code(path: str) -> dict[str, Any]:
    """Remove a module; answers as write_code."""
    return _bind.value("devkit", "remove-code", path)  # type: ignore[no-any-return]


def new_tool(name: str, description: str) -> dict[str, Any]:
    """A new tool from the template; answers as write_code."""
    return _bind.value("devkit", "new-tool", name, description)  # type: ignore[no-any-return]


def history(aspect: str) -> dict[str, Any]:
    """{"revisions": [{"revision", "previous", "verdict", "by", "summary", "ts_ms", "serving"}]}, newest first."""
    return _bind.value("devkit", "history", aspect)  # type: ignore[no-any-return]


def roll_back(aspect: str, revision: str = "") -> dict[str, Any]:
    """Serve an earlier revision again; "" is the one before the present. Answers as write_code."""
    return _bind.value("devkit", "roll-back", aspect, revision)  # type: ignore[no-any-return]


def add_dependency(aspect: str, requirement: str) -> dict[str, Any]:
    """Take a pure-Python package and what it needs into a guest; answers as write_code, with "packages"."""
    return _bind.value("devkit", "add-dependency", aspect, requirement)  # type: ignore[no-any-return]


def remove_dependency(aspect: str, name: str) -> dict[str, Any]:
    """Take a package out of a guest again; answers as write_code, with "packages"."""
    return _bind.value("devkit", "remove-dependency", aspect, name)  # type: ignore[no-any-return]


def list_dependencies(aspect: str = "") -> dict[str, Any]:
    """{"packages": [{"aspect", "name", "version", "sha256", "licence", "modules", "wanted"}]}; "" is every guest."""
    return _bind.value("devkit", "list-dependencies", aspect)  # type: ignore[no-any-return]


def update_code(aspect: str = "") -> dict[str, Any]:
    """Bring what the root's common guests and the shipped ones became into the conversation's own.

    {"guests": [{"aspect", "how": "current" | "merged" | "conflicts" | "red", "revision", "conflicts", "diagnostics"}]}.
    """
    return _bind.value("devkit", "update-code", aspect)  # type: ignore[no-any-return]
