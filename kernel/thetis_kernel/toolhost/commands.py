"""Running a command inside the walls for a conversation: its directory, time, live output and spill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost.context import CommandRun, TurnContext
from thetis_kernel.toolhost.tree import PathError, spill_name

MAX_COMMAND = 32 * 1024
MIN_TIMEOUT_MS = 100
MAX_TIMEOUT_MS = 600_000


def run(context: TurnContext, call: str, command: str, cwd: str, timeout_ms: int) -> dict[str, Any]:
    """The JSON of terminal.run. A timeout of 0 is the configured default; others are held within the bounds above."""
    if not command.strip() or "\0" in command:
        raise ThetisError("The command is empty or holds a NUL byte.", code="bad-arguments")
    if len(command.encode("utf-8", "replace")) > MAX_COMMAND:
        raise ThetisError(f"The command is longer than {MAX_COMMAND} bytes.", code="bad-arguments",
                          hint="Write a script file and run that.")
    wanted = timeout_ms or context.place.command_timeout_ms
    request = CommandRun(
        text=command,
        cwd=_directory(context, cwd),
        timeout_ms=min(max(wanted, MIN_TIMEOUT_MS), MAX_TIMEOUT_MS),
        spill=Path(context.place.spill) / spill_name(call),
    )
    return context.commands.run(request, lambda text: context.output(call, text), context.cancelled)


def _directory(context: TurnContext, cwd: str) -> Path:
    real = context.tree.real(cwd or ".")
    if not real.is_dir():
        raise PathError(f"{cwd} is not a directory.", hint="Give a directory of the checkout.")
    return real
