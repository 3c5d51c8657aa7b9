"""Which directory is the root: the nearest `thetis.toml` upward, else the git repository's.

Looks at names only, opens nothing of git (the git host does, and knows the odd cases). Refuses what must never become
a root by accident.
"""

from __future__ import annotations

from pathlib import Path

from thetis_kernel.errors import RootError


def find_root(start: Path) -> Path:
    """The root `start` belongs to.

    Raises RootError: kind `missing`, `not-a-repository`, `home` (the home directory itself), `filesystem-root`.
    """
    if not start.exists():
        raise RootError(f"{start} does not exist.", kind="missing", hint="Name an existing directory with --root.")
    here = start.resolve()
    if here.is_file():
        here = here.parent
    for directory in (here, *here.parents):
        if (directory / "thetis.toml").is_file() or (directory / ".git").exists() or _is_bare(directory):
            return _allowed(directory)
    raise RootError(
        f"{here} is not inside a git repository.",
        kind="not-a-repository",
        hint="Run `git init && git commit --allow-empty -m start` here, or change to a repository.",
    )


def _is_bare(directory: Path) -> bool:
    return (directory / "HEAD").is_file() and (directory / "objects").is_dir() and (directory / "refs").is_dir()


def _allowed(directory: Path) -> Path:
    if directory == directory.parent:
        raise RootError("The root of the file system cannot be a root.", kind="filesystem-root",
                        hint="Change to a repository, or name one with --root.")
    if directory == Path.home().resolve():
        raise RootError(
            "Your home directory is a repository, and agents must not work on all of it.",
            kind="home",
            hint="Change to a project below it, or name one with --root.",
        )
    return directory
