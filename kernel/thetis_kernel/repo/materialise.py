"""Making a conversation's branch and worktree, and repairing whatever a kill or a hand has left of them.

Owns the state machine over four facts: the marker in git's record, the directory, its `.git` file, the branch. Every
step can be the last before a power cut; the next call looks at the facts and goes on:

    marker ready, directory there      complete: nothing is touched, a missing `.git` file is put back
    marker ready, directory gone       made again from the branch
    marker making or removing          half-made: thrown away and made again; no turn has ever run in it
    no marker, directory there         the caller has it recorded: adopted as it stands; else a leftover of ours, made
                                       again, or somebody else's, refused
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pygit2

from thetis_kernel.crash import point
from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.git import Materialised
from thetis_kernel.repo import refs
from thetis_kernel.repo.bring import Brought, bring, standing, targets
from thetis_kernel.repo.carry import Carried, carry_changes
from thetis_kernel.repo.checkout import check_out, list_tree
from thetis_kernel.repo.durable import fill_file, sync_directory, sync_filesystem, write_file
from thetis_kernel.repo.inspection import Root, open_root
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.layout import check_worktree_path, record_directory, ref_name
from thetis_kernel.repo.library import GIT_ERRORS, commit_of, open_git_directory
from thetis_kernel.repo.locks import locked
from thetis_kernel.repo.marker import Marker, State, read_marker, write_marker
from thetis_kernel.repo.moving import settled
from thetis_kernel.repo.opening import Opened, open_worktree, rebuild_index
from thetis_kernel.repo.removal import remove_tree
from thetis_kernel.repo.shown import count


def materialise(
    root: str, branch: str, worktree: str, job: Job, *, base: str = "", with_changes: bool = False, recorded: bool = False,
    link: Sequence[str] = (), copy: Sequence[str] = (),
) -> Materialised:
    """Make or complete the worktree of `branch`; see `protocol.git.Materialise`.

    Raises RepoError: what makes the root unusable, `occupied`, `bad-path`, `unknown-commit`, `changes-unknown`,
    `checkout-failed`, `locked`; and what `job.check` raises, after which calling again is all that is needed.
    """
    where = check_worktree_path(worktree)
    opened = open_root(root)
    record = record_directory(opened.common, branch)
    if where == opened.path or opened.path.is_relative_to(where):
        raise RepoError(f"{where} holds the checkout itself.", kind="bad-path")
    point("checkout.before")
    with locked(record, job, make=True):
        work = _Making(opened, branch, where, record, job, link, copy)
        complete = work.complete(recorded)
        if complete is not None:
            return complete
        made = work.make(base, with_changes)
    point("checkout.after")
    return made


class _Making:
    """One call; the record's lock is held."""

    def __init__(
        self, root: Root, branch: str, where: Path, record: Path, job: Job, link: Sequence[str], copy: Sequence[str]
    ) -> None:
        self._root = root
        self._repository = root.repository
        self._branch = branch
        self._where = where
        self._record = record
        self._job = job
        self._to_link = link
        self._to_copy = copy
        self._notes: list[str] = []

    # What stands

    def complete(self, recorded: bool) -> Materialised | None:
        """The answer when the worktree is complete as it stands; None when it is to be made, with nothing in the way."""
        marker = read_marker(self._record)
        if marker is None:
            return self._without_marker(recorded)
        if marker.worktree != str(self._where) or marker.branch != self._branch:
            raise RepoError(
                f"{self._branch} has its worktree at {marker.worktree}, not at {self._where}.", kind="occupied",
                hint="Remove that one first; its branch stays.",
            )  # fmt: skip
        if marker.state != "ready":
            remove_tree(self._where)
            return None
        if not _is_directory(self._where) or _is_empty(self._where):
            self._notes.append(f"The worktree of {self._branch} was gone; it was made again from the branch.")
            return None
        return self._as_it_stands(marker)

    def _without_marker(self, recorded: bool) -> Materialised | None:
        if not os.path.lexists(self._where) or (_is_directory(self._where) and _is_empty(self._where)):
            return None
        if not _is_directory(self._where):
            raise self._occupied()
        if recorded:
            return self._adopt()
        if not _points_at(self._where / ".git", self._record):
            raise self._occupied()
        # Its record was pruned before a turn ever ran in it. Said first, in case the removal is cut short.
        write_marker(self._record, self._marker("making", base="", tip=""))
        remove_tree(self._where)
        return None

    def _as_it_stands(self, marker: Marker) -> Materialised:
        tip = refs.tip_of(self._repository, self._branch)
        if tip is None:
            tip = commit_of(self._repository, marker.tip).id
            refs.create(self._repository, self._branch, tip, self._job)
            self._notes.append(f"{self._branch} was gone; it was put back at {str(tip)[:10]}.")
        self._link()
        if marker.move is not None:  # a kill cut it: the files first, then a turn
            settled(open_worktree(self._record, self._branch), self._job)
            tip = refs.tip_of(self._repository, self._branch) or tip
        return Materialised(
            commit=str(tip), base=marker.base, files=_indexed(self._record), made=False, notes=self._notes,
            brought=marker.brought, linked=targets(self._root.path, marker.linked),
        )

    def _adopt(self) -> Materialised:
        """The record was lost, the conversation's files are all there: a new record around them."""
        tip = refs.tip_of(self._repository, self._branch)
        if tip is None:
            raise RepoError(f"The branch {self._branch} and the record of its worktree are gone.", kind="no-branch",
                            hint=f"The files are in {self._where}.")  # fmt: skip
        self._notes.append(f"git's record of the worktree of {self._branch} was gone; it was made again.")
        self._write_record()
        self._link()
        repository = open_git_directory(self._record)
        rebuild_index(repository)
        gitlinks = list_tree(repository[tip].peel(pygit2.Tree)).gitlinks
        brought = standing(self._root, self._where, self._to_link, self._to_copy)
        marker = self._marker("ready", base=self._fork(tip), tip=str(tip), gitlinks=gitlinks, brought=brought)
        write_marker(self._record, marker)
        return self._as_it_stands(marker)

    # Making it

    def make(self, base: str, with_changes: bool) -> Materialised:
        """Branch, record, files, changes of the root, what is brought, durable, marker: in this order."""
        earlier = read_marker(self._record)
        tip = refs.tip_of(self._repository, self._branch)
        begin = tip or (commit_of(self._repository, base).id if base else self._root.head.id)
        origin = (earlier.base if earlier is not None else "") or (self._fork(tip) if tip else str(begin))
        carrying = with_changes and origin == str(begin)  # else a kill came after their commit
        if carrying and begin != self._root.head.id:
            raise RepoError(
                "Uncommitted files can only be taken along from the commit that is checked out.", kind="changes-need-head"
            )
        if tip is None:
            refs.create(self._repository, self._branch, begin, self._job)
        listing = list_tree(self._repository[begin].peel(pygit2.Tree))
        marker = self._marker("making", base=origin, tip=str(begin), gitlinks=listing.gitlinks)
        self._begin(marker)
        opened = Opened(open_git_directory(self._record), self._record, marker)
        check_out(opened.repository, begin, listing, self._job)
        carried = carry_changes(self._root, opened, self._job) if carrying else Carried(0, [], [])
        brought = bring(self._root, self._where, self._to_link, self._to_copy, self._job)
        with self._job.phase("sync"):
            self._job.run(lambda: sync_filesystem(self._where))
        now = str(refs.tip_of(self._repository, self._branch))
        marker = self._marker("ready", base=origin, tip=now, gitlinks=listing.gitlinks, brought=brought)
        write_marker(self._record, marker)
        if listing.gitlinks:
            self._notes.append(f"{count(len(listing.gitlinks), 'submodule')} of the repository: empty in this worktree.")
        return Materialised(
            commit=now, base=origin, files=_indexed(self._record), made=True, included=carried.total,
            skipped=carried.skipped, notes=[*self._notes, *carried.notes, *brought.notes], brought=brought.names,
            linked=targets(self._root.path, brought.linked),
        )  # fmt: skip

    def _fork(self, tip: pygit2.Oid) -> str:
        """Where an existing branch began, as far as can be told: where it left what is checked out."""
        return str(self._repository.merge_base(tip, self._root.head.id) or tip)

    def _marker(
        self, state: State, *, base: str, tip: str, gitlinks: list[bytes] | None = None, brought: Brought | None = None
    ) -> Marker:
        names, linked = (brought.names, brought.linked) if brought else ([], [])
        return Marker(self._branch, str(self._where), state, base, tip, gitlinks or [], names, linked)

    def _begin(self, marker: Marker) -> None:
        """From here on the directory is ours to throw away: it is not there, or empty."""
        self._write_record()  # gitdir first of all: git prunes a record without one at once
        write_marker(self._record, marker)
        for name in ("index", "index.lock"):
            (self._record / name).unlink(missing_ok=True)
        self._where.mkdir(parents=True, exist_ok=True)
        self._link()
        sync_directory(self._where.parent)

    def _write_record(self) -> None:
        """git's own files of a linked worktree (gitrepository-layout(5))."""
        for name, text in (
            ("gitdir", str(self._where / ".git")),
            ("commondir", "../.."),
            ("HEAD", f"ref: {ref_name(self._branch)}"),
        ):
            write_file(self._record / name, f"{text}\n".encode())
        sync_directory(self._record.parent)

    def _link(self) -> None:
        """The file by which git commands in the worktree find the record. What an agent put there instead is left."""
        link = self._where / ".git"
        if _points_at(link, self._record):
            return
        if os.path.lexists(link) and not _is_empty_file(link):
            self._notes.append(f"{link} is not the one git needs there; git commands in the worktree will not work.")
            return
        fill_file(link, f"gitdir: {self._record}\n".encode())

    def _occupied(self) -> RepoError:
        return RepoError(
            f"{self._where} exists and is not a worktree of {self._branch}.", kind="occupied",
            hint="Move it away; nothing in it was touched.",
        )  # fmt: skip


def _indexed(record: Path) -> int:
    """How many files the index of a record has; 0 when it cannot be read, which the next commit repairs."""
    try:
        return len(open_git_directory(record).index)
    except GIT_ERRORS:
        return 0


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _is_empty(path: Path) -> bool:
    with os.scandir(path) as entries:
        return next(entries, None) is None


def _is_empty_file(path: Path) -> bool:
    """As a power cut may leave one we were writing."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def _points_at(link: Path, record: Path) -> bool:
    """Whether the `.git` file `link` names `record`."""
    try:
        if not stat.S_ISREG(link.lstat().st_mode):
            return False
        with open(link, "rb") as file:
            return file.read(8192) == f"gitdir: {record}\n".encode()
    except OSError:
        return False
