"""Cloning a stranger's repository into a directory of its own: no configuration, no credentials, no hooks, no submodules.

Owns what is fetched and checked out, and its bounds; which addresses may be reached is decided before. It changes options
of the whole library, so it runs in a process that does nothing else.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pygit2
from pygit2.enums import ConfigLevel, ObjectType

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.clone import Cloned, Stage
from thetis_kernel.repo.checkout import check_out, list_tree
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.library import GIT_ERRORS

MAX_RECEIVED = 1 << 30
"""Bytes over the network. The largest repositories people work in (Linux: 5 GB) need depth, and are told so."""
MAX_TREE_BYTES = 4 << 30
MAX_ENTRIES = 500_000
"""Files and directories of the commit that is checked out. A few small objects can name more than any disk holds."""
KEPT_FREE = 1 << 30
"""Bytes of the disk that a clone leaves alone."""
CONNECT_MS, SILENCE_MS = 15_000, 60_000
"""How long a server may take to answer, and to send nothing."""
REFS_TOLD = 12
Report = Callable[[Stage, int, int, int], None]
_REMOTE = "origin"
_NOTHING = ["+refs/thetis/nothing:refs/thetis/nothing"]
_NO_REDIRECTS = 1  # GIT_REMOTE_REDIRECT_NONE in libgit2's remote.h
_MIB = 1 << 20


class _Wanted(NamedTuple):
    """What is to be checked out: a local branch to be made ("" for none), and what is fetched besides the branches."""

    branch: str
    commit: str
    refspecs: list[str]


def isolate() -> None:
    """Let libgit2 of this process read no configuration of the person or the machine: it may name credentials, proxies and
    other addresses. Once, before the first clone."""
    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""
    pygit2.settings.server_connect_timeout = CONNECT_MS
    pygit2.settings.server_timeout = SILENCE_MS


def clone(url: str, place: Path, ref: str, depth: int, job: Job, report: Report) -> Cloned:
    """Clone into `place`, which must not be there; left half-made when it fails, for the caller to remove.

    `report(stage, done, total, bytes)`. Raises RepoError: `clone-failed`, `clone-auth`, `unknown-ref`, `too-large`,
    `corrupt`, `checkout-failed`; and what `job.check` raises.
    """
    try:
        repository = pygit2.init_repository(str(place))
        remote = repository.remotes.create(_REMOTE, url)
        remote.fetch(_NOTHING, callbacks=_Callbacks(job, report))  # `list_heads` would connect with options of its own
        told: dict[str, Any] = {head.name: head for head in remote.list_heads(connect=False) if head.name}
        if not told:
            return Cloned(notes=["The repository has no commit yet."])
        wanted = _wanted(told, ref, depth)
        remote.fetch(wanted.refspecs or None, depth=depth, callbacks=_Callbacks(job, report))
        commit = _commit(repository, wanted, ref)
        tree = commit.peel(pygit2.Tree)
        files, size = _measure(repository, tree, job)
        if shutil.disk_usage(place).free < size + KEPT_FREE:
            raise RepoError(f"The files of this repository take {size // _MIB} MiB, and the disk is nearly full.",
                            kind="too-large", hint="Free some space.")
        _point(repository, wanted, commit)
    except RepoError:
        raise
    except GIT_ERRORS as error:
        raise _failed(error) from error
    listing = list_tree(tree)
    counting = Job(job.check, lambda phase, done, total: report("checkout", done, total, 0))
    check_out(repository, commit.id, listing, counting)
    notes = []
    if listing.gitlinks:
        several = len(listing.gitlinks)
        notes.append("A submodule is named in it; it was not cloned." if several == 1 else
                     f"{several} submodules are named in it; none of them was cloned.")
    if depth:
        notes.append("Only the last commit is here." if depth == 1 else f"Only the last {depth} commits are here.")
    return Cloned(branch=wanted.branch, commit=str(commit.id), files=files, bytes=size, notes=notes)


class _Callbacks(pygit2.RemoteCallbacks):
    """Bounds and progress of a transfer. Whatever asks for credentials gets none."""

    def __init__(self, job: Job, report: Report) -> None:
        super().__init__()
        self._job = job
        self._report_to = report
        self._options: Any = None

    @property
    def fetch_options(self) -> Any:
        """The options pygit2 made for this fetch. It has no argument for redirects, so those to other hosts are forbidden as
        it puts the options here: another host was shown to nobody and judged by nobody."""
        return self._options

    @fetch_options.setter
    def fetch_options(self, options: Any) -> None:
        options.follow_redirects = _NO_REDIRECTS
        self._options = options

    def credentials(self, url: Any, username_from_url: Any, allowed_types: Any) -> Any:
        raise RepoError(
            "The server wants to know who is asking, or has no such repository.", kind="clone-auth",
            hint="git_clone has no credentials and takes none. A person can clone it into the workspace themselves.")

    def transfer_progress(self, stats: pygit2.remotes.TransferProgress) -> None:
        self._job.check()
        if stats.received_bytes > MAX_RECEIVED:
            raise RepoError(f"The repository is larger than {MAX_RECEIVED // _MIB} MiB.", kind="too-large",
                            hint="Clone fewer commits of it, with depth 1.")
        if stats.received_objects < stats.total_objects or not stats.total_deltas:
            self._report_to("receiving", stats.received_objects, stats.total_objects, stats.received_bytes)
        else:
            self._report_to("resolving", stats.indexed_deltas, stats.total_deltas, stats.received_bytes)


def _wanted(heads: dict[str, Any], ref: str, depth: int) -> _Wanted:
    """What `ref` is among the references the server told of. Raises RepoError `unknown-ref`."""
    if not ref:
        target = str(heads["HEAD"].symref_target or "") if "HEAD" in heads else ""
        if not target.startswith("refs/heads/") or target not in heads:
            if "HEAD" in heads:
                return _Wanted("", str(heads["HEAD"].oid), [])
            raise RepoError("The repository has no default branch.", kind="unknown-ref", hint=f"Name one: {_names(heads)}.")
        ref = target.removeprefix("refs/heads/")
    if (branch := f"refs/heads/{ref}") in heads:
        only = [f"+{branch}:refs/remotes/{_REMOTE}/{ref}"] if depth else []
        return _Wanted(ref, str(heads[branch].oid), only)
    if (tag := f"refs/tags/{ref}") in heads:
        peeled = heads.get(f"{tag}^{{}}", heads[tag])
        return _Wanted("", str(peeled.oid), [f"+{tag}:{tag}"])
    if len(ref) == 40 and set(ref) <= set("0123456789abcdef"):
        return _Wanted("", ref, [])
    raise RepoError(f"There is no branch or tag {ref[:80]!r} in this repository.", kind="unknown-ref",
                    hint=f"It has: {_names(heads)}. A commit is named by all of its 40 digits.")


def _names(heads: dict[str, Any]) -> str:
    names = [name.split("/", 2)[2] for name in sorted(heads) if name.startswith("refs/heads/")]
    more = f" and {len(names) - REFS_TOLD} more" if len(names) > REFS_TOLD else ""
    return ", ".join(repr(name)[1:-1] for name in names[:REFS_TOLD]) + more


def _commit(repository: pygit2.Repository, wanted: _Wanted, ref: str) -> pygit2.Commit:
    found = repository.get(wanted.commit)
    try:
        return found.peel(pygit2.Commit) if found is not None else _absent(ref)
    except pygit2.InvalidSpecError:
        return _absent(ref)


def _absent(ref: str) -> pygit2.Commit:
    raise RepoError(f"The commit {ref[:40]} is not among those that were fetched.", kind="unknown-ref",
                    hint="Clone without depth, or name a branch.")


def _measure(repository: pygit2.Repository, top: pygit2.Tree, job: Job) -> tuple[int, int]:
    """(files, bytes) of the tree as it would lie on the disk. Raises RepoError `too-large` as soon as that is known."""
    entries = files = size = 0
    waiting = [top.id]
    sizes: dict[Any, int] = {}
    while waiting:
        tree = repository[waiting.pop()]
        job.check()
        for entry in tree:  # type: ignore[attr-defined]
            entries += 1
            if entry.type == ObjectType.TREE:
                waiting.append(entry.id)
            elif entry.type == ObjectType.BLOB:
                files += 1
                if entry.id not in sizes:
                    sizes[entry.id] = repository.odb.read_header(entry.id)[1]
                size += sizes[entry.id]
            if entries > MAX_ENTRIES or size > MAX_TREE_BYTES:
                raise RepoError("The files of this repository are more than a clone may hold.", kind="too-large",
                                hint=f"At most {MAX_ENTRIES} files and {MAX_TREE_BYTES >> 30} GiB.")
    return files, size


def _point(repository: pygit2.Repository, wanted: _Wanted, commit: pygit2.Commit) -> None:
    """Let HEAD name what will be checked out: a branch that follows the server's, or the commit itself."""
    if not wanted.branch:
        repository.set_head(commit.id)
        return
    branch = repository.branches.local.create(wanted.branch, commit)
    upstream = repository.branches.remote.get(f"{_REMOTE}/{wanted.branch}")
    if upstream is not None:
        branch.upstream = upstream
    repository.set_head(f"refs/heads/{wanted.branch}")


def _failed(error: Exception) -> RepoError:
    """A sentence for what libgit2 said; a stranger's text in it stays one line."""
    said = " ".join(str(error).split())[:300].rstrip(".")
    hint = "Check the address."
    if "redirect" in said.lower():
        hint = "The server sends elsewhere; ask for the address the repository has now."
    elif "certificate" in said.lower():
        hint = "The server's certificate is not trusted on this machine."
    return RepoError(f"The repository could not be cloned: {said}.", kind="clone-failed", hint=hint)
