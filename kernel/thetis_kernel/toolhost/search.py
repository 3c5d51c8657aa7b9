"""Searching contents and names with ripgrep: fast, honours ignore files, follows no links, reads no configuration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import threading
from functools import cache
from pathlib import Path
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol import cutting
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.guarded import search_globs
from thetis_kernel.toolhost.tree import PathError, Tree

MAX_RESULTS = 500
DEFAULT_RESULTS = 100
MAX_COLUMNS = 300
MAX_SORTED = 50_000
"""Names a find looks at; of more, those ripgrep met first are sorted."""
SECONDS = 30
"""A search that takes longer is stopped and answers with what it has."""


class SearchError(ThetisError):
    """A search that cannot be run as asked."""

    code = "search"


@cache
def ripgrep() -> str:
    """The ripgrep program that came with the package, else one on PATH. Raises SearchError when there is none."""
    shipped = Path(sysconfig.get_path("scripts")) / "rg"
    found = str(shipped) if shipped.is_file() else shutil.which("rg")
    if not found:
        raise SearchError("ripgrep is not installed.", hint="Reinstall Thetis, or install the ripgrep package.")
    return found


def search_files(context: TurnContext, query: dict[str, Any]) -> dict[str, Any]:
    """{"matches": [{"path", "line", "text"}]} (mode content), {"files": [...]} or {"counts": [{"path", "count"}]}."""
    pattern = _text(query, "pattern")
    mode = query.get("mode") or "content"
    limit = _limit(query)
    arguments = {"content": ["--json", "--max-columns", str(MAX_COLUMNS * 4)], "files": ["--files-with-matches", "--null"],
                 "count": ["--count-matches", "--null"]}.get(mode)
    if arguments is None:
        raise SearchError(f"mode {mode!r} is not one of content, files, count.", code="bad-arguments")
    arguments += [*_glob(query), *search_globs(), "-e", pattern]
    where = _Where(context.tree, str(query.get("path") or "."))
    lines, cut = _run(arguments, where, limit * 3 if mode == "content" else limit, context)
    if mode == "content":
        matches = [m for line in lines if (m := _match(line, where))]
        return {"matches": matches[:limit], "truncated": cut or len(matches) > limit}
    if mode == "files":
        files = [where.shown(line.rstrip(b"\0")) for raw in lines for line in raw.split(b"\0") if line]
        return {"files": files[:limit], "truncated": cut or len(files) > limit}
    counts = []
    for line in lines:
        name, _, number = line.partition(b"\0")
        counts.append({"path": where.shown(name), "count": int(number or 0)})
    return {"counts": counts[:limit], "truncated": cut or len(counts) > limit}


def find_files(context: TurnContext, query: dict[str, Any]) -> dict[str, Any]:
    """{"files": [...], "truncated"}: paths matching a glob, newest first."""
    glob = _text(query, "glob")
    limit = _limit(query)
    where = _Where(context.tree, str(query.get("path") or "."))
    # ripgrep asks /proc whether it can sort by time, and there is none where it runs.
    lines, cut = _run(["--files", "-g", glob], where, MAX_SORTED, context)
    files = [where.shown(line) for line in sorted(filter(None, lines), key=where.age)]
    return {"files": files[:limit], "truncated": cut or len(files) > limit}


class _Where:
    """The directory a search runs in, and how its findings are named."""

    def __init__(self, tree: Tree, path: str) -> None:
        real = tree.real(path)
        self.base, _ = tree.locate(path)
        self.prefix = tree.prefix(self.base)
        self.target = str(real.relative_to(self.base))

    def age(self, raw: bytes) -> tuple[float, bytes]:
        """Sorts names by the time of their last change, newest first; what is gone meanwhile comes last."""
        try:
            return -os.stat(os.fsencode(self.base) + b"/" + raw, follow_symlinks=False).st_mtime, raw
        except (OSError, ValueError):
            return float("inf"), raw

    def shown(self, raw: bytes) -> str:
        return self.prefix + raw.decode("utf-8", "replace").removeprefix("./")


def _text(query: dict[str, Any], key: str) -> str:
    value = query.get(key)
    if not isinstance(value, str) or not value or "\0" in value or len(value) > 4096:
        raise SearchError(f"{key} must be a text of 1 to 4096 characters.", code="bad-arguments")
    return value


def _limit(query: dict[str, Any]) -> int:
    value = query.get("max_results") or DEFAULT_RESULTS
    if not isinstance(value, int) or value < 1:
        raise SearchError("max_results must be a positive number.", code="bad-arguments")
    return min(value, MAX_RESULTS)


def _glob(query: dict[str, Any]) -> list[str]:
    return ["-g", _text(query, "glob")] if query.get("glob") else []


def _match(line: bytes, where: _Where) -> dict[str, Any] | None:
    try:
        item = json.loads(line)
    except ValueError:
        return None
    if item.get("type") != "match":
        return None
    data = item["data"]
    name = data["path"].get("text")
    raw = name.encode("utf-8", "replace") if name is not None else b"(name is not UTF-8)"
    text = (data["lines"].get("text") or "").rstrip("\r\n")
    return {"path": where.shown(raw), "line": data["line_number"], "text": cutting.head(text, MAX_COLUMNS)}


def _run(arguments: list[str], where: _Where, limit: int, context: TurnContext) -> tuple[list[bytes], bool]:
    """(output lines, whether it was cut). Raises SearchError with ripgrep's own complaint, as for a bad pattern.

    ripgrep opens files by name, in a tree others may be changing, so it runs where nothing but that tree can be read.
    """
    cancel = context.cancelled
    command = [ripgrep(), "--no-config", "--hidden", "-g", "!.git", "--no-messages", "--color=never", "--no-follow",
               *arguments, "--", where.target]
    child = subprocess.Popen(context.reading(where.base, command), cwd=where.base, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PATH": os.defpath, "LANG": "C.UTF-8"})
    stopped = threading.Event()

    def watch() -> None:
        waited = 0.0
        while child.poll() is None and not stopped.is_set():
            if cancel.wait(0.1) or (waited := waited + 0.1) > SECONDS:
                child.kill()
                return

    threading.Thread(target=watch, daemon=True, name="search-watch").start()
    lines: list[bytes] = []
    cut = False
    out, complaints = child.stdout, child.stderr
    if out is None or complaints is None:
        raise SearchError("ripgrep could not be started.")
    with out, complaints:
        for line in out:
            lines.append(line.rstrip(b"\n"))
            if len(lines) > limit:
                cut = True
                child.kill()
                break
        complaint = b"" if cut else complaints.read(4096)
    stopped.set()
    status = child.wait()
    if status == 2 and not lines:
        reason = complaint.decode("utf-8", "replace").strip().removeprefix("rg: ")
        raise SearchError(f"The search cannot be run: {reason[:500]}", code="bad-arguments")
    if status < 0 and not cut:
        if cancel.is_set():
            raise PathError("The search was stopped.", code="cancelled")
        cut = True
    return lines, cut
