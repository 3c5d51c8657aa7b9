"""Named crash points: where a test may kill this process to prove that nothing is lost.

`point("append.after-insert")` does nothing unless the environment variable THETIS_CRASH names it as
`NAME` or `NAME:N` (the Nth time it is reached, from 1); several stand side by side with commas. Then the process
kills itself with SIGKILL, which no handler sees. With THETIS_CRASH_TRACE set to a file, each reached name is appended
to it, so a test can prove that every registered point is hit by its scenario. Names must stand in `REGISTRY`; a test
enumerates it.
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
    "branch.planned": "what becomes of a branch stands in its worktree's record, nothing has moved",
    "branch.moved": "the branch has moved, its files have not",
    "branch.files": "the files have followed, the record does not say so",
    "merge.kept": "the branch's own commits are kept, its target has not moved",
    "merge.planned": "what becomes of the person's checkout is noted, nothing has moved",
    "merge.moved": "the person's branch has moved, their files have not",
    "merge.files": "their files have followed, their index has not",
    "merge.landed": "the target is whole, the conversation's branch does not stand on it yet",
    "snapshot.before-ref": "the files before an effect are in the database, nothing refers to them",
    "snapshot.after-ref": "they are kept, the effect has not begun",
    "snapshot.restore": "the files that stand there are kept, none is put back",
    "snapshot.restoring": "one more path is as it was",
    "rewind.logged": "a rewind is durable, no file has gone back",
    "fork.made": "a fork exists, its files do not",
    "guests.written": "the common guests stand in their checkout, not committed",
    "guests.merged": "the common guests are committed, the conversation does not say so",
    "swap.before": "an artifact is built, not stored",
    "swap.after": "an artifact is stored, not yet live",
    "collect.chosen": "an unused artifact is about to go",
    "collect.hidden": "it is out of sight, its files are still there",
    "worker.turn-start": "the worker has been handed a turn",
    "worker.turn-end": "the agent has returned, the gateway does not know",
    "gateway.turn-start": "turn-started is durable, no worker asked",
    "gateway.turn-end": "turn-finished is about to be written",
    "git-host.request": "the git host has received a request",
    "model-host.request": "the model host has received a request",
    "model-host.mid-stream": "some deltas are out, the stream is not finished",
    "model-host.stream-end": "the reply is complete, the gateway does not have it",
    "stream.received": "the gateway has the reply, the log does not",
    "stream.logged": "the reply is durable, the agent does not have it",
    "retry.pause": "a try has failed, the pause before the next has begun",
    "retry.told": "the gateway has heard of the pause",
    "retry.again": "the pause is over, the request has not gone out again",
    "cancel.asked": "a person has stopped the turn, nothing of it is durable",
    "cancel.noted": "the stop is durable",
    "cancel.worker": "the worker has heard of the stop",
    "cancel.settled": "the calls of a stopped turn are answered, it has no end",
    "cancel.ended": "a stopped turn has its end",
    "recovery.before": "a conversation was found that was cut, nothing is repaired",
    "recovery.after": "what was cut is repaired",
    "resume.asked": "somebody asked to go on with a cut turn, nothing is begun",
    "compact.asked": "a person's wish to compact is durable, no turn is begun for it",
    "compaction.summed": "the agent has the words for what it sheds, the log does not (the worker dies)",
    "compaction.logged": "the compaction is durable, the agent does not know",
    "queue.said": "words have left the queue for the conversation, no turn is begun",
    "spawn.made": "a sub-agent's conversation exists, its parent does not know",
    "spawn.logged": "the parent's log has the sub-agent, its turn is not begun",
    "spawn.begun": "the sub-agent's turn has begun, its parent has no answer",
    "child.ending": "a sub-agent's turn is over, its parent's log does not say so",
    "child.settled": "how the sub-agent ended is durable, nobody was told",
    "children.found": "a dead kernel's sub-agents were found, nothing is settled",
    "resume.again": "a worker has died, its turn is about to be begun again",
}


def _parsed(wanted: str) -> dict[str, int]:
    """{"a": 1, "b": 3} of "a,b:3": how many times each may still be reached, the last one included."""
    split = (name.partition(":") for name in wanted.split(",") if name)
    return {name: int(count or 1) for name, _, count in split}


_wanted = _parsed(os.environ.get("THETIS_CRASH", ""))
_trace = os.environ.get("THETIS_CRASH_TRACE", "")


def point(name: str) -> None:
    """Die here if a test asked for it. `name` must be registered."""
    if not _wanted and not _trace:
        return
    if name not in REGISTRY:
        raise KeyError(name)
    if _trace:
        with open(_trace, "a") as file:
            file.write(name + "\n")
    if name in _wanted:
        _wanted[name] -= 1
        if _wanted[name] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
