"""The dev kit as a turn sees it: each operation is asked of the gateway, which owns bodies, gate and artifacts.

Owns the list of operations and which of them change a guest. Must not know where a body lies or how it is judged.
"""

from __future__ import annotations

from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost.context import TurnContext

CHANGING = ("write-code", "patch-code", "remove-code", "new-tool", "roll-back", "update-code", "add-dependency",
            "remove-dependency")
READING = ("list-code", "read-code", "history", "list-dependencies")


def ask(context: TurnContext, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One operation, `name` without its interface. Raises what the gateway answers, and `unavailable` without a gateway."""
    if context.devkit is None:
        raise ThetisError("There is no dev kit in this place.", code="unavailable")
    return context.devkit(name, arguments)
