"""Where a root's state lies when [paths] gives parts of it another place: log, bundles, worktrees, workspace.

A place once taken is kept in a note beside the state, and stays until another one is named: a setting that is not believed
today (its checkout changed and is not trusted yet, `--no-local`) must not make a conversation vanish, and no two kernels may
come to have a log each. Must not know what lies there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec

from thetis_kernel import localfile
from thetis_kernel.config.settings import Paths
from thetis_kernel.errors import ConfigError
from thetis_kernel.paths import RootPaths

NOTE = "places.json"
HOLDS = {
    "data": "the log",
    "artifacts": "the bundles of guests",
    "worktrees": "the worktrees",
    "workspace": "the workspace",
}
"""The settings of [paths] that give a place, and what lies there."""
_MADE_AGAIN = frozenset({"artifacts"})
_IGNORED = "*\n"
_MAX_NOTE = 64 * 1024


def placed(paths: RootPaths, settings: Paths) -> RootPaths:
    """`paths` with the places `settings` gives, or an earlier setting gave. Changes nothing.

    A person's own file names absolute directories (or below `~`), in which every root has one of its own; what is relative is a
    trusted root's, inside it. Raises ConfigError for a place that cannot be one, and when what is there would be left behind.
    """
    noted = _noted(paths)
    elsewhere: dict[str, Path] = {}
    for name in HOLDS:
        now = noted.get(name, paths.base / name)
        wanted = _wanted(paths, name, getattr(settings, name))
        if wanted is not None and wanted != now:
            if name not in _MADE_AGAIN and _holds_something(now):
                raise _left_behind(name, now, wanted)
            now = wanted
        if now != paths.base / name:
            elsewhere[name] = now
    return msgspec.structs.replace(paths, elsewhere=elsewhere)


def take(paths: RootPaths, settings: Paths) -> RootPaths:
    """`placed`, with the directories made and the places noted; those inside the root are made to be ignored by git.

    Raises ConfigError as `placed` does, and for a directory that cannot be made.
    """
    with localfile.locked(paths.base / NOTE):
        found = placed(paths, settings)
        for name, place in found.elsewhere.items():
            try:
                place.mkdir(parents=True, exist_ok=True, mode=0o700)
                if place.is_relative_to(found.root):
                    localfile.replace(place / ".gitignore", _IGNORED.encode())
            except OSError as error:
                raise _no(name, f"{place} cannot be made: {error.strerror}.", "Name another directory.") from error
        found.make()
        if found.elsewhere or (paths.base / NOTE).exists():
            told = {name: os.fspath(place) for name, place in found.elsewhere.items()}
            localfile.replace(paths.base / NOTE, json.dumps(told).encode())
    return found


def _wanted(paths: RootPaths, name: str, value: str) -> Path | None:
    if not value:
        return None
    given = Path(os.path.expanduser(value))
    if given.is_absolute():
        return given / paths.base.name
    parts = value.rstrip("/").split("/")
    inside = paths.root.joinpath(*parts)
    if any(part in ("", ".", "..") or part.casefold() == ".git" for part in parts) or inside.resolve() != inside:
        raise _no(name, f"paths.{name} = {value[:80]!r} is no directory inside the root.",
                  "Write a path like `.thetis/worktrees`, without links in it, or an absolute one in your own file.")
    if _holds_something(inside) and not _ours(inside):
        raise _no(name, f"{inside} holds something else already.", f"Name a directory that is not there yet for paths.{name}.")
    return inside


def _noted(paths: RootPaths) -> dict[str, Path]:
    """Where the parts were the last time. The note is in the person's own state directory and written by us alone."""
    try:
        told = json.loads((paths.base / NOTE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{paths.base / NOTE} cannot be read: it says where this root's log is.",
                          hint="Restore it, or remove it when nothing of this root lies elsewhere.",
                          file=str(paths.base / NOTE), line=0, key="paths") from error
    return {name: Path(place) for name, place in told.items() if name in HOLDS}


def _holds_something(place: Path) -> bool:
    try:
        with os.scandir(place) as entries:
            return any(entry.name != ".gitignore" for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _ours(place: Path) -> bool:
    content = localfile.read(place / ".gitignore", _MAX_NOTE)
    return content == _IGNORED.encode()


def _left_behind(name: str, now: Path, wanted: Path) -> ConfigError:
    more = " (worktrees: then run `git worktree repair` in each)" if name == "worktrees" else ""
    return _no(name, f"paths.{name} says {wanted}, but {HOLDS[name]} of this root: {now}.",
               f"Move what is there to {wanted}{more}, or set paths.{name} to where it is. Nothing was changed.")


def _no(name: str, message: str, hint: str) -> ConfigError:
    return ConfigError(message, hint=hint, file="", line=0, key=f"paths.{name}")
