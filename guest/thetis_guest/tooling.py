"""The model's tool calls: the host runs, logs and bounds them."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def registry() -> list[dict[str, Any]]:
    """The tool guests of this conversation: {"name", "description", "input_schema", "group", "mutating"}."""
    return _bind.value("tooling", "registry")  # type: ignore[no-any-return]


def invoke_many(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run calls [{"id", "name", "args", "op", "op-args"}]; results in the same order: {"id", "outcome", "content", "data"}.

    Calls that change nothing run at the same time, others one after another.
    """
    return _bind.value("tooling", "invoke-many", _bind.dumps(calls))  # type: ignore[no-any-return]
