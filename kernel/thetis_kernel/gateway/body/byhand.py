"""What a person changed in a conversation's checkout with an editor: which guests lie there, and what differs.

Looks at files only. The checkout is the person's and no agent's (nothing of it is inside the walls), but what stands in it
may be anything: it is read as the gate reads it, and looked at without following links.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from thetis_kernel.errors import GateError
from thetis_kernel.forge.builtin import ASPECTS
from thetis_kernel.forge.diagnostics import diagnostics_of
from thetis_kernel.forge.layout import MANIFEST
from thetis_kernel.forge.manifest import NAME
from thetis_kernel.forge.source import MAX_ENTRIES, read_guest, source_digest
from thetis_kernel.gateway.body.layout import TOOLS

MAX_NAMED = 3
_SUFFIXES = (".py", ".toml", ".json")


def guests_in(worktree: Path) -> set[str]:
    """Aspects whose directory lies in a body's checkout; a tool's counts from its manifest on."""
    found = {aspect for aspect, directory in ASPECTS.items() if _is_directory(worktree / "aspects" / directory)}
    tools = worktree / TOOLS
    if _is_directory(tools):
        names = sorted(os.listdir(tools))
        found |= {f"tool/{name}" for name in names if NAME.fullmatch(name) and (tools / name / MANIFEST).is_file()}
    return found


def revision_of(guest: Path, aspect: str) -> str:
    """The revision a guest's directory is, or what stands for one that cannot be read."""
    try:
        return source_digest(read_guest(guest, aspect))
    except GateError as error:
        return unreadable(error)


def unreadable(error: GateError) -> str:
    """A digest for a directory that is no guest: the same for the same complaints."""
    words = "".join(f"{one.path}:{one.line}: {one.message}\n" for one in diagnostics_of(error))
    return hashlib.sha256(b"thetis-unreadable" + words.encode("utf-8", "replace")).hexdigest()


def changed(before: dict[str, str], after: dict[str, str]) -> str:
    """The files that differ, in a few words."""
    names = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more or "nothing of its own files"


def reason(answer: dict[str, Any]) -> str:
    """Why a verdict is red, in a line: its step and its first place."""
    step = next((one["step"] for one in answer["steps"] if not one["ok"]), "gate")
    places = [f"{one['path']}{':' + str(one['line']) if one['line'] else ''}: {one['message']}" for one in answer["diagnostics"]]
    return f"Refused at {step}: {places[0][:300] if places else 'no reason was given'}"


def signature(worktree: Path) -> str:
    """A digest of names, sizes and times of what may be part of a guest; "" where there is no checkout."""
    if not (worktree / ".git").exists():
        return ""
    digest, entries = hashlib.sha256(), 0
    waiting = [worktree / "aspects", worktree / TOOLS]
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as found:
                listed = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue  # not there, or gone while it was looked at
        for entry in listed:
            entries += 1
            if entries > MAX_ENTRIES:
                return digest.hexdigest()
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                digest.update(os.fsencode(entry.path) + b"/\0")
                waiting.append(Path(entry.path))
            elif entry.name.endswith(_SUFFIXES):
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                digest.update(os.fsencode(entry.path) + f"\0{status.st_size} {status.st_mtime_ns} {status.st_ino}\0".encode())
    return digest.hexdigest()


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
