"""What a conversation is at any moment, as its fold tells it. Owns its fields and
what follows from them; must not know in which order events come.
"""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.events import (
    SHIPPED,
    Approval,
    BranchOp,
    ChildSettled,
    ChildStarted,
    Incident,
    Modification,
    Question,
    SessionStarted,
    StateChanged,
    ToolInvocation,
    TurnFinished,
    TurnStarted,
    Usage,
)
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.store import queueing, summary
from thetis_kernel.store.turnstats import TurnStats


class SessionState(msgspec.Struct):
    """The fold. Read its fields and properties; only `folds` changes them.

    `turn`: the open one. `unanswered`: calls without a result by call id, oldest first. `branch`: the last successful
    operation on it, its `after` being the tip; `materialised`: the proof that the worktree is whole. `approvals` (open
    requests) and `questions` end with an answer or the next words of a person, approvals also when their turn is stopped.
    `grants`: (capability, pattern) allowed for this conversation; `granted`: effects allowed once and not used yet.
    `children`: sub-agents not settled; `settled`: the others. `purse`: what this conversation and its settled sub-agents have
    used since a person last spoke, `purse_turn` being the turn that began then, `purse_steps` its model calls, `purse_ms` how
    long the turns that have ended since then took. `turns`: how many were begun, resumes not counted. `said`: the last text
    of a person or a reply. `unread_nudges`: a person's nudges since the last reply. `spent`: tokens and dollars by model
    since the conversation began (a fork: since it was forked), rewinds or not. `waiting`: the number of the last words of a
    person while no turn was begun for them, else 0. `interrupted`: the last turn was cut by a restart and nothing came after.
    `queue`: words for later. `restoring`: the snapshot a rewind began to put back, "" once that is done or given up.
    """

    seq: int = 0
    started: SessionStarted | None = None
    mode: str = ""
    model: str = ""
    title: str = ""
    archived: bool = False
    network: bool = False
    turn: TurnStarted | None = None
    last_started: TurnStarted | None = None
    turns: int = 0
    last_finished: TurnFinished | None = None
    stats: TurnStats = msgspec.field(default_factory=TurnStats)
    unanswered: dict[str, ToolInvocation] = {}
    last_call: ToolInvocation | None = None
    branch: BranchOp | None = None
    materialised: BranchOp | None = None
    approvals: dict[str, Approval] = {}
    grants: list[tuple[str, str]] = []
    granted: dict[str, str] = {}
    questions: dict[str, Question] = {}
    children: dict[str, ChildStarted] = {}
    settled: dict[str, ChildSettled] = {}
    purse: Spent = Spent()
    purse_turn: str = ""
    purse_steps: int = 0
    purse_ms: int = 0
    last_user_text: str = ""
    said: str = ""
    unread_nudges: int = 0
    spent: dict[str, Spent] = {}
    interrupted: bool = False
    waiting: int = 0
    queue: queueing.Queue = {}
    restoring: str = ""
    skipped: int = 0
    values: dict[str, dict[str, str]] = {}
    changes: list[tuple[int, StateChanged]] = []
    rewinds: list[tuple[int, int]] = []
    modifications: list[tuple[int, Modification]] = []
    refused: list[tuple[int, Modification]] = []
    mishaps: list[tuple[int, Incident]] = []

    @property
    def guests(self) -> dict[str, Modification]:
        """The guests that are not the shipped ones: the last change of each, by aspect. Rewinds do not undo them."""
        last = {change.target: change for _, change in self.modifications if not change.target.startswith("skill/")}
        return {target: change for target, change in last.items() if change.revision != SHIPPED}

    @property
    def state(self) -> str:
        """idle, running (a turn is open) or interrupted (there is something to resume: a turn that was cut, or words)."""
        if self.turn is not None:
            return "running"
        return "interrupted" if self.interrupted or self.waiting else "idle"

    @property
    def preview(self) -> str:
        """The line lists show under the title."""
        return summary.preview(self.said)

    @property
    def turn_tool_calls(self) -> int:
        """Calls since the last turn-started."""
        return self.stats.tool_calls

    @property
    def turn_spent(self) -> Spent:
        """What the last turn used and cost, its automatic resumes included."""
        return self.stats.spent

    @property
    def turn_usage(self) -> Usage:
        """Tokens since the last turn-started."""
        return self.stats.usage

    @property
    def plan(self) -> dict[str, str]:
        """The plan's entries, JSON text by key."""
        return self.values.get("plan", {})

    @property
    def todos(self) -> dict[str, str]:
        """The todo list's entries, JSON text by key."""
        return self.values.get("todos", {})

    @property
    def notes(self) -> dict[str, str]:
        """What was remembered, JSON text by key."""
        return self.values.get("notes", {})

    @property
    def groups(self) -> dict[str, str]:
        """Tool groups in use, JSON text by key."""
        return self.values.get("groups", {})

    def kv(self, guest: str) -> dict[str, str]:
        """A guest's own namespace, JSON text by key. It does not go back with a rewind."""
        return self.values.get(f"kv:{guest}", {})
