"""Opening a path beneath a directory and nowhere else: openat2 where the kernel has it, else component by component.

RESOLVE_BENEATH ends `..`, absolute links and links that lead out with an error inside the kernel, also when something
swaps a directory for a link in the middle of the walk; RESOLVE_NO_MAGICLINKS does the same for /proc. Where there is no
openat2 (macOS, Linux before 5.6, some container filters) no link is followed at all. Must not know which directories
there are or what is done with a descriptor.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import stat
from pathlib import Path

from thetis_kernel.errors import Refused, ThetisError

_OPENAT2 = 437
_RESOLVE = 0x02 | 0x08  # RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH
_ATTEMPTS = 32
"""The kernel says EAGAIN when a rename races with a walk that holds `..` (openat2(2)); it is then asked again."""
O_PATH: int = getattr(os, "O_PATH", 0)
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class PathError(ThetisError):
    """A path that cannot be used; the message names it."""

    code = "path"


def open_beneath(base: Path, relative: str, flags: int, shown: str) -> int:
    """A descriptor of base/relative. Raises PathError or Refused, which name the path as `shown`."""
    try:
        directory = os.open(base, DIRECTORY)
    except OSError as error:
        raise path_error(error, shown) from error
    try:
        return _openat2(directory, relative, flags)
    except OSError as error:
        raise path_error(error, shown) from error
    finally:
        os.close(directory)


def make_parents(base: Path, parts: list[str], shown: str) -> int:
    """A descriptor of base/parts, made where missing. Each step is opened beneath the base, never through a link out."""
    current = os.open(base, DIRECTORY)
    for depth, part in enumerate(parts, 1):
        try:
            os.mkdir(part, 0o777, dir_fd=current)
        except FileExistsError:
            pass
        except OSError as error:
            raise path_error(error, shown) from error
        finally:
            os.close(current)
        current = open_beneath(base, "/".join(parts[:depth]), DIRECTORY, shown)
    return current


def replace(directory: int, name: str, data: bytes, shown: str, mode: int = 0o666) -> bool:
    """Write a new file in `directory` and rename it over `name`; True when `name` is new, else the old mode is kept.

    What a name holds is either the old or the new contents, for every reader, also after a crash of this process.
    """
    created = True
    try:
        old = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise path_error(error, shown) from error
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
                file.flush()
                if not created:
                    os.fchmod(file.fileno(), mode)
            os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError:
            os.unlink(temporary, dir_fd=directory)
            raise
    except OSError as error:
        raise path_error(error, shown) from error
    return created


def place_of(fd: int) -> Path | None:
    """Where the descriptor's file is, as the system says; None where it does not (no /proc)."""
    try:
        return Path(os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        return None


def path_error(error: OSError, shown: str) -> ThetisError:
    """The error of the tree for what the system said about the path `shown`."""
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


def _openat2(directory: int, relative: str, flags: int) -> int:
    how = _OpenHow(flags, 0, _RESOLVE)
    number = 0
    for _ in range(_ATTEMPTS):
        fd: int = _libc.syscall(_OPENAT2, directory, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number != errno.EAGAIN:
            break
    if number in (errno.ENOSYS, errno.EPERM):  # EPERM: what older container filters say to calls they do not know
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
            mode = flags if index == len(parts) - 1 else DIRECTORY
            following = os.open(part, mode | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = following
        if stat.S_ISLNK(os.fstat(current).st_mode):  # O_PATH opens the link itself
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), relative)
    except OSError:
        os.close(current)
        raise
    return current
