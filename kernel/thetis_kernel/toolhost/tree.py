"""The one resolver: from a path a guest names to a file of the checkout, the workspace or the spill, and nowhere else.

Every open goes through openat2 with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, so `..`, absolute links and /proc tricks end
in an error inside the kernel, also when something swaps a directory for a link meanwhile. Writes go to a new file in the
same directory and are renamed over the old one. Where there is no openat2 (macOS, old Linux) no link is followed at all.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import stat
from pathlib import Path

from thetis_kernel.errors import Refused, ThetisError

WORKSPACE = "/workspace"
SPILL = "/spill"
MAX_PATH = 4096
_OPENAT2 = 437
_RESOLVE = 0x02 | 0x08  # RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH
_O_PATH: int = getattr(os, "O_PATH", 0)
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class PathError(ThetisError):
    """A path that cannot be used; the message names it."""

    code = "path"


class Tree:
    """What a conversation sees: its checkout (relative paths), /workspace, and /spill (its long outputs, read-only)."""

    def __init__(self, worktree: Path, workspace: Path, spill: Path) -> None:
        self.worktree = worktree.resolve()
        self._named = {WORKSPACE: workspace.resolve(), SPILL: spill.resolve()}

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
        """A descriptor of an existing file or directory. Raises PathError; never leaves the two trees."""
        base, relative = self.locate(path)
        # openat2 refuses flags that mean nothing together; O_NONBLOCK keeps a FIFO from blocking the open.
        more = os.O_CLOEXEC if flags & _O_PATH else os.O_CLOEXEC | os.O_NONBLOCK
        return _open_beneath(base, relative, flags | more, path)

    def real(self, path: str) -> Path:
        """The real location of an existing path inside its tree (for programs that take a path)."""
        fd = self.open(path, _O_PATH or os.O_RDONLY)
        try:
            return Path(f"/proc/self/fd/{fd}").readlink() if Path("/proc/self/fd").exists() else self._plain(path)
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

        Raises PathError, or Refused for anything inside a `.git`.
        """
        base, relative = self.locate(path)
        if base == self._named[SPILL]:
            raise Refused("/spill is read-only.", capability="write", hint="Write into the checkout or /workspace.")
        relative = self._through_links(base, relative, path)
        parts = [part for part in relative.split("/") if part not in ("", ".")]
        if not parts or ".." in parts:
            raise PathError(f"{path} does not name a file below the checkout.")
        if any(part.casefold() == ".git" for part in parts):
            raise Refused(f"{path} belongs to git.", capability="write", hint="The kernel commits by itself after the turn.")
        directory = _make_parents(base, parts[:-1], path)
        try:
            return _replace(directory, parts[-1], contents.encode("utf-8"), path)
        finally:
            os.close(directory)

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


def _open_beneath(base: Path, relative: str, flags: int, shown: str) -> int:
    directory = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _openat2(directory, relative, flags)
    except OSError as error:
        raise _path_error(error, shown) from error
    finally:
        os.close(directory)


def _openat2(directory: int, relative: str, flags: int) -> int:
    how = _OpenHow(flags, 0, _RESOLVE)
    fd: int = _libc.syscall(_OPENAT2, directory, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how))
    if fd >= 0:
        return fd
    number = ctypes.get_errno()
    if number == errno.ENOSYS:
        return _walk(directory, relative, flags)
    raise OSError(number, os.strerror(number), relative)


def _walk(directory: int, relative: str, flags: int) -> int:
    """openat component by component, following no link and no `..`."""
    current = os.dup(directory)
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    try:
        for index, part in enumerate(parts):
            if part == "..":
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)
            last = index == len(parts) - 1
            mode = flags if last else os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            following = os.open(part, mode | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = following
    except OSError:
        os.close(current)
        raise
    return current


def _path_error(error: OSError, shown: str) -> ThetisError:
    if error.errno in (errno.EXDEV, errno.ELOOP):
        return Refused(f"{shown} leads outside the checkout or the workspace.", capability="read",
                       hint="Use a path that stays inside.")
    if error.errno == errno.ENOENT:
        return PathError(f"{shown} does not exist.", code="not-found", hint="List the directory to see what is there.")
    if error.errno == errno.ENOTDIR:
        return PathError(f"A part of {shown} is not a directory.")
    if error.errno == errno.ENAMETOOLONG:
        return PathError(f"{shown[:80]}... is too long a name.")
    return PathError(f"{shown} cannot be opened: {os.strerror(error.errno or 0)}.")


def _make_parents(base: Path, parts: list[str], shown: str) -> int:
    """A descriptor of base/parts, made where missing. Each step is opened beneath the base, never through a link out."""
    current = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for depth, part in enumerate(parts, 1):
        try:
            os.mkdir(part, 0o777, dir_fd=current)
        except FileExistsError:
            pass
        except OSError as error:
            os.close(current)
            raise _path_error(error, shown) from error
        os.close(current)
        current = _open_beneath(base, "/".join(parts[:depth]), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, shown)
    return current


def _replace(directory: int, name: str, data: bytes, shown: str) -> bool:
    mode, created = 0o666, True
    try:
        old = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _path_error(error, shown) from error
    else:
        if stat.S_ISDIR(old.st_mode):
            raise PathError(f"{shown} is a directory.", hint="Name a file.")
        if not (stat.S_ISREG(old.st_mode) or stat.S_ISLNK(old.st_mode)):
            raise PathError(f"{shown} is not a regular file.")
        created = False
        mode = stat.S_IMODE(old.st_mode) if stat.S_ISREG(old.st_mode) else mode
    temporary = f".thetis-{secrets.token_hex(6)}.tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            if not created:
                os.chmod(temporary, mode, dir_fd=directory)
            os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError:
            os.unlink(temporary, dir_fd=directory)
            raise
    except OSError as error:
        raise _path_error(error, shown) from error
    return created
