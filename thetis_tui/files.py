"""The files of a project by a few letters of their names: listed by ripgrep, which honours ignore files, matched fuzzily.

Must not know about widgets. Names are anybody's: a line is one name, control characters leave it out of the list.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sysconfig
import time
from pathlib import Path

MOST = 100_000
"""Names kept: of a larger tree those met first."""
STALE = 10.0
"""Seconds after which the list is made anew in the background."""
_LONGEST = 8.0
"""Seconds the listing may take; what came until then counts."""
_QUERY = re.compile(r"(?:^|(?<=\s))@([^\s\"@]{0,200})$")


def asked(before: str) -> str | None:
    """The letters after an @ right before the cursor; None when there is none."""
    found = _QUERY.search(before)
    return found[1] if found else None


class Files:
    """The names below one directory at a time."""

    def __init__(self) -> None:
        self._root = ""
        self._names: list[str] = []
        self._at = float("-inf")
        self._listing: asyncio.Task[list[str]] | None = None

    async def names(self, root: str) -> list[str]:
        """All names below `root`, relative; from memory when they are fresh."""
        if root != self._root:
            self._root, self._names, self._at = root, [], float("-inf")
            if self._listing is not None:
                self._listing.cancel()
                self._listing = None
        if time.monotonic() - self._at > STALE and self._listing is None:
            self._listing = asyncio.get_running_loop().create_task(listed(root))
        if self._listing is not None and (self._listing.done() or not self._names):
            task = self._listing
            self._names, self._at = await asyncio.shield(task), time.monotonic()
            self._listing = None
        return self._names


async def listed(root: str) -> list[str]:
    """What ripgrep lists below `root`; nothing when it is not there."""
    shipped = Path(sysconfig.get_path("scripts")) / "rg"
    program = str(shipped) if shipped.is_file() else shutil.which("rg")
    if program is None or not root:
        return []
    argv = [program, "--no-config", "--no-messages", "--files", "--hidden", "--no-require-git", "-g", "!.git", "--null"]
    quiet = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=root, stdin=quiet, stdout=asyncio.subprocess.PIPE, stderr=quiet)
    except OSError:
        return []  # a worktree that is gone has no files to offer
    out: list[str] = []
    rest = b""
    try:
        async with asyncio.timeout(_LONGEST):
            while process.stdout is not None and len(out) < MOST and (data := await process.stdout.read(1 << 16)):
                *whole, rest = (rest + data).split(b"\0")
                out += [name for raw in whole if (name := raw.decode("utf-8", "replace")).isprintable() and '"' not in name]
    except TimeoutError:
        pass  # a slow disk: what came until now is offered
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return sorted(out, key=lambda name: (name.count("/"), name))


def matching(names: list[str], query: str, most: int = 30) -> list[str]:
    """The names that hold the letters of `query` in order, best first: together before scattered, short before long."""
    if not query:
        return names[:most]
    low = query.casefold()
    # the last place is taken, the shortest there: names end with what they are about
    pattern = re.compile(".*(" + ".*?".join(re.escape(letter) for letter in low) + ")", re.DOTALL)
    scored: list[tuple[tuple[int, int, int, str], str]] = []
    for name in names:
        lowered = name.casefold()
        found = pattern.search(lowered)
        if found is None:
            continue
        base = lowered.rsplit("/", 1)[-1]
        within = pattern.search(base)
        rank = 0 if base.startswith(low) else 1 if low in base else 2 if low in lowered else 3 if within else 4
        found = within or found
        scored.append(((rank, found.end(1) - found.start(1), len(name), name), name))
    scored.sort()
    return [name for _, name in scored[:most]]


async def search(files: Files, root: str, query: str) -> list[str]:
    """The best names below `root` for a few letters; matching is done beside the screen's loop."""
    names = await files.names(root)
    return await asyncio.to_thread(matching, names, query)
