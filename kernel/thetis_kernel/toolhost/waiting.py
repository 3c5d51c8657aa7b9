"""`wait.until`: a turn asleep until children settle, a terminal's command ends, somebody speaks, or time is up.

Owns when it wakes and why. The bell is for speed alone: a look every BACKSTOP_S finds what it missed. Nothing runs and no
model is asked meanwhile. Must not know how children run.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.children import SETTLED
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.terminals import calls as terminals
from thetis_kernel.toolhost.terminals.terminal import Terminal

BACKSTOP_S = 2.0
"""Between looks while nothing rings: cheap (one question to the gateway), and a lost ring costs no more (features.md 2.9)."""
UNTIL = ("all", "any", "first_failure", "time")
MAX_CHILDREN = 64


def until(context: TurnContext, mode: str, children: list[Any], terminal: str, timeout_secs: int) -> dict[str, Any]:
    """The JSON of `wait.until`. Raises ThetisError `bad-arguments`, `not-found`, and `cancelled` at a stop."""
    if mode and mode not in UNTIL:
        raise _unfit(f"until is one of {', '.join(UNTIL)}, not {mode[:40]!r}.")
    if any(not isinstance(child, str) for child in children) or len(children) > MAX_CHILDREN:
        raise _unfit("children is a list of ids or labels of sub-agents.")
    if timeout_secs < 0:
        raise _unfit("timeout_secs is a number of seconds.")
    longest = context.place.max_wait_s
    begun = time.monotonic()
    deadline = begun + min(timeout_secs or longest, longest)
    wanted = [str(child) for child in children]
    with _listening(context, terminal) as command:
        while True:
            heard = context.bell.rings  # before the look: what rings after it wakes the sleep below
            if context.cancelled.is_set():
                raise ThetisError("The turn was stopped.", code="cancelled")
            looked = _look(context, wanted)
            mode = mode or ("all" if looked else "time" if command is None else "any")
            woken = "message" if context.unread() else _met(mode, looked, command)
            now = time.monotonic()
            if not woken and now >= deadline:
                woken = "time"
            if woken:
                break
            context.bell.sleep(heard, min(BACKSTOP_S, deadline - now))
        answer: dict[str, Any] = {"woken_by": woken, "until": mode, "waited_ms": round((time.monotonic() - begun) * 1000)}
        if context.agents is not None:
            answer |= context.agents("status", {"children": wanted})
        if command is not None:
            answer["terminal"] = terminals.read(context, terminal, 0)
    return answer


def _look(context: TurnContext, children: list[str]) -> list[str]:
    """The states of the children that are waited for: those named, else all that run or have not been told of."""
    if context.agents is None:
        if children:
            raise ThetisError("A sub-agent has no sub-agents to wait for.", code="not-found",
                              hint="Wait for a terminal's command, or for a time.")
        return []
    return [str(one.get("state")) for one in context.agents("look", {"children": children})["agents"]]


def _met(mode: str, states: list[str], command: Terminal | None) -> str:
    """What is woken by, "" while there is something to wait for."""
    if mode == "time":
        return ""
    settled = [state for state in states if state in SETTLED]
    ended = command is not None and not command.busy
    if mode == "any" and (settled or ended):
        return "agents" if settled else "terminal"
    if mode == "first_failure" and any(state != "done" for state in settled):
        return "agents"
    if len(settled) == len(states) and (ended or command is None):
        return "agents" if states or command is None else "terminal"
    return ""


@contextlib.contextmanager
def _listening(context: TurnContext, terminal: str) -> Iterator[Terminal | None]:
    """While the block runs, a stop and the end of the terminal's command ring the bell; nobody else is told of that end."""
    forget = context.cancelled.on_set(context.bell.ring)
    over = threading.Event()
    try:
        if not terminal:
            yield None
            return
        if context.terminals is None:
            raise ThetisError("There are no terminals here.", code="not-found")
        found = context.terminals.pool.get(terminal)
        with found.watched():
            def listen() -> None:
                found.wait(context.place.max_wait_s, over)
                context.bell.ring()

            threading.Thread(target=listen, daemon=True, name=f"waiting for {found.id}").start()
            yield found
    finally:
        over.set()
        forget()


def _unfit(message: str) -> ThetisError:
    return ThetisError(message, code="bad-arguments")
