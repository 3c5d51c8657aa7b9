"""Sub-agents as a turn sees them: each operation is asked of the gateway, which owns children, their logs and the purse.

Owns the bounds of what is asked. A turn of a sub-agent has no `context.agents`, so all of it is refused there, whatever its
guest offers or calls. Must not know how a child runs.
"""

from __future__ import annotations

from typing import Any

from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.protocol import cutting
from thetis_kernel.toolhost.context import TurnContext

NAMES = ("spawn", "status", "transcript", "cancel", "profiles")
MIN_TASK, MAX_TASK = 40, 64 * 1024
"""Characters of a brief: no task worth a model's window of its own fits into fewer (features.md 2.9)."""
MAX_LABEL = 40


def ask(context: TurnContext, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One operation, `name` without its interface. Raises Refused for a sub-agent, and what the gateway answers."""
    if context.agents is None:
        raise Refused("A sub-agent has no sub-agents of its own.", capability="delegate",
                      hint="Do this part yourself, or say in your answer what else should be done.")
    return context.agents(name, arguments)


def spawn(context: TurnContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """agents.spawn, its words looked at. Raises ThetisError `bad-arguments` naming what does not fit."""
    label = cutting.head("".join(sign for sign in " ".join(arguments["label"].split()) if sign.isprintable()), MAX_LABEL)
    task = arguments["task"].strip()
    if not label:
        raise _unfit("A sub-agent needs a label, a word or two by which it is told from others.")
    if len(task) < MIN_TASK:
        raise _unfit(f"A brief of {len(task)} characters says too little: a sub-agent knows nothing but its brief.")
    if len(task) > MAX_TASK:
        raise _unfit(f"A brief has at most {MAX_TASK} characters.", "Put the rest into a file of the checkout and name it.")
    return ask(context, "spawn", {**arguments, "label": label, "task": task})


def _unfit(message: str, hint: str = "") -> ThetisError:
    return ThetisError(message, code="bad-arguments", hint=hint)
