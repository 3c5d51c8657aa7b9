"""The boundary of one command, checked and made canonical before anything runs.

Owns every path rule: what may be a root, that roots do not lie inside each other, where cwd may be, what of git is
protected. Paths come from the session's record; the *contents* of writable roots are hostile, so no path that
leads through one is ever followed for a bind: a link planted there would show what it points to.
Must not know which mechanism enforces the result.
"""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec

from thetis_kernel.errors import WallError
from thetis_kernel.walls import private
from thetis_kernel.walls.command import Command

_CODE = "walls-boundary"


class Boundary(msgspec.Struct, frozen=True):
    """Real paths. `git` are the `.git` files or directories at the top of writable roots; `note` explains cwd.

    `links`: (place, text) of links that lead to readable roots, their places outside of every root.
    """

    writable: tuple[Path, ...]
    readable: tuple[Path, ...]
    git: tuple[Path, ...]
    cwd: Path
    note: str = ""
    links: tuple[tuple[str, str], ...] = ()


def resolve(command: Command, scratch: Path) -> Boundary:
    """Check and canonicalise. Raises WallError, naming the path and what is wrong with it."""
    writable = tuple(dict.fromkeys(_root(path, "a writable root") for path in command.writable))
    for one in (*writable, scratch):
        for other in writable:
            if one != other and (one.is_relative_to(other) or (one == scratch and other.is_relative_to(one))):
                raise _wrong(f"{one} lies inside {other} or around it; a boundary must be unambiguous")
    if scratch in writable:
        raise _wrong(f"the scratch directory {scratch} is a writable root itself")
    readable = [_root(path, "a readable root") for path in command.readable]
    readable += [path for path in command.toolchains.readable if path.exists()]
    shown = [path for path in readable if not _inside(path, writable)]
    git = tuple(root / ".git" for root in writable if _protectable(root / ".git"))
    for path in command.git_dirs:
        if _inside(Path(path), writable) or _inside(real := _root(path, "a git directory"), writable):
            if Path(path) not in git:
                raise _wrong(f"the git directory {path} lies inside a writable root and cannot be protected there")
        else:
            shown.append(real)
    cwd, note = _cwd(command.cwd, (*writable, *readable))
    roots = (*writable, *shown, scratch)
    links = tuple(link for link in command.toolchains.links if not _inside(Path(link[0]), roots))
    links += tuple(link for link in command.links if not any(root.is_relative_to(link[0]) for root in roots))
    return Boundary(writable, tuple(dict.fromkeys(shown)), git, cwd, note, links)


def check_spill(path: Path, writable: tuple[Path, ...]) -> None:
    """A file the kernel writes must not be reached through a directory an agent can rearrange."""
    if _inside(path.parent.resolve(), writable) or not path.is_absolute():
        raise _wrong(f"the spill file {path} lies inside a writable root")


def _root(path: Path, role: str) -> Path:
    if not path.is_absolute():
        raise _wrong(f"{path} cannot be {role}: it is not absolute")
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise _wrong(f"{path} cannot be {role}: {getattr(error, 'strerror', error)}") from error
    if role != "a readable root" and not real.is_dir():
        raise _wrong(f"{path} cannot be {role}: it is not a directory")
    reason = private.why_not(real)
    if reason:
        raise _wrong(f"{real} cannot be {role}: it {reason}")
    return real


def _protectable(git: Path) -> bool:
    try:
        mode = git.lstat().st_mode
    except OSError:
        return False  # no repository here
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise _wrong(f"{git} is neither a file nor a directory; somebody replaced it")
    return True


def _cwd(path: Path, roots: tuple[Path, ...]) -> tuple[Path, str]:
    if not path.is_absolute() or not roots:
        raise _wrong(f"{path} cannot be the working directory: it is not inside a root")
    try:
        real = path.resolve()
    except (OSError, RuntimeError) as error:
        raise _wrong(f"{path} cannot be the working directory: {error}") from error
    if not _inside(real, roots):
        raise _wrong(f"{path} cannot be the working directory: it is outside the writable and readable roots")
    if real.is_dir():
        return real, ""
    return roots[0], f"{path} is gone or not a directory; the command ran in {roots[0]}."


def _inside(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _wrong(message: str) -> WallError:
    return WallError(f"{message}.", code=_CODE)
