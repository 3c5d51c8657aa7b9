"""What makes a worktree ours: a file in its record that says which conversation it is for and how far it got.

The record is `.git/worktrees/<name>/`, git's own directory for a linked worktree; agents cannot write there, and
git removes the marker with the record. States: `making` (nothing of the conversation's is in it yet, so it may be
thrown away), `ready`, `removing` (a person or the kernel decided to; nothing in it is kept).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from thetis_kernel.repo.durable import write_file

NAME = "thetis.json"
MAX_SIZE = 1024 * 1024

State = Literal["making", "ready", "removing"]


class Move(msgspec.Struct, frozen=True):
    """The worktree is being taken from one tree to another, and the branch to `commit` ("" = it stays). When that is done,
    the merge of `merging` is open ("" = none) with marks in `conflicts`."""

    old: str
    new: str
    commit: str = ""
    merging: str = ""
    conflicts: list[bytes] = []


class Marker(msgspec.Struct, frozen=True):
    """`base`: where the branch began. `tip`: the commit the worktree's files and index stand on. `gitlinks`: paths of
    submodules in the tree checked out. `brought`: paths that were brought from the root (`bring`) and are never recorded,
    `linked`: those of them that are links. `merging`: the commit an open merge brings in, `conflicts` the paths that carried
    marks when it was opened. `move`: what a kill may have cut (`moving`)."""

    branch: str
    worktree: str
    state: State
    base: str
    tip: str
    gitlinks: list[bytes] = []
    brought: list[str] = []
    linked: list[str] = []
    merging: str = ""
    conflicts: list[bytes] = []
    move: Move | None = None
    version: int = 1


def read_marker(record: Path) -> Marker | None:
    """The marker in `record`; None when there is none, or none that can be understood: then it is not ours."""
    try:
        with open(record / NAME, "rb") as file:
            return msgspec.json.decode(file.read(MAX_SIZE), type=Marker)
    except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
        return None


def write_marker(record: Path, marker: Marker) -> None:
    """Replace the marker, durably."""
    write_file(record / NAME, msgspec.json.encode(marker))
