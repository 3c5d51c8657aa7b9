"""Runs the children that build runtimes, and says how far they are. Must not import wasmtime."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.wasm.build import STEPS
from thetis_kernel.wasm.cache import Cache
from thetis_kernel.wasm.keys import runtime_key

BUILD_MIB = 1_500  # one child's peak with room: 411 MB measured for componentize-py, and about 1 GB for the compiler
POLL_S = 1.0
COMMAND = (sys.executable, "-m", "thetis_kernel.wasm.build")

_DETAIL = 8_000  # characters of a failed build's output kept in the error
_KEPT = ("PATH", "PYTHONPATH", "TMPDIR", "HOME", "LANG", "LC_ALL", "SYSTEMROOT")


class Progress(msgspec.Struct, frozen=True):
    """How far a build is. `step`: waiting, componentize, precompile, done. `done` of `total` steps of all worlds.

    `seconds`: since this world's build began.
    """

    world: str
    step: str
    done: int
    total: int
    seconds: float


class _Child:
    """One world being built: lines of its stdout go to `events` as (child, line), None at its end."""

    def __init__(self, world: str, output: Path, events: queue.Queue[tuple[_Child, str | None]]) -> None:
        self.world, self.output = world, output
        self.step = self.error = self.detail = ""
        self.began = time.monotonic()
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self.process = subprocess.Popen(
            [*COMMAND, world, str(output)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # so that it and componentize-py below it can be stopped together
        )
        threading.Thread(target=self._read, args=(events,), name=f"build-{world}", daemon=True).start()

    def _read(self, events: queue.Queue[tuple[_Child, str | None]]) -> None:
        if self.process.stdout is not None:
            for line in self.process.stdout:
                events.put((self, line))
        self.process.wait()
        events.put((self, None))

    def take(self, line: str) -> None:
        """A line from the child: a step, an error, or noise kept as the error of last resort."""
        try:
            said = json.loads(line)
            self.step = said.get("step", self.step)
            self.error, self.detail = said.get("error", self.error), said.get("detail", self.detail)
        except (ValueError, AttributeError):
            self.error, self.detail = line.strip() or self.error, self.detail + line

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
            self.process.wait()


def build_all(cache: Cache, missing: dict[str, str], progress: Callable[[Progress], None]) -> None:
    """Build {world: key} into `cache`, which the caller has locked. Raises RuntimeBuildError at the first failure."""
    for left in cache.directory.glob(".build-*"):  # of a process that was killed: we hold the lock
        shutil.rmtree(left, ignore_errors=True)
    total, done = len(STEPS) * len(missing), 0
    waiting, running = list(missing), list[_Child]()
    events: queue.Queue[tuple[_Child, str | None]] = queue.Queue()

    def report(child: _Child, step: str) -> None:
        progress(Progress(child.world, step, done + _behind(running), total, time.monotonic() - child.began))

    with tempfile.TemporaryDirectory(dir=cache.directory, prefix=".build-") as scratch:
        try:
            while waiting or running:
                while waiting and (not running or _room_for_another(len(running))):
                    world = waiting.pop(0)
                    running.append(_Child(world, Path(scratch) / f"{world}.cwasm", events))
                try:
                    child, line = events.get(timeout=POLL_S)
                except queue.Empty:
                    for child in running:
                        report(child, child.step or STEPS[0])
                    continue
                if line is not None:
                    child.take(line)
                    report(child, child.step or STEPS[0])
                    continue
                running.remove(child)
                _finish(cache, child, missing[child.world])
                done += len(STEPS)
                report(child, "done")
        finally:
            for child in running:
                child.stop()


def _finish(cache: Cache, child: _Child, key: str) -> None:
    if child.process.returncode or not child.output.is_file():
        raise RuntimeBuildError(
            f"The {child.world} runtime could not be built: {child.error or 'the builder died'}.",
            hint="Check the installation of componentize-py and wasmtime, then run `thetis setup`.",
            world=child.world,
            step=child.step,
            detail=child.detail[-_DETAIL:],
        )
    if runtime_key(child.world) != key:
        raise RuntimeBuildError(
            f"The sources of the {child.world} runtime changed while it was being built.", hint="Run `thetis setup` again."
        )
    cache.store(child.world, key, child.output.read_bytes())
    child.output.unlink()


def _behind(running: list[_Child]) -> int:
    """Steps the running children have completed."""
    return sum(STEPS.index(child.step) for child in running if child.step in STEPS)


def _room_for_another(running: int) -> bool:
    """Whether one more child fits: never more than two, and only with the processors and memory for it."""
    if running >= 2 or (os.cpu_count() or 1) < 2:
        return False
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024 >= 2 * BUILD_MIB
    except (OSError, ValueError):
        pass  # no such file on macOS: one at a time is always right
    return False
