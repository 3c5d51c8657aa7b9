"""The conversation's branch as a turn sees it: each operation is asked of the gateway, which has it from the git host.

Owns the list of operations and which of them change the branch or the checkout. Must not know git.
"""

from __future__ import annotations

from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost.context import TurnContext

CHANGING = ("commit", "update-from-trunk", "complete-merge", "abort-merge", "reset-to")
READING = ("status", "log")


def ask(context: TurnContext, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One operation, `name` without its interface. Raises what the gateway answers, and `unavailable` without a gateway."""
    if context.branch is None:
        raise ThetisError("There is no branch in this place.", code="unavailable")
    return context.branch(name, arguments)
