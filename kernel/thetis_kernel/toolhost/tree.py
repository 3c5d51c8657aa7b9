"""The one resolver: from a path a guest names to a file of the checkout, the workspace or the spill, and nowhere else.

Owns the names (relative, /workspace, /spill), what of them may be read and written, and the conversation's own spill.
How a path is opened so that it cannot leave is `beneath`'s part; which files hold secrets is `guarded`'s.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from thetis_kernel.errors import Refused
from thetis_kernel.toolhost.beneath import (
    DIRECTORY,
    O_PATH,
    PathError,
    make_parents,
    open_beneath,
    place_of,
    replace,
)
from thetis_kernel.toolhost.guarded import Guard

__all__ = ["SPILL", "WORKSPACE", "PathError", "Tree", "spill_name"]

WORKSPACE = "/workspace"
SPILL = "/spill"
MAX_PATH = 4096
_PLAIN_CALL = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Tree:
    """What a conversation sees: its checkout (relative paths), /workspace, and /spill (its long outputs, read-only).

    `readable_secrets`: globs of guarded files that the person allowed to be read.
    """

    def __init__(self, worktree: Path, workspace: Path, spill: Path, readable_secrets: tuple[str, ...] = ()) -> None:
        self.worktree = worktree.resolve()
        self._named = {WORKSPACE: workspace.resolve(), SPILL: spill.resolve()}
        self._guard = Guard(readable_secrets)

    def locate(self, path: str) -> tuple[Path, str]:
        """(base directory, path relative to it) for what a guest wrote. Raises PathError or Refused; touches no disk."""
        if not path or path == ".":
            return self.worktree, "."
        if len(path) > MAX_PATH or "\0" in path:
            raise PathError("The path is too long or holds a NUL byte.", hint="Give a path relative to the checkout.")
        for name, base in self._named.items():
            if path == name or path.startswith(name + "/"):
                return base, path[len(name):].strip("/") or "."
        if path.startswith("/"):
            real = str(self.worktree)
            if path == real or path.startswith(real + "/"):
                return self.worktree, path[len(real):].strip("/") or "."
            raise Refused(f"{path} is outside the checkout and the workspace.", capability="read",
                          hint="Use a path relative to the checkout, or one under /workspace.")
        return self.worktree, path.rstrip("/") or "."

    def shown(self, path: str) -> str:
        """The path as results name it: relative to the checkout, or under /workspace."""
        base, relative = self.locate(path)
        clean = os.path.normpath(relative)
        return (self.prefix(base) + clean).removesuffix("/.") if base != self.worktree else clean

    def prefix(self, base: Path) -> str:
        """What stands before a relative path of `base` when results name it."""
        return next((f"{name}/" for name, known in self._named.items() if known == base), "")

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        """A descriptor of an existing file or directory. Raises PathError, Refused for a file that holds secrets."""
        base, relative = self.locate(path)
        # openat2 refuses flags that mean nothing together; O_NONBLOCK keeps a FIFO from blocking the open.
        more = os.O_CLOEXEC if flags & O_PATH else os.O_CLOEXEC | os.O_NONBLOCK
        fd = open_beneath(base, relative, flags | more, path)
        if base != self._named[SPILL] and not stat.S_ISDIR(os.fstat(fd).st_mode):
            real = place_of(fd)
            inside = str(real.relative_to(base)) if real is not None and real.is_relative_to(base) else relative
            if self._guard.holds(self.prefix(base) + inside):
                os.close(fd)
                raise Refused(f"{path} is a file for secrets and is not read.", capability="read",
                              hint="A person can allow it: [files] readable_secrets in their own configuration.")
        return fd

    def real(self, path: str) -> Path:
        """The real location of an existing path inside its tree (for programs that take a path)."""
        fd = self.open(path, O_PATH or os.O_RDONLY)
        try:
            return place_of(fd) or self._plain(path)
        finally:
            os.close(fd)

    def _plain(self, path: str) -> Path:
        base, relative = self.locate(path)
        return base / relative

    def read_bytes(self, path: str, limit: int) -> bytes:
        """At most `limit` bytes of a regular file; raises PathError for anything else."""
        fd = self.open(path)
        try:
            kind = os.fstat(fd)
            if stat.S_ISDIR(kind.st_mode):
                raise PathError(f"{path} is a directory.", hint="List it instead.")
            if not stat.S_ISREG(kind.st_mode):
                raise PathError(f"{path} is not a regular file.")
            if kind.st_size > limit:
                raise PathError(f"{path} has {kind.st_size} bytes, more than the {limit} that can be read.",
                                hint="Look at it with a command such as head, or search in it.")
            with os.fdopen(os.dup(fd), "rb") as file:
                return file.read(limit)
        finally:
            os.close(fd)

    def write_text(self, path: str, contents: str) -> bool:
        """Replace or create a file atomically, parents included; True when it is new. Symlinks inside the tree are followed.

        Raises PathError, or Refused for anything inside a `.git` and for a file that holds secrets.
        """
        base, relative = self.locate(path)
        if base == self._named[SPILL]:
            raise Refused("/spill is read-only.", capability="write", hint="Write into the checkout or /workspace.")
        relative = self._through_links(base, relative, path)
        parts = [part for part in relative.split("/") if part not in ("", ".")]
        if not parts or ".." in parts:
            raise PathError(f"{path} does not name a file below the checkout.")
        _not_git(parts, path)
        directory = make_parents(base, parts[:-1], path)
        try:
            # The names above may have led through a link, or through one put there meanwhile: the descriptor decides.
            there = place_of(directory)
            if there is not None and there != base:
                _not_git(there.relative_to(base).parts, path)
            return replace(directory, parts[-1], contents.encode("utf-8"), path)
        finally:
            os.close(directory)

    def keep(self, call: str, text: str) -> str:
        """Keep the whole of a long result in this conversation's spill, for this person alone (0600); its name in /spill.

        Raises PathError when it cannot be written.
        """
        base = self._named[SPILL]
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = spill_name(call)
        directory = os.open(base, DIRECTORY)
        try:
            replace(directory, name, text.encode("utf-8", "replace"), f"{SPILL}/{name}", mode=0o600)
        finally:
            os.close(directory)
        return f"{SPILL}/{name}"

    def _through_links(self, base: Path, relative: str, path: str) -> str:
        """Where a write to `relative` really goes, when it or a parent is a link that stays inside the tree."""
        try:
            real = self.real(path)
        except PathError as error:
            if error.code != "not-found":
                raise
            return os.path.normpath(relative)
        if real.is_dir():
            raise PathError(f"{path} is a directory.", hint="Name a file.")
        return str(real.relative_to(base))


def spill_name(call: str) -> str:
    """The file name of a call's spill. The id comes from a guest, so one that is not a plain word becomes its digest."""
    plain = call if _PLAIN_CALL.fullmatch(call) else hashlib.sha256(call.encode("utf-8", "replace")).hexdigest()[:32]
    return f"{plain}.txt"


def _not_git(parts: tuple[str, ...] | list[str], path: str) -> None:
    if any(part.casefold() == ".git" for part in parts):
        raise Refused(f"{path} belongs to git.", capability="write", hint="The kernel commits by itself after the turn.")
