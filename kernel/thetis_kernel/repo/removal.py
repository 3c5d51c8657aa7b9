"""Removing a directory tree that an agent filled: symlinks are removed, never followed; nothing can refuse by its mode.

Must not know whose tree it is; the callers have made sure.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thetis_kernel.errors import RepoError


def remove_tree(path: Path) -> None:
    """Remove `path`; that it is not there is fine. Raises RepoError `not-removed`, `bad-path` for a symlink or file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        raise RepoError(f"{path} is not a directory.", kind="bad-path")
    failed: list[str] = []

    def opened_up(function: Callable[..., Any], name: str, _: object) -> None:
        """Directories without write permission, as module caches have, are given it; then once more."""
        parent = os.path.dirname(name)
        try:
            if not Path(parent).is_symlink() and Path(parent).is_relative_to(path):
                os.chmod(parent, 0o700)
            if stat.S_ISDIR(os.lstat(name).st_mode):
                os.chmod(name, 0o700)
                shutil.rmtree(name)
            else:
                os.unlink(name)
        except FileNotFoundError:
            return
        except OSError as error:
            failed.append(f"{name}: {error.strerror}")

    if sys.version_info >= (3, 12):
        shutil.rmtree(path, onexc=opened_up)
    else:
        shutil.rmtree(path, onerror=opened_up)
    if failed or os.path.lexists(path):
        raise RepoError(
            f"{path} could not be removed: {failed[0] if failed else 'something keeps appearing in it'}.",
            kind="not-removed",
            hint="End what still works in it, then try again.",
        )
