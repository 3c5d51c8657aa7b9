"""Where skills come from. A checkout's are there only while a person trusts exactly what it brings.

Must not know what is done with a skill.
"""

from __future__ import annotations

from pathlib import Path

from thetis_kernel.gateway.trust import TrustedTree
from thetis_kernel.paths import builtin_root, user_config_file
from thetis_kernel.protocol.skills import Problem, Source
from thetis_kernel.skills.reading import Catalogue, Found, read_directory

DIRECTORY = "skills"


def person_directory() -> Path:
    """The person's own skills, beside their settings."""
    return user_config_file().parent / DIRECTORY


def persons(listed: list[str]) -> list[Path]:
    """Directories of a person's [paths] skills. What is not absolute is a root's, which its trust counts."""
    found = [Path(one).expanduser() for one in listed]
    return [path for path in found if path.is_absolute()]


def gather(own: Path | None, trusted: TrustedTree | None, more: list[Path]) -> Catalogue:
    """All skills by name. `own`: the conversation's body; `more`: the person's further directories. Reads files; call it on a
    thread of its own."""
    skills: dict[str, Found] = {}
    problems: list[Problem] = []

    def take(directory: Path, source: Source, only: frozenset[str] | None = None) -> None:
        found = read_directory(directory, source, only)
        skills.update(found.skills)
        problems.extend(found.problems)

    take(builtin_root() / DIRECTORY, "shipped")
    for directory in (person_directory(), *more):
        take(directory, "person")
    if trusted is not None and trusted.skills:
        theirs = _of_the_checkout(trusted)
        skills.update(theirs.skills)
        problems += theirs.problems
    if own is not None:
        take(own / DIRECTORY, "conversation")
    return Catalogue(skills, problems)


def _of_the_checkout(tree: TrustedTree) -> Catalogue:
    """Its skills, read before its digest is taken again: what was read is what was trusted."""
    skills: dict[str, Found] = {}
    problems: list[Problem] = []
    for directory in sorted({path.parent for path in tree.skills.values()}):
        names = frozenset(name for name, path in tree.skills.items() if path.parent == directory)
        found = read_directory(directory, "checkout", names)
        skills.update(found.skills)
        problems += found.problems
    if not tree.unchanged():
        changed = "The checkout's skills have changed since it was trusted; see `thetis trust`."
        return Catalogue({}, [Problem("", 0, changed, False)])
    return Catalogue(skills, problems)
