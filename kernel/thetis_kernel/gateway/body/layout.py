"""Which files a body holds: the correspondence of paths, directories and aspects, and what no guest may be made of.

Pure names; nothing here touches a disk. What is not listed (contract, gate, kernel, settings) is no part of a body, so
that no operation of the dev kit reaches it.
"""

from __future__ import annotations

import re

import msgspec

from thetis_kernel.errors import UsageError
from thetis_kernel.forge.builtin import ASPECTS
from thetis_kernel.forge.layout import MANIFEST
from thetis_kernel.forge.manifest import NAME

TOOL, SKILL = "tool", "skill"
TOOLS = "tools"
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_DIRECTORIES = {f"aspects/{directory}": aspect for aspect, directory in ASPECTS.items()}
MAX_DEPTH = 6


class Place(msgspec.Struct, frozen=True):
    """A file of a guest: its aspect, the guest's directory in the body, the file's path inside it."""

    aspect: str
    directory: str
    inside: str

    @property
    def path(self) -> str:
        """The file's path in the body."""
        return f"{self.directory}/{self.inside}"


def place_of(path: str) -> Place:
    """Where `path` ("tools/outline/main.py") belongs. Raises UsageError naming what is possible."""
    parts = path.removeprefix("./").split("/")
    if len(parts) < 3:
        raise _elsewhere(path)
    directory, inside = "/".join(parts[:2]), parts[2:]
    aspect = aspect_of(directory)
    if len(inside) > MAX_DEPTH or not all(_PART.fullmatch(part) for part in inside):
        raise UsageError(f"{path[:200]!r} is no path of a guest's file.",
                         hint="Use letters, digits, underscores, dots and dashes; no part begins with a dot.", code="bad-path")
    if not (inside[-1].endswith(".py") or inside == [MANIFEST]):
        raise UsageError(f"{path[:200]} cannot be part of a guest.", code="bad-path",
                         hint=f"A guest is made of .py files and one {MANIFEST}.")
    return Place(aspect, directory, "/".join(inside))


def aspect_of(directory: str) -> str:
    """The aspect whose guest lies in `directory` ("tools/outline" -> "tool/outline"). Raises UsageError."""
    clean = directory.rstrip("/")
    if clean in _DIRECTORIES:
        return _DIRECTORIES[clean]
    kind, _, name = clean.partition("/")
    if kind == TOOLS and NAME.fullmatch(name):
        return f"tool/{name}"
    raise _elsewhere(directory)


def directory_of(aspect: str) -> str:
    """Where the guest (or the skill) of `aspect` lies in a body. Raises UsageError when it is none."""
    if aspect in ASPECTS:
        return f"aspects/{ASPECTS[aspect]}"
    kind, _, name = aspect.partition("/")
    if kind in (TOOL, SKILL) and NAME.fullmatch(name):
        return f"{kind}s/{name}"
    raise UsageError(f"There is no guest {aspect[:80]!r}.", hint="Say agent, gateway/tui, tool/NAME or skill/NAME.",
                     code="bad-path")


def is_skill(aspect: str) -> bool:
    """Whether it is a skill: kept, compared and gone back from like a guest, but no program, so the gate has no say in it."""
    return aspect.startswith(f"{SKILL}/")


def _elsewhere(path: str) -> UsageError:
    return UsageError(
        f"{path[:200]!r} is no part of a conversation's body: only its guests can be changed here.",
        hint=f"Paths begin with {', '.join(f'{name}/' for name in sorted(_DIRECTORIES))} or {TOOLS}/NAME/.",
        code="bad-path",
    )
