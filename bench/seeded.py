"""Roots with long conversations in them, and a screen on them: what the benches of the screen share."""

from __future__ import annotations

import os
import pty
import queue
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

import pyte
from thetis_kernel.paths import root_paths
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.ids import branch_name, new_session_id
from thetis_kernel.store.store import Store

from tests.support.thetis import World

DEADLINE = 90.0
SIZE = (120, 40)
WORDS = "The parser keeps its stack in a list, and **each node** knows its depth; `parse` walks the tokens once. "


def seed(world: World, *, rounds: int, title: str, model: str = "rehearsal") -> str:
    """A conversation of `rounds` messages and as many answers (4 events each), idle; its id."""
    store = Store.open(root_paths(world.repository, world.environ).data)
    session = new_session_id()
    store.create(session, e.SessionStarted(root=str(world.repository), origin="tui", mode="agent", model=model,
                                           branch=branch_name(session)))
    for first in range(0, rounds, 100):
        bodies: list[e.Body] = []
        for n in range(first, min(rounds, first + 100)):
            usage = e.Usage(input=1000, output=200)
            bodies += [
                e.User(f"Question {n} of {title}: how does it hold?"), e.TurnStarted(f"t{n}", "agent", "rehearsal"),
                e.Assistant([{"type": "text", "text": WORDS * 3 + f"\n\n- answer {n}\n- and more\n"}], "rehearsal", usage=usage,
                            turn=f"t{n}"),
                e.TurnFinished(f"t{n}", "stop", usage=usage, duration_ms=1200),
            ]
        store.append_many(session, bodies).result()
    store.append(session, e.SettingChanged("title", title)).result()
    store.append(session, e.User(f"The end of {title}.")).result()
    store.append(session, e.TurnStarted("last", "agent", "rehearsal")).result()
    store.append(session, e.Assistant([{"type": "text", "text": f"That was {title}."}], "rehearsal", turn="last")).result()
    store.append(session, e.TurnFinished("last", "stop", duration_ms=1)).result()
    store.close()
    return session


class Pty:
    """A program on a pty; a thread reads what it writes, stamped with the time, so that drawing it here costs it nothing."""

    def __init__(self, command: list[str], cwd: Path, environ: dict[str, str]) -> None:
        self.screen = pyte.Screen(*SIZE)
        self._stream = pyte.ByteStream(self.screen)
        self._chunks: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        self.bytes = 0
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], command, {**environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"})
        ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError:
                return
            if not data:
                return
            self._chunks.put((time.perf_counter(), data))

    def type(self, keys: bytes) -> float:
        """Send keys; the moment it was done."""
        at = time.perf_counter()
        os.write(self.fd, keys)
        return at

    def until(self, there: Callable[[], bool], what: str) -> float:
        """Draw until `there`; the moment the bytes came that made it so. Ends the bench with the screen when they never do."""
        end = time.perf_counter() + DEADLINE
        while not there():
            try:
                at, data = self._chunks.get(timeout=max(0.01, end - time.perf_counter()))
            except queue.Empty:
                shown = "\n".join(line.rstrip() for line in self.screen.display if line.strip())
                raise SystemExit(f"never saw {what!r}; the screen shows:\n{shown}") from None
            self.bytes += len(data)
            self._stream.feed(data)
            if there():
                return at
        return time.perf_counter()

    def shows(self, words: str) -> Callable[[], bool]:
        """Whether `words` stand on the screen."""
        return lambda: any(words in line for line in self.screen.display)

    def rest(self, seconds: float) -> None:
        """Take in what comes for a while."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            try:
                _, data = self._chunks.get(timeout=left)
            except queue.Empty:
                return
            self.bytes += len(data)
            self._stream.feed(data)

    def close(self) -> None:
        """End the program and what it started."""
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            return
        end = time.perf_counter() + 10
        while time.perf_counter() < end:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
            time.sleep(0.02)
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    out = [pid]
    for parent in out:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            out += [int(child) for child in task.read_text().split()]
    return out


def pss_mib(pids: list[int]) -> float:
    """What processes hold, shared pages in parts."""
    total = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue  # it ended meanwhile
        total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


def cpu_s(pids: list[int]) -> float:
    """Processor time of processes so far."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def thetis() -> str:
    """The console script of this environment."""
    return str(Path(sys.executable).with_name("thetis"))


