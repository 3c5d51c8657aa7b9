"""What a write did to a file, as a person reads it: a unified diff with the file's own line numbers.

It goes into a result's data, beside what the model is told: the model knows what it wrote.
"""

from __future__ import annotations

import difflib

PATCH = "patch"
"""The key of a patch, in what an operation answers and in the data of the result."""
MAX_COMPARED = 256 * 1024
"""Characters of both texts together; comparing lines takes time by their square at worst."""
MAX_PATCH = 16 * 1024
"""Characters; a longer one ends with whole lines and says how many are missing."""
CONTEXT_LINES = 2


def patch(path: str, before: str, after: str) -> str:
    """The change of one file, "" when no line differs or the texts are too large to be compared."""
    if before == after or len(before) + len(after) > MAX_COMPARED:
        return ""
    names = (f"a/{path}", f"b/{path}")
    lines = list(difflib.unified_diff(_lines(before), _lines(after), *names, lineterm="", n=CONTEXT_LINES))
    kept, size = 0, 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_PATCH:
            break
        kept += 1
    rest = len(lines) - kept
    return "\n".join([*lines[:kept], *([f"\\ {rest} more lines"] if rest else [])])


def _lines(text: str) -> list[str]:
    """As git counts them: ended by a line feed alone, with nothing after the last."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
