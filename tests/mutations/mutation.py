"""A mutation as a value: read from its file, and what it makes of a tree's files.

Knows the form of a patch. Must not know of copies, processes or tests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DIRECTORY = Path(__file__).parent
SECONDS = 120.0
"""For the tests of one mutation."""
_HUNK = re.compile(r"@@ .*@@")
_HEADER = re.compile(r"# (rule|test|seconds): (.+)")


class PatchError(Exception):
    """A mutation that cannot be used as it stands; the message names it and says why."""


@dataclass(frozen=True)
class Hunk:
    """Lines of one file, and what they become."""

    path: str
    before: str
    after: str


@dataclass(frozen=True)
class Mutation:
    """`rule` is the promise that is broken, `tests` are pytest selections of which one must fail.

    `seconds`: how long they may take; a mutation that makes something endless has a short time of its own.
    """

    name: str
    rule: str
    tests: list[str]
    hunks: list[Hunk]
    seconds: float = SECONDS

    def applied(self, tree: Path) -> dict[str, str]:
        """The mutated files of `tree`: path -> new text. Writes nothing. Raises PatchError when it does not apply."""
        changed: dict[str, str] = {}
        for hunk in self.hunks:
            file = tree / hunk.path
            if not file.is_file():
                raise PatchError(f"{self.name}: there is no {hunk.path}.")
            text = changed.get(hunk.path) or file.read_text(encoding="utf-8")
            lines = re.compile("^" + re.escape(hunk.before), re.M)
            found = len(lines.findall(text))
            if found != 1:
                raise PatchError(f"{self.name}: these lines stand {found} times in {hunk.path}, not once:\n{hunk.before}")
            changed[hunk.path] = lines.sub(lambda _, after=hunk.after: after, text)
        return changed


def load(only: str = "") -> list[Mutation]:
    """All mutations whose name holds `only`, by name. Raises PatchError for a file that is none."""
    return [read(file) for file in sorted(DIRECTORY.glob("*.patch")) if only in file.stem]


def read(file: Path) -> Mutation:
    """One mutation. Raises PatchError."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    header = [match.groups() for line in lines if (match := _HEADER.match(line))]
    rules = [value for key, value in header if key == "rule"]
    tests = [value for key, value in header if key == "test"]
    seconds = [float(value) for key, value in header if key == "seconds"]
    if len(rules) != 1 or not tests:
        raise PatchError(f"{file.name}: the header needs one `# rule:` and at least one `# test:`.")
    hunks = _hunks(file.name, [line for line in lines if not line.startswith("#")])
    if not hunks:
        raise PatchError(f"{file.name}: there is no change in it.")
    return Mutation(file.stem, rules[0], tests, hunks, *seconds[:1])


def _hunks(name: str, lines: list[str]) -> list[Hunk]:
    hunks: list[Hunk] = []
    path, before, after = "", "", ""

    def end() -> None:
        if before or after:
            hunks.append(Hunk(path, before, after))

    for line in lines:
        if line.startswith(("--- ", "+++ ", "@@ ")):
            end()
            before = after = ""
            if line.startswith("+++ "):
                path = line.split()[1].removeprefix("b/")
            elif line.startswith("@@") and not (path and _HUNK.match(line)):
                raise PatchError(f"{name}: {line.strip()} is no hunk of a unified diff.")
        elif line[0] in " \n":
            before, after = before + line[1:], after + line[1:]
        elif line[0] == "-":
            before += line[1:]
        elif line[0] == "+":
            after += line[1:]
        else:
            raise PatchError(f"{name}: {line.strip()} is no line of a unified diff.")
    end()
    return hunks
