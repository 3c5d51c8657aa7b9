"""`thetis setup`: build the guest runtimes, once for this machine, with progress one can watch."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

import msgspec

from thetis_kernel.cli.printing import say
from thetis_kernel.wasm.runtimes import WORLDS, Progress, ensure_runtimes


def setup(arguments: argparse.Namespace) -> int:
    """Build what is missing."""
    started = time.monotonic()

    def as_json(progress: Progress) -> None:
        print(msgspec.json.encode(progress).decode(), flush=True)

    ensure_runtimes(WORLDS, progress=as_json if arguments.json else _Bar().show)
    from thetis_kernel.gateway.prepare import prepare

    guests = asyncio.run(prepare())
    if not arguments.json:
        print(f"The guest runtimes and {guests} guests are ready ({time.monotonic() - started:.1f} s).")
    return 0


def ensure_built(*, quiet: bool) -> None:
    """Make sure of the runtimes before a turn; says so only when there is something to build."""
    ensure_runtimes(WORLDS, progress=(lambda _: None) if quiet else _Bar().show)


class _Bar:
    """One line on standard error, rewritten in place on a terminal."""

    def __init__(self) -> None:
        self._announced = False
        self._shown: set[str] = set()

    def show(self, progress: Progress) -> None:
        """A step began or ended."""
        if not self._announced:
            self._announced = True
            say("Building the guest runtimes, once for this machine (about a minute and a half)...")
        filled = int(24 * progress.done / max(progress.total, 1))
        line = f"[{'#' * filled}{'.' * (24 - filled)}] {progress.done}/{progress.total} {progress.world} {progress.step}"
        if sys.stderr.isatty():
            end = "\n" if progress.done == progress.total else ""
            sys.stderr.write(f"\r{line:<70}{end}")
            sys.stderr.flush()
        elif line not in self._shown:  # progress also ticks while nothing new happens, for two worlds by turns
            say(line)
        self._shown.add(line)
