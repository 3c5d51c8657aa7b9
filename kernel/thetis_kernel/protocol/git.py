"""What the git host is asked: is this a usable root, make a conversation's worktree, commit a turn, say what changed.

Owns the words; what they do is `thetis_kernel.repo`. Every request names its `root` (the directory the person opened)
and, where one conversation is meant, its `branch` without `refs/heads/`. Commits are 40 hex digits, "" for none.
Paths inside a repository are text for people: bytes that are not UTF-8 appear escaped as `\\xff`.

A request that fails answers with a RepoError: code "repo", `data["kind"]` one of the kinds below or of
`repo.refusal.SENTENCES`. A caller that withdraws a request cancels it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.known import Known
from thetis_kernel.protocol.wire import Ask, Tell

Offer = Literal["", "init", "first-commit"]
"""What the kernel can do about an unusable root when a person agrees: make it a repository, make a first commit."""

Feature = Literal[
    "filters", "lfs", "working-tree-encoding", "submodules", "sparse", "shallow", "split-index", "linked-worktree",
    "detached", "alternates", "git-dir-elsewhere",
]  # fmt: skip


class Notice(msgspec.Struct, frozen=True):
    """Something a person should know: a stable kind, one sentence, and what can be done about it ("" if nothing)."""

    kind: str
    sentence: str
    hint: str = ""


class RootInfo(msgspec.Struct, frozen=True):
    """What a directory is to us. `kind` is "ok" or the reason it cannot be a root; `sentence` and `hint` say so.

    `root` is the top of the working tree with symlinks resolved; `trunk` the branch checked out there ("" when
    detached); `head` its commit; `identity` what commits will carry, `identity_is_users` whether git was told who the
    user is. `notices` are the peculiarities a usable root has all the same.
    """

    kind: str
    usable: bool
    sentence: str = ""
    hint: str = ""
    offer: Offer = ""
    root: str = ""
    git_dir: str = ""
    common_dir: str = ""
    trunk: str = ""
    head: str = ""
    identity: str = ""
    identity_is_users: bool = False
    features: list[Feature] = []
    notices: list[Notice] = []


class InspectRoot(Ask[RootInfo], frozen=True, tag="git.inspect"):
    """Can the repository that holds `path` be a root? Quick whatever its size; never fails for what it finds."""

    path: str


class AcceptOffer(Ask[RootInfo], frozen=True, tag="git.accept-offer"):
    """A person agreed to what InspectRoot offered for `path`. Answers as InspectRoot does afterwards."""

    path: str
    offer: Offer


class Changes(msgspec.Struct, frozen=True):
    """Uncommitted files of the root checkout. `known` false: they cannot be told (`sentence` says why), count is 0.

    `paths` are the first of them; `uncertain` counts files with a filter, whose content cannot be compared.
    """

    known: bool
    count: int = 0
    paths: list[str] = []
    uncertain: int = 0
    sentence: str = ""


class CountChanges(Ask[Changes], frozen=True, tag="git.count-changes"):
    """How many uncommitted files has the root checkout? Reads every file's metadata: 0.2 s for 50,000."""

    root: str


class Skipped(msgspec.Struct, frozen=True):
    """A path that was not recorded, and why, as a clause ("it has the filter git-crypt")."""

    path: str
    why: str


class Materialised(msgspec.Struct, frozen=True):
    """A conversation's worktree is there and complete.

    `commit` is the branch's tip, `base` where the branch began, `files` how many it holds, `made` false when it was
    complete already and nothing was touched. `included` counts uncommitted files of the root taken along. `brought`:
    ignored files of the root that stand in it as links or copies; `linked`: the real paths those links lead to.
    """

    commit: str
    base: str
    files: int
    made: bool
    included: int = 0
    skipped: list[Skipped] = []
    notes: list[str] = []
    brought: list[str] = []
    linked: list[str] = []


class Materialise(Ask[Materialised], frozen=True, tag="git.materialise"):
    """Make `branch` (`conv/...`) and its worktree at the absolute path `worktree`; complete or redo a half-made one.

    `base`: commit or branch to begin at when the branch does not exist yet, "" = the root's HEAD. `with_changes`
    takes the root's uncommitted files along as the branch's first commit. `recorded`: the caller knows that this
    worktree was complete once, so whatever stands there is the conversation's work and is never removed. `quiet`: no
    GitProgress, because nobody waits for it at a screen. `link`, `copy`: ignored files and directories of the root that
    a new worktree gets as links or copies; they are never committed.
    """

    root: str
    branch: str
    worktree: str
    base: str = ""
    with_changes: bool = False
    recorded: bool = False
    quiet: bool = False
    link: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()


class GitProgress(Tell, frozen=True, tag="git.progress"):
    """How far a Materialise of `branch` is; at least every 200 ms. `phase`: checkout, changes, sync. `total` 0: unknown."""

    branch: str
    phase: Literal["checkout", "changes", "sync"]
    done: int
    total: int


class Changed(msgspec.Struct, frozen=True):
    """One path of a commit or diff: `status` is A, M, D, R or T (type); `added`, `removed` in lines, 0 when binary."""

    path: str
    status: str
    added: int = 0
    removed: int = 0
    binary: bool = False
    old_path: str = ""


class Committed(msgspec.Struct, frozen=True):
    """`commit` is the new commit, "" when nothing had changed; `tip` the branch's tip afterwards in either case.

    `changed` holds the first 500 paths of `total`; `skipped` what stays in the worktree uncommitted, of it the first
    500; `notes` are sentences for the agent and the person.
    """

    commit: str
    tip: str
    changed: list[Changed] = []
    total: int = 0
    skipped: list[Skipped] = []
    notes: list[str] = []


class CommitTurn(Ask[Committed], frozen=True, tag="git.commit-turn"):
    """Commit everything that changed in the worktree, with `message`. `author` is "Name <email>", "" = the user.

    A file that holds a secret of `known` is skipped. Needs a worktree that Materialise completed. Asking again after a
    lost answer commits nothing new.
    """

    root: str
    branch: str
    message: str
    author: str = ""
    known: Known = Known()


class DiffText(msgspec.Struct, frozen=True):
    """A patch of at most the bytes asked for; `truncated` when there was more. `files` are the first 1,000 of `total`."""

    patch: str
    truncated: bool
    files: list[Changed] = []
    total: int = 0
    added: int = 0
    removed: int = 0


class Diff(Ask[DiffText], frozen=True, tag="git.diff"):
    """What `branch` changed since `base` ("" = where it left `trunk`, or began).

    `uncommitted` includes what stands in the worktree without being committed. `max_bytes` bounds the patch (0 = none).
    """

    root: str
    branch: str
    base: str = ""
    trunk: str = ""
    uncommitted: bool = False
    max_bytes: int = 256 * 1024


class BranchInfo(msgspec.Struct, frozen=True):
    """Where a conversation's branch stands. `ahead`, `behind` count commits against `trunk`; `dirty` uncommitted paths
    in its worktree (0 without one); `filtered` names changed paths that block a merge because a filter owns them.
    `merging`: the commit an open merge brings in ("" = none), `unresolved` its files that still hold marks."""

    branch: str
    tip: str
    base: str
    trunk: str
    ahead: int
    behind: int
    changed: int
    dirty: int
    worktree: str = ""
    filtered: list[str] = []
    merging: str = ""
    unresolved: list[str] = []


class BranchStatus(Ask[BranchInfo], frozen=True, tag="git.branch-status"):
    """How does `branch` relate to `trunk` ("" = the branch checked out in the root)?"""

    root: str
    branch: str
    trunk: str = ""


class Commit(msgspec.Struct, frozen=True):
    """One commit: first line and rest of its message, author, seconds since the epoch, parents."""

    id: str
    subject: str
    body: str
    author: str
    time: int
    parents: list[str]


class History(msgspec.Struct, frozen=True):
    """Commits, newest first; `more` when the limit cut it."""

    commits: list[Commit]
    more: bool


class Log(Ask[History], frozen=True, tag="git.log"):
    """The commits of `branch`, at most `limit` (1 to 1,000); with `since`, only those not reachable from it."""

    root: str
    branch: str
    limit: int = 50
    since: str = ""


class Worktree(msgspec.Struct, frozen=True):
    """One worktree of ours. `state`: making, ready, removing, or lost (its directory is gone).

    `held_by` is the process that works in it (0 = nobody alive). `dirty` and `bytes` are -1 unless asked for. `reached`: its
    tip is on another branch, a tag or a remote's branch too; false unless asked for.
    """

    branch: str
    path: str
    state: Literal["making", "ready", "removing", "lost"]
    tip: str
    held_by: int = 0
    dirty: int = -1
    bytes: int = -1
    reached: bool = False


class ListWorktrees(Ask[list[Worktree]], frozen=True, tag="git.list-worktrees"):
    """The worktrees Thetis made in this repository, never the user's. `details` counts dirty paths and bytes (slow)."""

    root: str
    details: bool = False


class Removed(msgspec.Struct, frozen=True):
    """The worktree is gone, its branch stays. `existed` false: there was none."""

    existed: bool
    tip: str
    notes: list[str] = []


class RemoveWorktree(Ask[Removed], frozen=True, tag="git.remove-worktree"):
    """Remove the worktree of `branch`, keep the branch. Refused while a live process holds it, and while it has
    uncommitted work unless a person said `discard`."""

    root: str
    branch: str
    discard: bool = False


class SweepWorktrees(Ask[list[Notice]], frozen=True, tag="git.sweep"):
    """At start: finish removals, throw away half-made worktrees, free leases of dead processes, name lost worktrees."""

    root: str


class HoldWorktree(Ask[None], frozen=True, tag="git.hold"):
    """Process `pid` works in the worktree of `branch`. A dead holder's lease is taken over; a live one's refuses."""

    root: str
    branch: str
    pid: int


class ReleaseWorktree(Ask[None], frozen=True, tag="git.release"):
    """Process `pid` is done with the worktree of `branch`. Not holding it is fine."""

    root: str
    branch: str
    pid: int


class ReadFiles(Ask[dict[str, str]], frozen=True, tag="git.read-files"):
    """The text files below `directory` in `commit`, by path relative to it; {} when there is no such directory.

    Links, submodules, and files that are not UTF-8 are left out. Bounded: 400 files, 4 MiB in all, else RepoError `too-large`.
    """

    root: str
    commit: str
    directory: str


GIT_ASKS = (
    InspectRoot, AcceptOffer, CountChanges, Materialise, CommitTurn, Diff, BranchStatus, Log, ListWorktrees,
    RemoveWorktree, SweepWorktrees, HoldWorktree, ReleaseWorktree, ReadFiles,
)  # fmt: skip
GIT_TELLS = (GitProgress,)
