"""What the kernel does about an unusable root once a person has agreed: make a repository, make a first commit.

The only code that touches a root's own HEAD, and only where there is none yet.
"""

from __future__ import annotations

import pygit2

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.git import Offer, RootInfo
from thetis_kernel.repo.identity import signatures
from thetis_kernel.repo.inspection import find_git_directory, inspect_root
from thetis_kernel.repo.library import GIT_ERRORS, open_git_directory

FIRST_MESSAGE = "First commit"


def accept_offer(path: str, offer: Offer) -> RootInfo:
    """Do what InspectRoot offered for `path`, if it still offers that. Raises RepoError `offer-gone`, `offer-failed`."""
    info = inspect_root(path)
    if not offer or info.offer != offer:
        raise RepoError(f"{path} is not as it was; look again.", kind="offer-gone")
    try:
        if offer == "init":
            pygit2.init_repository(path)
        else:
            _first_commit(open_git_directory(find_git_directory(path)))
    except GIT_ERRORS as error:
        raise RepoError(f"That could not be done in {path}: {error}.", kind="offer-failed") from error
    return inspect_root(path)


def _first_commit(repository: pygit2.Repository) -> None:
    """An empty commit on the branch HEAD names; no file and no index entry is touched."""
    empty = repository.TreeBuilder().write()
    author, committer = signatures(repository, "")
    repository.create_commit("HEAD", author, committer, FIRST_MESSAGE, empty, [])
