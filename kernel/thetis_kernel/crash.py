"""Named crash points: where a test may kill this process to prove that nothing is lost.

`point("append.after-insert")` does nothing unless the environment variable THETIS_CRASH names it as
`NAME` or `NAME:N` (the Nth time it is reached, from 1). Then the process kills itself with SIGKILL, which
no handler sees. With THETIS_CRASH_TRACE set to a file, each reached name is appended to it, so a test can
prove that every registered point is hit by its scenario. Names must stand in `REGISTRY`; a test enumerates it.
"""

from __future__ import annotations

import os
import signal

REGISTRY: dict[str, str] = {
    "append.before-begin": "the store's writer, before the transaction",
    "append.after-insert": "rows inserted, not committed",
    "append.after-commit": "committed and synced, not acknowledged",
    "ack.before": "the gateway has the sequence number, the caller does not",
    "ack.after": "the caller has been answered",
    "tool.intent": "the intent of a mutating call is durable, nothing has run",
    "tool.running": "the effect has begun",
    "tool.effect-done": "the effect is complete, its result is not logged",
    "result.logged": "the result is durable",
    "checkout.before": "before a worktree is made",
    "checkout.after": "worktree on disk, no materialised row",
    "checkout.recorded": "the materialised row is durable",
    "commit.before": "before the end-of-turn commit",
    "commit.after": "the branch has moved, the turn is not finished",
    "swap.before": "an artifact is built, not stored",
    "swap.after": "an artifact is stored, not yet live",
    "worker.turn-start": "the worker has been handed a turn",
    "worker.turn-end": "the agent has returned, the gateway does not know",
    "gateway.turn-start": "turn-started is durable, no worker asked",
    "gateway.turn-end": "turn-finished is about to be written",
    "git-host.request": "the git host has received a request",
    "model-host.request": "the model host has received a request",
    "model-host.mid-stream": "some deltas are out, the stream is not finished",
}

_wanted, _, _count = os.environ.get("THETIS_CRASH", "").partition(":")
_remaining = int(_count or 1)
_trace = os.environ.get("THETIS_CRASH_TRACE", "")


def point(name: str) -> None:
    """Die here if a test asked for it. `name` must be registered."""
    global _remaining
    if not _wanted and not _trace:
        return
    if name not in REGISTRY:
        raise KeyError(name)
    if _trace:
        with open(_trace, "a") as file:
            file.write(name + "\n")
    if name == _wanted:
        _remaining -= 1
        if _remaining == 0:
            os.kill(os.getpid(), signal.SIGKILL)
