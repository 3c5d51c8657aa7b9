"""Whether a root's log verifies, and what lies on disk that no conversation owns. Changes nothing."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from thetis_kernel.gateway.log import Log
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol.care import StoreReport
from thetis_kernel.protocol.ids import short
from thetis_kernel.store.connection import sqlite_version


async def check_store(log: Log, paths: RootPaths) -> StoreReport:
    """Every chain, one after the other; the gateway serves meanwhile."""
    rows = await asyncio.to_thread(log.store.sessions)
    damaged, events = [], 0
    for row in rows:
        verdict = await asyncio.to_thread(log.store.verify, row.id)
        events += verdict.last_seq - row.first_seq + 1
        if not verdict.sound:
            damaged.append(f"{short(row.id)} is good up to event {verdict.good_seq} of {verdict.last_seq}: {verdict.detail}.")
    known = {short(row.id) for row in rows}
    orphans = await asyncio.to_thread(_orphans, paths, known)
    return StoreReport(sqlite=sqlite_version(), conversations=len(rows), events=events, damaged=damaged, orphans=orphans)


def _orphans(paths: RootPaths, known: set[str]) -> list[str]:
    """Directories of conversations that are no more."""
    found = []
    for place, prefix, what in ((paths.worktrees, "conv-", "a worktree"), (paths.spill, "", "long outputs"),
                                (paths.bodies, "conv-", "a checkout of guests")):
        for each in _directories(place):
            name = each.name
            if not name.startswith(".") and name.startswith(prefix) and name[len(prefix):] not in known:
                found.append(f"{each} is {what} of a conversation that is no more ({size_of(each) >> 10} KiB).")
    return found


def _directories(place: Path) -> list[Path]:
    try:
        return sorted(each for each in place.iterdir() if each.is_dir() and not each.is_symlink())
    except OSError:
        return []


def size_of(place: Path) -> int:
    """Bytes on disk below a directory, links not followed; what goes away meanwhile does not count."""
    total = 0
    stack = [os.fspath(place)]
    while stack:
        try:
            with os.scandir(stack.pop()) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            stack.append(entry.path)
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                    except OSError:
                        continue
        except OSError:
            continue
    return total
