"""What the git host is asked about branches beyond the commit after a turn: update, merge, reset, land, apply.

Owns the words; what they do is `thetis_kernel.repo`. The rules of `protocol.git` hold here too.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.git import Changed, Skipped
from thetis_kernel.protocol.known import Known
from thetis_kernel.protocol.wire import Ask

How = Literal["current", "forward", "merged", "conflicts"]


class Moved(msgspec.Struct, frozen=True):
    """A branch went from `before` to `after`. `changed` are the first 500 paths of `total` that differ.

    `how` conflicts: the branch is where it was, and a merge is open in its worktree with marks in `conflicts`; `kept` are
    those of them that could not carry any (binary, or removed on one side) and stand as the branch had them.
    """

    how: How
    before: str
    after: str
    changed: list[Changed] = []
    total: int = 0
    conflicts: list[str] = []
    kept: list[str] = []
    skipped: list[Skipped] = []
    notes: list[str] = []


class UpdateBranch(Ask[Moved], frozen=True, tag="git.update-branch"):
    """Commit what stands in the worktree of `branch`, then bring `trunk` (a branch) into it. Refused while a merge is open."""

    root: str
    branch: str
    trunk: str
    known: Known = Known()


class CompleteMerge(Ask[Moved], frozen=True, tag="git.complete-merge"):
    """Commit an open merge with both parents. Refused while marks remain. `message` "" has one made."""

    root: str
    branch: str
    message: str = ""
    known: Known = Known()


class Aborted(msgspec.Struct, frozen=True):
    """The files are those of `after` again; `saved` is a commit that keeps what stood there."""

    after: str
    saved: str


class AbortMerge(Ask[Aborted], frozen=True, tag="git.abort-merge"):
    """Put the worktree back to its branch's tip and close the open merge. What stood there is kept below refs/thetis."""

    root: str
    branch: str


class ResetBranch(Ask[Moved], frozen=True, tag="git.reset-branch"):
    """A new commit on `branch` with the tree of `to`: a commit of its own history, or the first 6 digits or more of one."""

    root: str
    branch: str
    to: str
    known: Known = Known()


class Plan(msgspec.Struct, frozen=True):
    """What landing `branch` on `target` would do. `tip` and `onto` are the commits this was said of.

    `how`: ready, nothing (the target has it all), conflicts. `place` is the working tree `target` is checked out in, ""
    for none, `ours` whether that is the root; `dirty` are its uncommitted files (known ones), `blocked` sentences that stand
    against landing, each with a way out. `subjects` are first lines of the branch's commits, newest first, at most 60.
    """

    how: Literal["ready", "nothing", "conflicts"]
    tip: str
    target: str
    onto: str
    changed: list[Changed] = []
    total: int = 0
    conflicts: list[str] = []
    place: str = ""
    ours: bool = False
    dirty: list[str] = []
    blocked: list[str] = []
    subjects: list[str] = []


class PlanLanding(Ask[Plan], frozen=True, tag="git.plan-landing"):
    """What would `LandBranch` do? Changes nothing. `target` may be a branch that is not there yet: it would begin at `trunk`."""

    root: str
    branch: str
    trunk: str
    target: str = ""


class Landed(msgspec.Struct, frozen=True):
    """`commit` is on `target` now, one commit for the whole branch; `kept` is the ref that holds the branch's own commits.

    `checked_out`: the root's files and index went along. `notes` are sentences for the person.
    """

    commit: str
    before: str
    target: str
    kept: str
    total: int
    checked_out: bool = False
    notes: list[str] = []


class LandBranch(Ask[Landed], frozen=True, tag="git.land"):
    """Put everything `branch` changed onto `target` as one commit. Only a person asks for this.

    `tip` and `onto`: what the person was shown; another commit refuses with `moved`. Raises RepoError `conflicts`, `dirty`,
    `filtered`, `checked-out-elsewhere`, `merge-open`, `nothing`.
    """

    root: str
    branch: str
    trunk: str
    tip: str
    onto: str
    message: str
    target: str = ""
    known: Known = Known()


class Applied(msgspec.Struct, frozen=True):
    """Files of the root that hold the branch's changes now, uncommitted; index and HEAD are as they were."""

    changed: list[Changed] = []
    total: int = 0


class ApplyBranch(Ask[Applied], frozen=True, tag="git.apply"):
    """Write what `branch` changed into the root's working files. Refused, before anything is touched, for a file the
    person has changed too (`dirty`) and for conflicts with what is checked out (`conflicts`)."""

    root: str
    branch: str


class MergedFiles(msgspec.Struct, frozen=True):
    """`files` with marks in `conflicts`; `kept` of them stand as ours had them."""

    files: dict[str, str]
    conflicts: list[str] = []
    kept: list[str] = []


class MergeFiles(Ask[MergedFiles], frozen=True, tag="git.merge-files"):
    """Merge two sets of text files (relative path -> text) over a third; `names` of both sides stand in the marks."""

    root: str
    base: dict[str, str]
    ours: dict[str, str]
    theirs: dict[str, str]
    names: tuple[str, str]


BRANCH_ASKS = (
    UpdateBranch, CompleteMerge, AbortMerge, ResetBranch, PlanLanding, LandBranch, ApplyBranch, MergeFiles,
)
