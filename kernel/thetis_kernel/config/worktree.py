"""[worktree]: what a conversation's new worktree gets besides the branch.

Names are checked here for what they look like; whether git ignores them in a root is the git host's to see.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec


class Worktree(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`link`, `copy`: ignored files and directories of the root, relative to it. `setup`: a command run once, inside the walls,
    before the first turn."""

    link: list[str] = []
    copy: list[str] = []
    setup: str = ""

    def __post_init__(self) -> None:
        for name in (*self.link, *self.copy):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
                raise ValueError(f"{name!r} is not the path of a file or directory inside the repository")
