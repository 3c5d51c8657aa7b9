"""Which paths the kernel must not record: those whose content git would pass through a program first.

libgit2 runs no filter programs, so it would commit the plain text of a git-crypt file. A path counts as filtered when
the attributes say so in the worktree *or* in the commit its branch began at: an agent that edits `.gitattributes`
does not get a secret recorded that way (complaints' class B: rewriting one's own permissions).
"""

from __future__ import annotations

from pathlib import Path

import pygit2
from pygit2.enums import AttrCheck, FilterMode

from thetis_kernel.errors import RepoError
from thetis_kernel.repo.durable import write_file
from thetis_kernel.repo.library import GIT_ERRORS, open_git_directory, raw

VIEW = "thetis-base"
"""A git directory inside a record with no index and no working tree: attributes looked up through it come from a
commit alone."""


class Attributes:
    """The attributes of a working tree, and of the commit `base` when there is a `record` to hold the view of it."""

    def __init__(self, repository: pygit2.Repository, record: Path | None = None, base: str = "") -> None:
        self._repository = repository
        self._base = base
        self._view = _open_view(record) if record is not None and base else None

    def reason(self, path: bytes) -> str:
        """Why `path` must not be recorded, as a clause; "" when it may be. Raises RepoError `attributes`."""
        for name, clause in (("filter", "it has the filter {}"), ("working-tree-encoding", "its encoding is {}")):
            for value in self._values(path, name):
                if isinstance(value, str) and value.lower() not in ("utf-8", "utf8"):
                    return clause.format(value)
        return ""

    def cleaned(self, path: bytes, data: bytes) -> bytes:
        """File content as it is recorded: line ends and ident, by configuration and attributes.

        Raises GIT_ERRORS when core.safecrlf objects.
        """
        filters = self._repository.load_filter_list(raw(path), FilterMode.TO_ODB)  # type: ignore[arg-type]
        if filters is None:
            return data
        if b"\0" not in data:
            return filters.apply_to_buffer(data)
        if not self._is_text(path):
            return data  # binary: line ends are left alone
        # pygit2 1.21 cuts what apply_to_buffer returns at the first NUL; line ends never span one.
        return b"\0".join(filters.apply_to_buffer(part) if part else part for part in data.split(b"\0"))

    def smudged(self, path: bytes, data: bytes) -> bytes:
        """Recorded content as it stands in a working tree. Raises GIT_ERRORS."""
        filters = self._repository.load_filter_list(raw(path), FilterMode.TO_WORKTREE)  # type: ignore[arg-type]
        if filters is None or b"\0" in data:
            return data  # binary: line ends are left alone
        return filters.apply_to_buffer(data)

    def _values(self, path: bytes, name: str) -> list[bool | str | None]:
        try:
            values = [self._repository.get_attr(path, name)]
            if self._view is not None:
                values.append(self._view.get_attr(path, name, AttrCheck.INCLUDE_COMMIT, self._base))
        except GIT_ERRORS as error:
            raise RepoError(f"The attributes of this repository cannot be read: {error}.", kind="attributes") from error
        return values

    def _is_text(self, path: bytes) -> bool:
        text = self._repository.get_attr(path, "text")
        return text is True or (text is None and isinstance(self._repository.get_attr(path, "eol"), str))


def _open_view(record: Path) -> pygit2.Repository:
    view = record / VIEW
    if not (view / "commondir").exists():
        view.mkdir(exist_ok=True)
        write_file(view / "HEAD", b"ref: refs/heads/none\n")
        write_file(view / "commondir", b"../../..\n")
    return open_git_directory(view, bare=True)
