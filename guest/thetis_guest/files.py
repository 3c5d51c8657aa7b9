"""Files of the conversation's checkout and of /workspace. Paths are relative to the checkout."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def read_file(path: str, offset: int = 1, limit: int = 0) -> dict[str, Any]:
    """{"text", "first", "lines", "total", "truncated"}; `offset` counts lines from 1, limit 0 is the host's default."""
    return _bind.value("files", "read-file", path, offset, limit)  # type: ignore[no-any-return]


def write_file(path: str, contents: str) -> dict[str, Any]:
    """Write a whole file, atomically, making its parents: {"path", "bytes", "created"}."""
    return _bind.value("files", "write-file", path, contents)  # type: ignore[no-any-return]


def edit_file(path: str, old_text: str, new_text: str, replace_all: bool = False) -> dict[str, Any]:
    """Replace text that occurs exactly once (or everywhere, with `replace_all`): {"path", "replaced"}."""
    return _bind.value("files", "edit-file", path, old_text, new_text, replace_all)  # type: ignore[no-any-return]


def list_dir(path: str = ".") -> dict[str, Any]:
    """{"entries": [{"name", "kind", "size"}], "truncated"}; directories first."""
    return _bind.value("files", "list-dir", path)  # type: ignore[no-any-return]


def search_files(query: dict[str, Any]) -> dict[str, Any]:
    """query {"pattern", "path", "glob", "mode": content|files|count, "max_results"}; honours .gitignore."""
    return _bind.value("files", "search-files", _bind.dumps(query))  # type: ignore[no-any-return]


def find_files(query: dict[str, Any]) -> dict[str, Any]:
    """query {"glob", "path", "max_results"}; newest first."""
    return _bind.value("files", "find-files", _bind.dumps(query))  # type: ignore[no-any-return]
