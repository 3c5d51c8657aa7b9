"""A request's history held against the rules of the Messages API, which the kernel ships (`thetis doctor` uses them too)."""

from __future__ import annotations

from typing import Any

from thetis_kernel.protocol.history import violations

__all__ = ["check", "violations"]


def check(messages: list[dict[str, Any]]) -> None:
    """Raise AssertionError naming every violation."""
    found = violations(messages)
    assert not found, " ".join(found)
