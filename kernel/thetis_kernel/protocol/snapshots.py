"""What the git host is asked for the time machine: keep the files of a conversation's worktree, and put kept ones back.

A snapshot is a commit below `refs/thetis/snapshots/`, its parent the snapshot before it; no branch ever holds one. It has
every file of the worktree with its exact bytes, uncommitted, untracked and ignored ones too, links, executable bits and
empty directories. Left out, and left alone when files are put back, is what `Snapshot.left_out` names.
"""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.git import Skipped
from thetis_kernel.protocol.known import Known
from thetis_kernel.protocol.wire import Ask


class Snapshot(msgspec.Struct, frozen=True):
    """`commit` holds the files as they are now; `new` false when nothing had changed since it was made.

    `files` counts them; `left_out` names the first paths that are not in it, and why.
    """

    commit: str
    new: bool
    files: int
    left_out: list[Skipped] = []


class TakeSnapshot(Ask[Snapshot], frozen=True, tag="git.take-snapshot"):
    """Keep the files as they are, as those before event `seq` of `session` (which shares the branch) had its effect.

    Raises RepoError `too-many` for more files than are ever kept, and as CommitTurn.
    """

    root: str
    branch: str
    session: str
    seq: int
    known: Known = Known()


class FindSnapshot(Ask[str], frozen=True, tag="git.find-snapshot"):
    """The commit with the files as they were right after event `seq` of `session`, written at `ts_ms`.

    "" when none was taken since: then they are as they stand now.
    """

    root: str
    branch: str
    session: str
    seq: int
    ts_ms: int


class Restored(msgspec.Struct, frozen=True):
    """`before` is the snapshot of what stood there, made first. `written`, `removed` count paths; `kept` names those that
    were left alone although they differ, and why."""

    before: str
    written: int
    removed: int
    kept: list[Skipped] = []


class RestoreSnapshot(Ask[Restored], frozen=True, tag="git.restore-snapshot"):
    """Make the worktree of `branch` hold exactly the files of `commit`, a snapshot of this or another conversation.

    What stands there is kept first, for `session` at `seq`. Asking again after a kill finishes the work.
    """

    root: str
    branch: str
    commit: str
    session: str
    seq: int
    known: Known = Known()


class DropSnapshots(Ask[None], frozen=True, tag="git.drop-snapshots"):
    """Forget the snapshots of `branch`; git collects what nothing else holds."""

    root: str
    branch: str


SNAPSHOT_ASKS = (TakeSnapshot, FindSnapshot, RestoreSnapshot, DropSnapshots)
