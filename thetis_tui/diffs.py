"""Reads a unified diff into lines with numbers, for drawing.

Lenient: text that is not a diff comes out as plain lines. Must not know about widgets. Text is expected raw; it is
made safe here, line by line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from thetis_tui.sanitise import visible

_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)$")
_TAB = 4


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One drawn line. `kind`: file, hunk, added, removed, same, note. Numbers are 0 where a side has no such line."""

    kind: str
    text: str
    old: int = 0
    new: int = 0


def parse(patch: str) -> list[DiffLine]:
    """The lines of `patch`; headers of a file are folded into one `file` line with its path."""
    out: list[DiffLine] = []
    old = new = left_old = left_new = 0
    previous = ""
    for raw in patch.split("\n"):
        safe = visible(raw)
        line = safe.expandtabs(_TAB)
        if left_old > 0 or left_new > 0:
            mark = line[:1]
            if mark == "+":
                out.append(DiffLine("added", line[1:], 0, new))
                new, left_new = new + 1, left_new - 1
                continue
            if mark == "-":
                out.append(DiffLine("removed", line[1:], old, 0))
                old, left_old = old + 1, left_old - 1
                continue
            if mark in ("", " "):
                out.append(DiffLine("same", line[1:], old, new))
                old, new, left_old, left_new = old + 1, new + 1, left_old - 1, left_new - 1
                continue
            if mark == "\\":
                out.append(DiffLine("note", line[2:]))
                continue
            left_old = left_new = 0
        hunk = _HUNK.match(line)
        if hunk:
            old, new = int(hunk[1]), int(hunk[3])
            left_old = int(hunk[2]) if hunk[2] is not None else 1
            left_new = int(hunk[4]) if hunk[4] is not None else 1
            out.append(DiffLine("hunk", hunk[5].strip()))
        elif line.startswith(("diff --git ", "index ")):
            previous = ""
        elif line.startswith("--- "):
            previous = _path(safe[4:])
        elif line.startswith("+++ "):
            path = _path(safe[4:])
            out.append(DiffLine("file", path if path != "/dev/null" else f"{previous} (deleted)"))
        elif line.startswith("\\ "):
            out.append(DiffLine("note", line[2:]))
        elif line:
            out.append(DiffLine("note", line))
    return out


def _path(text: str) -> str:
    """The path of a `---`/`+++` line, without the a/ or b/ and what follows a tab."""
    text = text.split("\t", 1)[0].strip()
    return text[2:] if text[:2] in ("a/", "b/") else text


def tally(parsed: list[DiffLine]) -> tuple[int, int]:
    """Lines added and removed."""
    return sum(x.kind == "added" for x in parsed), sum(x.kind == "removed" for x in parsed)
