"""The conversation's branch of the project: where it stands, what is on it, and bringing the trunk into it.

Merging the branch into the trunk is a person's act and not here.
"""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def status() -> dict[str, Any]:
    """{"branch", "trunk", "tip", "base", "ahead", "behind", "changed", "dirty", "merging", "unresolved", "filtered"}."""
    return _bind.value("branch", "status")  # type: ignore[no-any-return]


def log(limit: int = 20) -> dict[str, Any]:
    """{"commits": [{"id", "subject", "body", "author", "time"}], "more"}, newest first; the branch's own commits."""
    return _bind.value("branch", "log", limit)  # type: ignore[no-any-return]


def commit(message: str) -> dict[str, Any]:
    """{"commit", "tip", "files", "total", "skipped"}: what changed is on the branch now; "commit" is "" for nothing."""
    return _bind.value("branch", "commit", message)  # type: ignore[no-any-return]


def update_from_trunk() -> dict[str, Any]:
    """{"how": "current" | "forward" | "merged" | "conflicts", "before", "after", "files", "total", "conflicts"}."""
    return _bind.value("branch", "update-from-trunk")  # type: ignore[no-any-return]


def complete_merge(message: str = "") -> dict[str, Any]:
    """Record the resolved merge; answers as update_from_trunk. Refused while marks of conflicts remain."""
    return _bind.value("branch", "complete-merge", message)  # type: ignore[no-any-return]


def abort_merge() -> dict[str, Any]:
    """The files as they were before the merge was begun: {"after", "saved"}, `saved` a commit of what stood there."""
    return _bind.value("branch", "abort-merge")  # type: ignore[no-any-return]


def reset_to(revision: str) -> dict[str, Any]:
    """A new commit with the tree of an earlier one: {"before", "after", "to", "files", "total"}."""
    return _bind.value("branch", "reset-to", revision)  # type: ignore[no-any-return]
