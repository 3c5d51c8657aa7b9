"""One conversation's branch and worktree in a root, for tests. Not to be imported by a conftest: libgit2 reads HOME
when it is imported, and conftests of the files on the command line are imported before HOME is set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thetis_kernel.protocol.git import Committed, Materialised
from thetis_kernel.repo.commit import commit_turn
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.materialise import materialise

from tests.support.repos import Repo

BRANCH = "conv/ab12cd34"


class Conversation:
    """A root and one conversation's worktree in it."""

    def __init__(self, root: Repo, where: Path, branch: str = BRANCH) -> None:
        self.root = root
        self.branch = branch
        self.worktree = Repo(where, root.home)

    @property
    def record(self) -> Path:
        return self.root.path / ".git" / "worktrees" / self.branch.replace("/", "-")

    def make(self, job: Job | None = None, **keywords: Any) -> Materialised:
        return materialise(str(self.root.path), self.branch, str(self.worktree.path), job or Job(), **keywords)

    def commit(self, message: str = "turn", author: str = "", job: Job | None = None) -> Committed:
        return commit_turn(str(self.root.path), self.branch, message, author, job or Job(patience=4))

    def is_clean(self) -> bool:
        """Whether the git CLI sees the worktree as the branch's tip, whole."""
        head = self.worktree.git("symbolic-ref", "HEAD")
        return self.worktree.git("status", "--porcelain") == "" and head == f"refs/heads/{self.branch}"
