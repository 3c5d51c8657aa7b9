"""What a new worktree gets of the root's ignored files: links to some, copies of others, as the person's settings say.

Owns what may be brought, and how. Only what git ignores in the root is: everything else comes with the branch, or is the
person's unfinished work. What was brought is in the marker, and is nobody's change (`changes`): the pattern
`node_modules/` ignores a directory and not the link in its place, and an agent may edit `.gitignore`.
Must not know where the names come from.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from thetis_kernel.repo.inspection import Root
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.library import GIT_ERRORS
from thetis_kernel.repo.safety import unstuck


class Brought(msgspec.Struct, frozen=True):
    """`names` that now stand in the worktree, `linked` those of them that are links; sentences about the others."""

    names: list[str]
    linked: list[str]
    notes: list[str]


def bring(root: Root, where: Path, link: Sequence[str], copy: Sequence[str], job: Job) -> Brought:
    """Bring the ignored files and directories named by `link` and `copy` (relative to the root) into the worktree `where`.

    What the root does not have is passed over in silence: settings are for many repositories.
    """
    names: list[str] = []
    notes: list[str] = []
    wanted = dict.fromkeys(copy, False) | dict.fromkeys(link, True)
    for name, linked in wanted.items():
        job.check()
        source = root.path / name
        try:
            why = _why_not(root, where, name)
            if why:
                notes.append(f"{name} was not brought into the worktree: {why}.")
            elif os.path.lexists(source):
                _parents(where, name)
                if linked:
                    (where / name).symlink_to(source)
                else:
                    _copy(source, where / name, job)
                names.append(name)
        except (OSError, shutil.Error, *GIT_ERRORS) as error:
            _clear(where / name)
            notes.append(f"{name} was not brought into the worktree: {_reason(error)}.")
    return Brought(names, [name for name in names if wanted[name]], notes)


def standing(root: Root, where: Path, link: Sequence[str], copy: Sequence[str]) -> Brought:
    """What looks as if it had been brought into a worktree whose marker was lost."""
    linked = [name for name in link if (where / name).is_symlink() and os.readlink(where / name) == str(root.path / name)]
    copied = [name for name in copy if os.path.lexists(where / name) and not _why_not(root, Path("/nowhere"), name)]
    return Brought([*linked, *copied], linked, [])


def targets(root: Path, linked: Sequence[str]) -> list[str]:
    """The real paths the links lead to, of those that are there."""
    found = [Path(os.path.realpath(root / name)) for name in linked]
    return [str(path) for path in found if path.exists()]


def _why_not(root: Root, where: Path, name: str) -> str:
    """Empty when `name` may be brought, or is not there; else a clause."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or ".git" in map(str.lower, path.parts):
        return "it is no path inside the repository"
    for parent in reversed(path.parents[:-1]):
        if (root.path / parent).is_symlink() or (where / parent).is_symlink():
            return f"{parent} is a link"
    source = root.path / name
    if not os.path.lexists(source):
        return ""
    if os.path.lexists(where / name):
        return "the branch has something there"
    directory = source.is_dir() and not source.is_symlink()
    with unstuck(root.path):
        ignored = root.repository.path_is_ignored(f"{path}/" if directory else str(path))
    return "" if ignored else "git does not ignore it in the root"


def _parents(where: Path, name: str) -> None:
    """The directories `name` stands in. The worktree is new: nobody else is in it yet."""
    here = where
    for part in PurePosixPath(name).parts[:-1]:
        here = here / part
        if not os.path.lexists(here):
            here.mkdir()


def _copy(source: Path, target: Path, job: Job) -> None:
    """Files, directories and links as they are; pipes, sockets and devices are left out."""

    def take(here: str, there: str) -> None:
        job.check()
        shutil.copy2(here, there, follow_symlinks=False)

    def special(directory: str, names: list[str]) -> list[str]:
        return [name for name in names if not _ordinary(Path(directory, name))]

    if source.is_symlink() or source.is_file():
        take(str(source), str(target))
    elif source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=special, copy_function=take)
    else:
        raise OSError(0, "it is a pipe, socket or device")


def _ordinary(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _clear(target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


def _reason(error: BaseException) -> str:
    if isinstance(error, shutil.Error) and error.args and error.args[0]:
        return str(error.args[0][0][2])
    return getattr(error, "strerror", None) or str(error).rstrip(".")
