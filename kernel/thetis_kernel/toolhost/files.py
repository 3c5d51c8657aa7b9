"""Reading, listing and writing files of the checkout and the workspace."""

from __future__ import annotations

import os
import stat
from typing import Any

from thetis_kernel.errors import Refused
from thetis_kernel.protocol import cutting
from thetis_kernel.toolhost.patches import MAX_COMPARED, PATCH, patch
from thetis_kernel.toolhost.tree import PathError, Tree

MAX_READ = 64 * 1024 * 1024
MAX_WRITE = 4 * 1024 * 1024
MAX_WHOLE = 4 * 1024 * 1024
"""Of a file a tool guest takes in at once; an import's answer holds 8 MiB."""
DEFAULT_LINES = 2000
MAX_LINE = 2000
MAX_TEXT = 40 * 1024
"""Bytes of text one read returns; a longer file is read in parts by offset."""
MAX_ENTRIES = 1000


def decode(data: bytes, path: str) -> tuple[str, bool]:
    """(text, whether it was valid UTF-8). Raises PathError for binary data (a NUL in the first 8 KiB, as git judges)."""
    if b"\0" in data[:8192]:
        raise PathError(f"{path} is a binary file of {len(data)} bytes.", code="binary",
                        hint="Use a command to look into it.")
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), False


def _cut_line(line: str) -> str:
    kept = cutting.head(line, MAX_LINE)
    return f"{kept} [... {len(line) - len(kept)} more characters]"


def read_file(tree: Tree, path: str, offset: int, limit: int) -> dict[str, Any]:
    """Lines of a text file from line `offset` (1-based), at most `limit` (0: DEFAULT_LINES) and MAX_TEXT bytes."""
    if limit < 0:
        raise PathError("A limit is not negative.", code="bad-arguments", hint="Leave it out for the default.")
    text, clean = decode(tree.read_bytes(path, MAX_READ), path)
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    first = max(offset, 1)
    if lines and first > len(lines):
        raise PathError(f"{path} has {len(lines)} lines; line {first} is past its end.", hint="Use a smaller offset.")
    kept: list[str] = []
    size = 0
    for line in lines[first - 1: first - 1 + (limit or DEFAULT_LINES)]:
        shown = line.rstrip("\r")
        shown = shown if len(shown) <= MAX_LINE else _cut_line(shown)
        size += len(shown.encode("utf-8", "replace")) + 1
        if size > MAX_TEXT and kept:
            break
        kept.append(shown)
    result: dict[str, Any] = {
        "path": tree.shown(path),
        "text": "\n".join(kept),
        "first": first,
        "lines": len(kept),
        "total": len(lines),
        "truncated": first - 1 + len(kept) < len(lines),
    }
    if not clean:
        result["note"] = "not valid UTF-8; undecodable bytes are shown as U+FFFD"
    return result


def read_whole(tree: Tree, path: str) -> str:
    """All of a text file as it is, at most MAX_WHOLE bytes; undecodable bytes become U+FFFD."""
    return decode(tree.read_bytes(path, MAX_WHOLE), path)[0]


def write_file(tree: Tree, path: str, contents: str) -> dict[str, Any]:
    """Replace or create a file; parents are made. What was replaced is answered as a patch where it is text."""
    data = contents.encode("utf-8", "replace")
    if len(data) > MAX_WRITE:
        raise PathError(f"{len(data)} bytes are more than the {MAX_WRITE} one write may hold.", hint="Write it in parts.")
    before = _before(tree, path)
    created = tree.write_text(path, contents)
    shown = tree.shown(path)
    changes = {} if created or before is None else {PATCH: patch(shown, before, contents)}
    return {"path": shown, "bytes": len(data), "created": created, **changes}


def _before(tree: Tree, path: str) -> str | None:
    """The text a write would replace; None where there is none to compare with. Whether it may be written is not asked here."""
    try:
        text, clean = decode(tree.read_bytes(path, MAX_COMPARED), path)
    except (PathError, Refused):
        return None
    return text if clean else None


def list_dir(tree: Tree, path: str) -> dict[str, Any]:
    """The entries of a directory, directories first, then by name; `.git` is left out."""
    fd = tree.open(path)
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            raise PathError(f"{path} is not a directory.", hint="Read it instead.")
        entries = []
        with os.scandir(fd) as found:
            for entry in found:
                if entry.name == ".git":
                    continue
                entries.append(_entry(entry, fd))
    finally:
        os.close(fd)
    entries.sort(key=lambda e: (e["kind"] != "dir", e["name"]))
    return {"path": tree.shown(path), "entries": entries[:MAX_ENTRIES], "total": len(entries),
            "truncated": len(entries) > MAX_ENTRIES}


def _entry(entry: os.DirEntry[str], fd: int) -> dict[str, Any]:
    name = entry.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if entry.is_symlink():
        target = os.readlink(entry.name, dir_fd=fd)
        return {"name": name, "kind": "link", "size": 0, "target": target.encode("utf-8", "replace").decode("utf-8")}
    if entry.is_dir(follow_symlinks=False):
        return {"name": name, "kind": "dir", "size": 0}
    if entry.is_file(follow_symlinks=False):
        return {"name": name, "kind": "file", "size": entry.stat(follow_symlinks=False).st_size}
    return {"name": name, "kind": "other", "size": 0}
