"""The registry is kept out of git by the repository's own exclude file, which is nobody's to commit.

Reads names of git's layout and opens nothing of it otherwise: a worktree's `.git` file, its common directory. Must not know
what is kept out, nor git's objects.
"""

from __future__ import annotations

from pathlib import Path

from thetis_kernel import localfile

MAX = 1 << 20
_HEAD = "# Thetis: machines of this person, nobody else's.\n"


def keep_out(root: Path, name: str) -> bool:
    """Have git ignore `name` at the top of every checkout of the repository at `root`; whether that is so now.

    False where there is no repository of files to say so, or where its exclude file cannot be written.
    """
    git = _common(root)
    if git is None:
        return False
    exclude = git / "info" / "exclude"
    line = f"/{name}"
    try:
        if exclude.is_symlink() or exclude.parent.is_symlink():
            return False
        text = (localfile.read(exclude, MAX) or b"").decode("utf-8", "surrogateescape")
        if line in text.splitlines():
            return True
        if len(text) >= MAX:
            return False
        with localfile.locked(exclude):
            ending = "" if not text or text.endswith("\n") else "\n"
            localfile.replace(exclude, f"{text}{ending}{_HEAD}{line}\n".encode("utf-8", "surrogateescape"),
                              mode=None if exclude.exists() else 0o644)
    except OSError:
        return False
    return True


def _common(root: Path) -> Path | None:
    """The directory that all worktrees of the repository share."""
    git = root / ".git"
    try:
        if git.is_file():
            said = (localfile.read(git, 4096) or b"").decode("utf-8", "surrogateescape").strip()
            if not said.startswith("gitdir: "):
                return None
            git = (root / said.removeprefix("gitdir: ")).resolve()
            common = localfile.read(git / "commondir", 4096)
            if common is not None:
                git = (git / common.decode("utf-8", "surrogateescape").strip()).resolve()
        return git if (git / "HEAD").is_file() and (git / "objects").is_dir() else None
    except OSError:
        return None
