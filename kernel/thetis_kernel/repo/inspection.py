"""Is a directory a usable root: everything that must hold before anything else touches a repository.

Owns the order of the questions: first what can be asked without opening (hostile or unreadable repositories must not
reach libgit2's parser of the rest), then what only the opened repository knows. Reads a few small files whatever the
repository's size. What is merely odd is said by `peculiarities`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import pygit2

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.git import RootInfo
from thetis_kernel.repo.identity import identity_of
from thetis_kernel.repo.layout import HEADS
from thetis_kernel.repo.library import GIT_ERRORS, common_of, open_git_directory
from thetis_kernel.repo.peculiarities import peculiarities
from thetis_kernel.repo.refusal import refusal
from thetis_kernel.repo.safety import refuse_pipes

_READ_AT_OPEN = ("HEAD", "config", "config.worktree", "commondir", "gitdir", "packed-refs", "index", "shallow")
_READ_SHARED = ("config", "packed-refs", "info/exclude", "info/attributes", "objects/info/alternates")
_INCLUDE = re.compile(rb"^\s*path\s*=\s*\"?([^\"\n#;]+)", re.MULTILINE | re.IGNORECASE)
MAX_CONFIG = 1024 * 1024
MAX_INCLUDES = 50


class Root(NamedTuple):
    """An opened, usable root. `head` is the commit checked out there."""

    repository: pygit2.Repository
    path: Path
    common: Path
    trunk: str
    head: pygit2.Commit


def inspect_root(path: str) -> RootInfo:
    """What `path` is to us; a finding is an answer, never an exception."""
    try:
        root = open_root(path)
    except RepoError as error:
        return RootInfo(
            kind=error.kind, usable=False, sentence=error.message, hint=error.hint, offer=error.data.get("offer", "")
        )
    who = identity_of(root.repository)
    features, notices = peculiarities(root.repository, root.path, root.common, root.head, root.trunk)
    return RootInfo(
        kind="ok",
        usable=True,
        root=str(root.path),
        git_dir=root.repository.path.rstrip("/"),
        common_dir=str(root.common),
        trunk=root.trunk,
        head=str(root.head.id),
        identity=f"{who.name} <{who.email}>",
        identity_is_users=who.is_users,
        features=features,
        notices=notices,
    )


def open_root(path: str) -> Root:
    """The repository whose working tree holds `path`, once nothing stands against using it.

    Raises RepoError with a kind of `refusal.SENTENCES`.
    """
    repository, top, common = _open(path)
    _check_layout(repository, top, common, path)
    if (HEADS + "conv") in repository.references:
        raise refusal("branch-named-conv", str(top))
    return Root(repository, top, common, *_head(repository, top))


def locate(path: str) -> Path:
    """The shared git directory of the root at `path`, opened before or not. Raises RepoError `not-a-repository`."""
    return common_of(find_git_directory(path))


def _open(path: str) -> tuple[pygit2.Repository, Path, Path]:
    """The repository around `path`, the top of its working tree (its own place when bare), its shared directory."""
    git_directory = find_git_directory(path)
    top = _top_of(git_directory, path)
    try:
        common = common_of(git_directory)
        refuse_pipes([git_directory / name for name in _READ_AT_OPEN] + [common / name for name in _READ_SHARED])
        config = common / "config"
        refuse_pipes(_included(config))
        _check_format(config, str(top))
        # By the root's `.git`, which may be a file: only so does libgit2 know where a separated directory's files are.
        repository = open_git_directory(top if (top / ".git").exists() else git_directory)
        refuse_pipes(_named_files(repository))
        return repository, top, common
    except RepoError as error:
        if error.kind == "special-file":
            raise refusal("special-file", str(top), error.message) from error
        raise
    except GIT_ERRORS as error:
        raise _cannot_open(str(top), str(error)) from error


def find_git_directory(path: str) -> Path:
    """The git directory `path` belongs to. Raises RepoError `not-a-repository`."""
    try:
        found = pygit2.discover_repository(path)
    except GIT_ERRORS as error:
        raise refusal("not-a-repository", path) from error
    if found is None:
        raise refusal("not-a-repository", path)
    return Path(os.path.realpath(found))


def _top_of(git_directory: Path, path: str) -> Path:
    """The directory whose `.git` led to `git_directory`, looked for upward from `path`; else that directory itself."""
    start = Path(os.path.realpath(path))
    for candidate in (start, *start.parents):
        if (candidate / ".git").exists():
            return candidate
    return git_directory


def _check_format(config: Path, path: str) -> None:
    """Refuse by name what libgit2 would refuse with its own words, or accept and then fail on."""
    settings = {entry.name.lower(): (entry.value or "").lower() for entry in pygit2.Config(str(config))}
    if any(name.startswith("remote.") and name.endswith(".promisor") and value in ("true", "1", "yes", "on")
           for name, value in settings.items()) or "extensions.partialclone" in settings:  # fmt: skip
        raise refusal("partial-clone", path)
    if settings.get("extensions.objectformat", "sha1") != "sha1":
        raise refusal("sha256", path)
    if settings.get("extensions.refstorage", "files") != "files":
        raise refusal("reftable", path)


def _included(config: Path, depth: int = 0) -> list[Path]:
    """Files that `config` includes, and those they include: libgit2 reads them while nothing can stop it."""
    try:
        with open(config, "rb") as file:
            text = file.read(MAX_CONFIG)
    except OSError:
        return []
    if b"include" not in text.lower():
        return []
    found: list[Path] = []
    for match in list(_INCLUDE.finditer(text))[:MAX_INCLUDES]:
        name = os.fsdecode(match[1].strip())
        path = Path(name).expanduser() if name.startswith("~") else config.parent / name
        found.append(path)
        if depth < 3 and path.is_file():
            found += _included(path, depth + 1)
    return found[: MAX_INCLUDES * 4]


def _named_files(repository: pygit2.Repository) -> list[Path]:
    """Ignore and attribute files that the configuration names."""
    found: list[Path] = []
    for name in ("core.excludesfile", "core.attributesfile"):
        try:
            found.append(Path(repository.config[name] or "").expanduser())
        except GIT_ERRORS:
            continue  # not set
    return found


def _cannot_open(path: str, told: str) -> RepoError:
    """libgit2's reason in our kinds."""
    if "not owned by current user" in told:
        return refusal("other-owner", path)
    if "unsupported extension" in told or "unsupported repository version" in told or "object format" in told:
        return refusal("unsupported-format", path, told.rpartition(": ")[2])
    return refusal("corrupt", path, told.rstrip("."))


def _check_layout(repository: pygit2.Repository, top: Path, common: Path, path: str) -> None:
    if repository.is_bare or repository.workdir is None:
        raise refusal("bare", str(top))
    workdir = Path(os.path.realpath(repository.workdir))
    if workdir != top:
        inside = Path(os.path.realpath(path)).is_relative_to(common)
        raise refusal("inside-git-directory", path) if inside else refusal("worktree-elsewhere", str(top), str(workdir))
    # libgit2 looks at the owner of the directory and of `.git`, not at where `commondir` or `gitdir:` lead.
    if common.stat().st_uid not in (os.geteuid(), 0) and not _is_safe(repository, top):
        raise refusal("other-owner", str(common))


def _is_safe(repository: pygit2.Repository, top: Path) -> bool:
    """Whether the user's own configuration names `top` as safe (or everything)."""
    try:
        named = list(pygit2.Config.get_global_config().get_multivar("safe.directory"))
    except GIT_ERRORS:
        return False
    return "*" in named or str(top) in named


def _head(repository: pygit2.Repository, top: Path) -> tuple[str, pygit2.Commit]:
    """The branch checked out ("" when detached) and its commit."""
    try:
        if repository.head_is_unborn:
            raise refusal("no-commit", str(top))
        head = repository.head
        commit = head.peel(pygit2.Commit)
        repository[commit.tree_id]
    except GIT_ERRORS as error:
        raise refusal("corrupt", str(top), str(error).strip("\"'").rstrip(".")) from error
    detached = repository.head_is_detached
    return "" if detached else head.shorthand, commit
