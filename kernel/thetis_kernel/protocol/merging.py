"""What a person asks about a conversation's branch: what merging it would do, merging it, taking its files, its worktree.

Owns the words; `protocol.branches` is what the git host is asked about them. Never offered over a bridge.
"""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.branches import Applied, Landed, Plan
from thetis_kernel.protocol.wire import Ask


class MergePlan(msgspec.Struct, frozen=True):
    """What `Merge` would do: git's plan, and the words the one commit would carry. `running`: a turn is, so it is refused."""

    session: str
    branch: str
    plan: Plan
    message: str
    running: bool = False


class PlanMerge(Ask[MergePlan], frozen=True, tag="client.plan-merge"):
    """What would merging the conversation into its trunk, or into the branch `into`, do? Changes no branch of the person's."""

    session: str
    into: str = ""


class Merge(Ask[Landed], frozen=True, tag="client.merge"):
    """Merge a conversation as a plan showed it: `tip` and `onto` are the plan's. `message` "" takes the plan's."""

    session: str
    tip: str
    onto: str
    into: str = ""
    message: str = ""


class Resolve(Ask[bool], frozen=True, tag="client.resolve"):
    """Have the conversation bring its trunk in and resolve what conflicts: a turn begins with that request. False: one runs."""

    session: str
    event_id: str


class ApplyChanges(Ask[Applied], frozen=True, tag="client.apply"):
    """Write what the conversation changed into the person's checkout, uncommitted."""

    session: str


class WorktreeLine(msgspec.Struct, frozen=True):
    """A worktree Thetis made. `session` "" = its conversation was deleted; `used_ms` when that was last written to.

    `dirty` and `bytes` -1: not known. `reached`: its branch's tip is on another branch or tag too. `prunable`: it would go,
    else `why` is a clause that says why not. `held_by`: a living process works in it.
    """

    branch: str
    path: str
    state: str
    session: str = ""
    title: str = ""
    used_ms: int = 0
    dirty: int = -1
    bytes: int = -1
    reached: bool = False
    held_by: int = 0
    prunable: bool = False
    why: str = ""


class ListWorktreeLines(Ask[list[WorktreeLine]], frozen=True, tag="client.worktrees"):
    """The worktrees of this root's conversations, the one used longest ago first."""


class PruneWorktrees(Ask[list[WorktreeLine]], frozen=True, tag="client.prune-worktrees"):
    """Remove the prunable ones; their branches stay, and a conversation that goes on gets its worktree again. Answers those
    that went."""


MERGE_ASKS = (PlanMerge, Merge, Resolve, ApplyChanges, ListWorktreeLines, PruneWorktrees)
