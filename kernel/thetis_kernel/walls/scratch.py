"""The private directory of a command: its HOME and TMPDIR, and removing it whatever was left inside.

Imported by the helper process too, so nothing heavy stands at the top. What is removed was written by a hostile
command: links are not followed, forbidden directories are opened up, thousands of levels are no problem.
"""

from __future__ import annotations

import os
from pathlib import Path

HOME, TMP = "home", "tmp"
_PREFIX = "thetis-walls-"
_REMOVE_WITHIN_S = 60


def create(under: str | None = None) -> Path:
    """A new private directory (mode 0700) below `under`, or below the system's directory for such things."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=under)).resolve()


def prepare(path: Path) -> None:
    """Make sure `path` and its two parts are directories, whatever an earlier command made of them."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    for part in (path / HOME, path / TMP):
        if part.is_symlink() or (part.exists() and not part.is_dir()):
            part.unlink()
        part.mkdir(mode=0o700, exist_ok=True)


def remove(path: str | Path) -> bool:
    """Remove the directory and all below it; False if something would not go (it stays, nothing else is hurt)."""
    import shutil
    import subprocess

    try:
        shutil.rmtree(path)
    except (OSError, RecursionError):
        # directories without permission, or nested deeper than Python recurses: the system's own tools cope
        for tool in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            try:
                subprocess.run(
                    [*tool, "--", os.fspath(path)],
                    env={"PATH": "/usr/bin:/bin"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=_REMOVE_WITHIN_S,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired):
                break
    return not os.path.lexists(path)
