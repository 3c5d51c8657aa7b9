"""The skills of one directory: `NAME/SKILL.md` with files beside it, or `NAME.md` alone. Bounded, and no link is followed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.skills import Card, Problem, Source
from thetis_kernel.skills.frontmatter import MAX_TEXT, parse

SKILL = "SKILL.md"
MAX_SKILLS, MAX_FILES, MAX_FILE = 200, 50, 256 * 1024
"""Of one directory; of one skill; bytes of a file beside it."""


class Found(msgspec.Struct, frozen=True):
    """A skill that can be used: its card, its text, and where it lies ("" parts are files of its directory)."""

    card: Card
    text: str
    directory: Path | None


class Catalogue(msgspec.Struct, frozen=True):
    """The usable skills of a directory by name, and what is wrong with it."""

    skills: dict[str, Found]
    problems: list[Problem]


def read_directory(directory: Path, source: Source, only: frozenset[str] | None = None) -> Catalogue:
    """Read it. A directory that is not there has no skills; of more than MAX_SKILLS the first by name. `only`: these names."""
    skills: dict[str, Found] = {}
    problems: list[Problem] = []
    names = [one for one in _names(directory) if not one.startswith((".", "_"))]
    wanted = [one for one in names if only is None or one.removesuffix(".md") in only]
    if len(wanted) > MAX_SKILLS:
        problems.append(Problem("", 0, f"There are {len(wanted)} skills; only the first {MAX_SKILLS} by name are read.", False))
    for one in wanted[:MAX_SKILLS]:
        try:
            found = _one(directory, one, source, problems)
        except OSError as error:  # it went while it was looked at, or is closed to us
            problems.append(Problem(one, 0, f"It cannot be read: {error.strerror or type(error).__name__}."))
            continue
        if found is not None:
            skills[found.card.name] = found
    return Catalogue(skills, problems)


def read_file(found: Found, name: str) -> str:
    """The text of a file beside a skill. Raises ThetisError `not-found`, naming what there is; `too-large`."""
    if found.directory is None or name not in found.card.files:
        there = ", ".join(found.card.files) or "none"
        raise ThetisError(f"The skill {found.card.name} has no file {name[:80]!r}.", code="not-found",
                          hint=f"Its files: {there}.")
    return _bytes(found.directory / name, MAX_FILE).decode("utf-8", "replace")


def digest_of(files: dict[str, bytes]) -> str:
    """One digest over files by name."""
    digest = hashlib.sha256(b"thetis-skill-1")
    for name, data in sorted(files.items()):
        for part in (name.encode("utf-8", "surrogateescape"), data):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def _one(directory: Path, entry: str, source: Source, problems: list[Problem]) -> Found | None:
    path = directory / entry
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        if not _is_file(path / SKILL):
            return None
        name, main, shown, beside = entry, path / SKILL, f"{entry}/{SKILL}", _beside(path)
    elif stat.S_ISREG(mode) and entry.endswith(".md") and entry != "README.md":
        name, main, shown, beside = entry.removesuffix(".md"), path, entry, ()
    else:
        return None
    raw = _bytes(main, MAX_TEXT, cut=True)
    parsed = parse(raw, name, shown, beside)
    problems += parsed.problems
    if parsed.card is None:
        return None
    card = msgspec.structs.replace(parsed.card, source=source, digest=digest_of({SKILL: raw}))
    return Found(card, parsed.text, path if stat.S_ISDIR(mode) else None)


def _beside(directory: Path) -> tuple[str, ...]:
    """Files of a skill other than SKILL.md, one level of directories deep."""
    found = []
    for name in _names(directory):
        if name.startswith(".") or name == SKILL:
            continue
        if _is_file(directory / name):
            found.append(name)
        elif not (directory / name).is_symlink():
            found += [f"{name}/{one}" for one in _names(directory / name)
                      if not one.startswith(".") and _is_file(directory / name / one)]
    return tuple(found[:MAX_FILES])


def _names(directory: Path) -> list[str]:
    if directory.is_symlink():
        return []
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _bytes(path: Path, most: int, *, cut: bool = False) -> bytes:
    """At most `most` bytes and one more, so that what is too long is known to be; `too-large` unless `cut`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most and not cut:
        raise ThetisError(f"{path.name} is larger than the {most} bytes of a skill's file.", code="too-large")
    return data
