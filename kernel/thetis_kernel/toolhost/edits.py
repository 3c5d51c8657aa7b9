"""Replacing text in a file: exactly once, or everywhere when asked."""

from __future__ import annotations

import difflib
from typing import Any, NamedTuple

from thetis_kernel.toolhost.files import MAX_READ, MAX_WRITE, decode
from thetis_kernel.toolhost.patches import PATCH, patch
from thetis_kernel.toolhost.tree import PathError, Tree


class Changed(NamedTuple):
    """A file's text before and after an edit that was not written yet; `first` is the first changed line."""

    text: str
    replaced: int
    first: int
    before: str


def edit_file(tree: Tree, path: str, old: str, new: str, replace_all: bool) -> dict[str, Any]:
    """Replace `old` by `new`. Line endings of the file are kept. Raises PathError saying what to change in the call."""
    done = changed(tree, path, old, new, replace_all)
    tree.write_text(path, done.text)
    shown = tree.shown(path)
    return {"path": shown, "replaced": done.replaced, "line": done.first, PATCH: patch(shown, done.before, done.text)}


def changed(tree: Tree, path: str, old: str, new: str, replace_all: bool) -> Changed:
    """What `edit_file` would write. Raises PathError saying what to change in the call."""
    if not old:
        raise PathError("old_text is empty.", code="bad-arguments", hint="Give the text to replace, or write the whole file.")
    if old == new:
        raise PathError("old_text and new_text are the same.", code="bad-arguments")
    text, clean = decode(tree.read_bytes(path, MAX_READ), path)
    if not clean:
        raise PathError(f"{path} is not UTF-8 and would be damaged by an edit.", hint="Change it with a command.")
    if old not in text and "\r\n" in text:
        old, new = _crlf(old), _crlf(new)
    count = text.count(old)
    if count == 0:
        raise PathError(f"old_text does not occur in {path}.", code="no-match", hint=_near(text, old))
    if count > 1 and not replace_all:
        lines = [str(text.count("\n", 0, at) + 1) for at in _occurrences(text, old)]
        raise PathError(f"old_text occurs {count} times in {path} (lines {', '.join(lines[:10])}).", code="many-matches",
                        hint="Include more of the surrounding text, or set replace_all.")
    after = text.replace(old, new)
    if len(after) > MAX_WRITE:
        raise PathError(f"{path} would grow past {MAX_WRITE} bytes.")
    return Changed(after, count, text.count("\n", 0, text.index(old)) + 1, text)


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _occurrences(text: str, old: str) -> list[int]:
    places, at = [], text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + len(old))
    return places


def _near(text: str, old: str) -> str:
    """A hint: the place that differs in white space only, or the closest line."""
    squeezed = " ".join(old.split())
    lines = text.splitlines()
    height = max(len(old.splitlines()), 1)
    for start in range(max(len(lines) - height + 1, 1)):
        if " ".join(" ".join(lines[start: start + height]).split()) == squeezed:
            return f"Lines {start + 1}-{start + height} differ from it in white space only; copy them exactly."
    wanted = next((line for line in old.splitlines() if line.strip()), old)
    close = difflib.get_close_matches(wanted, lines[:5000], n=1, cutoff=0.7)
    if close:
        return f"The closest line is {lines.index(close[0]) + 1}: {close[0].strip()[:200]}"
    return "Read the file again; it may have changed."
