"""`thetis setup`: build the guest runtimes, once for this machine, with progress one can watch."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import time

import msgspec

from thetis_kernel.cli.printing import say
from thetis_kernel.wasm.runtimes import WORLDS, Progress, ensure_runtimes


def setup(arguments: argparse.Namespace) -> int:
    """Build what is missing, and judge again what conversations of the root around here changed."""
    started = time.monotonic()

    def as_json(progress: Progress) -> None:
        print(msgspec.json.encode(progress).decode(), flush=True)

    ensure_runtimes(WORLDS, progress=as_json if arguments.json else _Bar().show)
    from thetis_kernel.gateway.prepare import prepare

    guests = asyncio.run(prepare())
    if not arguments.json:
        print(f"The guest runtimes and {guests} guests are ready ({time.monotonic() - started:.1f} s).")
    from thetis_kernel.cli.rejudging import rejudge

    rejudge(arguments)
    return 0


def ensure_built(*, quiet: bool) -> None:
    """Make sure of the runtimes before a turn; says so only when there is something to build."""
    ensure_runtimes(WORLDS, progress=(lambda _: None) if quiet else _Bar().show)


_DOING = {"componentize": "building", "precompile": "compiling"}


class _Bar:
    """What is being done now, in one line on standard error, rewritten in place on a terminal.

    Two runtimes may be built at once; their progress comes by turns, also while nothing new happens.
    """

    def __init__(self) -> None:
        self._announced = False
        self._shown: set[str] = set()
        self._running: dict[str, Progress] = {}
        self._started = time.monotonic()

    def show(self, progress: Progress) -> None:
        """A step began, goes on, or ended."""
        if not self._announced:
            self._announced = True
            say("Building the guest runtimes, once for this machine (about a minute and a half when idle)...")
        if progress.step == "done":
            self._running.pop(progress.world, None)
        elif progress.step in _DOING:
            self._running[progress.world] = progress
        filled = int(24 * progress.done / max(progress.total, 1))
        steps = f"[{'#' * filled}{'.' * (24 - filled)}] {progress.done}/{progress.total}"
        if sys.stderr.isatty():
            doing = ", ".join(f"{_DOING[one.step]} {one.world}" for one in self._running.values())
            line = f"{steps}  {time.monotonic() - self._started:3.0f} s  {doing}"
            width = shutil.get_terminal_size().columns - 1
            end = "\n" if progress.done == progress.total else ""
            sys.stderr.write(f"\r{line[:width]:<{width}}{end}")
            sys.stderr.flush()
        elif progress.step in _DOING or progress.step == "done":
            what = f"{progress.world} done" if progress.step == "done" else f"{_DOING[progress.step]} {progress.world}"
            line = f"{steps} {what}"
            if line not in self._shown:
                say(line)
            self._shown.add(line)
