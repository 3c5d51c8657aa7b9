"""What of a tree is public: everything but private directories and local settings. Trees are made in memory, each once.

Must not know commits or branches.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import pygit2
from pygit2.enums import ObjectType

MARKER = ".thetis-private"
LOCAL = ".local.toml"
ANY = ""
"""The top directory among private ones."""


class Kept(NamedTuple):
    """`tree`: what is public of one, None for nothing. `dropped`: the path and content of what was left out."""

    tree: pygit2.Oid | None
    dropped: frozenset[tuple[str, pygit2.Oid]]


class Filter:
    """Filters trees of one repository; what is alike is looked at once."""

    def __init__(self, repository: pygit2.Repository) -> None:
        self._repository = repository
        self._marks: dict[pygit2.Oid, frozenset[str]] = {}
        self._kept: dict[tuple[pygit2.Oid, frozenset[str]], Kept] = {}

    def marked(self, tree: pygit2.Tree) -> frozenset[str]:
        """The topmost directories of a tree that hold the marker, relative to it."""
        if tree.id not in self._marks:
            if MARKER in tree:
                found = frozenset({ANY})
            else:
                found = frozenset(f"{_name(entry)}/{below}".rstrip("/") for entry in tree if isinstance(entry, pygit2.Tree)
                                  for below in self.marked(entry))
            self._marks[tree.id] = found
        return self._marks[tree.id]

    def kept(self, tree: pygit2.Tree, private: frozenset[str]) -> Kept:
        """What stays of a tree without the directories `private` (relative to it) and without local settings."""
        known = self._kept.get((tree.id, private))
        if known is not None:
            return known
        lines: list[bytes] = []
        dropped: set[tuple[str, pygit2.Oid]] = set()
        for entry in tree:
            name = _name(entry)
            if name in private or name.casefold().endswith(LOCAL) or name == MARKER:
                dropped.add((name, entry.id))
            elif isinstance(entry, pygit2.Tree):
                inner = frozenset(path.removeprefix(f"{name}/") for path in private if path.startswith(f"{name}/"))
                below = self.kept(entry, inner)
                dropped.update((f"{name}/{path}", content) for path, content in below.dropped)
                if below.tree is not None:
                    lines.append(_line(entry, below.tree))
            else:
                lines.append(_line(entry, entry.id))
        found = Kept(self._repository.write(ObjectType.TREE, b"".join(lines)) if lines else None, frozenset(dropped))
        self._kept[(tree.id, private)] = found
        return found


def _name(entry: pygit2.Object) -> str:
    """Its name; one that is not UTF-8 keeps its bytes."""
    return os.fsdecode(entry.raw_name or b"")


def _line(entry: pygit2.Object, content: pygit2.Oid) -> bytes:
    """An entry of a tree as git writes it (gitformat-tree); by hand, as pygit2's builder takes no name that is not UTF-8."""
    return b"%o %s\0%s" % (int(entry.filemode), entry.raw_name, content.raw)
