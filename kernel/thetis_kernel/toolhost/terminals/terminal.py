"""One terminal: a shell in the walls, one command at a time, and a thread that listens to it.

Owns what callers do with it: open, run, wait, look, type, signal, close; and starting a new shell where the old one has ended.
A caller that waits holds no lock, and nobody holds one while writing to a program.
Must not know: what a boundary is (the opener's part), the other terminals, the log.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thetis_kernel.errors import ThetisError, WallError
from thetis_kernel.toolhost.terminals import shell
from thetis_kernel.toolhost.terminals.listening import CHUNK, ORDER_WITHIN_S, SIZE, Listener, write
from thetis_kernel.toolhost.terminals.run import Run, Watch
from thetis_kernel.toolhost.terminals.sessions import Session
from thetis_kernel.walls import scratch

_READY_WITHIN_S = 20.0
_TYPE_WITHIN_S = 2.0

Opener = Callable[[Path, tuple[int, int]], Session]
"""(private directory, columns and rows) -> a session of shell.program or shell.remote_program; raises WallError, SshError."""


class TerminalError(ThetisError):
    """What was asked of a terminal cannot be done now; the message says why."""

    code = "terminal"


class Terminal(Listener):
    """A terminal named `identifier`, on the machine `host` ("": this one). `ended(terminal, run)` is called, from a thread of its
    own, after a background command; `lost(terminal, why)` when its machine is gone while nobody looks."""

    def __init__(
        self, identifier: str, name: str, opener: Opener, ended: Callable[[Terminal, Run], None], *, host: str = "",
        lost: Callable[[Terminal, str], None] | None = None,
    ) -> None:
        super().__init__()
        self.id = identifier
        self.name = name
        self.host = host
        self._tell_lost = lost
        self.used = time.monotonic()
        self._opener = opener
        self._ended = ended
        self._place = scratch.create()
        self._claimed = False
        self._window = SIZE
        self._numbers = self._idle_group = self._starts = self._watchers = 0

    # What callers do

    def open(self, environment: dict[str, str]) -> list[str]:
        """Start the shell with these variables; notes about it. Raises WallError."""
        with self._lock:
            notes = self._ensure()
        if environment:
            words = " ".join(f"{name}={_quoted(value)}" for name, value in environment.items())
            self.run(f"export {words}", background=False, timeout_s=_READY_WITHIN_S)
        return notes

    def run(
        self,
        text: str,
        *,
        background: bool,
        timeout_s: float,
        spill: Path | None = None,
        watch: Watch | None = None,
        stop: threading.Event | None = None,
        told: bool = True,
    ) -> Run:
        """Run one command; returns when it has ended, or at once in the background. Raises TerminalError when busy.

        `told`: its end in the background is told, as it would be of what an agent began.
        """
        with self._lock:
            if self._claimed or self.busy:
                raise TerminalError(
                    f"Terminal {self.id} is busy with {_short(self._run.text if self._run else text)!r}.",
                    code="terminal-busy",
                    hint="Read it, send to it or signal it, or open another terminal.",
                )
            self._claimed = True
            try:
                run = self._begun(text, background, timeout_s, spill, watch)
                run.told = told
                commands = os.dup(self._live().commands)
            finally:
                self._claimed = False
        try:
            write(commands, shell.line(run.number, run.nonce, text, background), _TYPE_WITHIN_S)
        finally:
            os.close(commands)
        self._wake()
        if not background:
            self._await_end(run, stop)
        return run

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Within: somebody will look before leaving, so an end needs no telling."""
        with self._lock:
            self._watchers += 1
        try:
            yield
        finally:
            with self._lock:
                self._watchers -= 1

    def wait(self, seconds: float, stop: threading.Event, *, quiet_s: float = 0.0) -> None:
        """Until the command has ended or `seconds` are over; with `quiet_s` also once something came and then nothing."""
        begun = time.monotonic()
        until = begun + seconds
        with self._lock:
            while (run := self._run) is not None and not run.done and not stop.is_set():
                now = time.monotonic()
                if now >= until or (quiet_s and self._heard_at > begun and now - self._heard_at >= quiet_s):
                    return
                self._lock.wait(min(until - now, 0.05))

    def look(self) -> dict[str, Any]:
        """What was written since the last look, the screen where a program draws one, and how the command stands."""
        with self._lock:
            self.used = now = time.monotonic()
            run = self._run
            found: dict[str, Any] = {"running": run is not None and not run.done, "cwd": self.cwd}
            if run is None:
                return found
            found |= {"command": run.text, "new_output": run.unread(), "since_ms": run.result(now)["duration_ms"]}
            if run.done:
                found["ended"] = run.result(now)
            elif run.moves:
                lines, row, column = self._screen.lines()
                found |= {"screen": "\n".join(lines), "cursor": [row + 1, column + 1]}
            if notes := run.trouble():
                found["notes"] = notes
            return found

    def type(self, data: bytes) -> None:
        """Give the running command input, as if typed. Raises TerminalError when nothing runs or nothing is read."""
        with self._lock:
            run, session = self._running("There is nobody to type to")
            if not run.background:
                raise TerminalError("The running command has no input.", hint="Run it in the background to talk to it.")
            master = os.dup(session.master)
        try:
            taken = write(master, data, _TYPE_WITHIN_S)
        finally:
            os.close(master)
        if taken < len(data):
            raise TerminalError(
                f"The program does not read its input: {taken} of {len(data)} bytes were taken.",
                hint="Look at it with terminal_read, or signal it.",
            )

    def signal(self, number: int) -> None:
        """Send a signal to the command: its foreground for what keys send, else all of its processes."""
        with self._lock:
            run, session = self._running("There is nothing to signal", leftovers=True)
            if run.done:
                session.order("end" if number == signal.SIGKILL else f"signal {number}")
                return
            if number == signal.SIGKILL:
                self._end()
                return
            # before its shell has the foreground, the keys would reach the driver, which takes no notice
            until = time.monotonic() + _TYPE_WITHIN_S
            while self.busy and not session.is_started(self._idle_group) and time.monotonic() < until:
                self._lock.wait(0.01)
            try:
                session.press(number)
            except OSError:  # not one of the three that a terminal knows
                session.order(f"signal {number}")

    def resize(self, columns: int, rows: int) -> None:
        """The window it is looked at in has another size: programs are told."""
        with self._lock:
            if (columns, rows) == self._window:
                return
            self._window = (columns, rows)
            if self._session is not None:
                self._session.resize(columns, rows)
            self._screen.resize(columns, rows)
        self.live.resize(columns, rows)

    @property
    def typeable(self) -> bool:
        """Whether keys reach somebody."""
        run = self._run
        return run is not None and not run.done and run.background

    def standing(self) -> dict[str, Any]:
        """The terminal in a few words."""
        with self._lock:
            run = self._run
            running = run is not None and not run.done
            found: dict[str, Any] = {"terminal": self.id, "name": self.name, "cwd": self.cwd, "running": running}
            if self.host:
                found["host"] = self.host
            if run is not None:
                found["command"] = _short(run.text)
                if running:
                    found["since_ms"] = run.result(time.monotonic())["duration_ms"]
                else:
                    found["exit_code"] = run.code
                if run.left:
                    found["left"] = run.left
            return found

    def close(self) -> None:
        """End everything in the terminal; afterwards it is gone. Blocks until that is so."""
        with self._lock:
            self._closing = True
            thread = self._thread
        self._wake()
        if thread is not None:
            thread.join()
        self._unlisten()
        scratch.remove(self._place)

    # Under the lock

    def _begun(self, text: str, background: bool, timeout_s: float, spill: Path | None, watch: Watch | None) -> Run:
        notes = self._ensure()
        session = self._live()
        self._order(session, "mark")
        now = time.monotonic()
        self._numbers += 1
        run = Run(
            self._numbers, text, background=background, started=now, deadline=now + timeout_s, spill=spill, watch=watch
        )
        run.notes += notes
        session.restore_modes()
        self._begin(run)
        return run

    def _finished(self, run: Run) -> None:
        if run.background and run.told and not self._watchers and not self._closing:
            threading.Thread(target=self._ended, args=(self, run), daemon=True, name=f"ended-{self.id}").start()

    def _lost(self, why: str) -> None:
        if self._tell_lost is not None and not self._watchers and not self._closing:
            threading.Thread(target=self._tell_lost, args=(self, why), daemon=True, name=f"lost-{self.id}").start()

    def _ensure(self) -> list[str]:
        """Have a live session; sentences about what that took."""
        self.used = time.monotonic()
        if self._closing:
            raise TerminalError(f"Terminal {self.id} is closed.", hint="Open another one.")
        if self._session is not None:
            return []
        session = self._opener(self._place, self._window)
        try:
            self._await_ready(session)
        except BaseException:
            session.close()
            raise
        self._starts += 1
        self._attend(session)
        notes = [session.note] if session.note else []
        if self._starts > 1:
            notes.append(
                f"Its shell on {self.host} had ended, so a new one was started there: directory and variables are gone."
                if self.host
                else "Its shell had ended, so a new one was started: what ran in the background is gone; directory and "
                "variables are as the last command that ended by itself left them."
            )
        return notes

    def _await_ready(self, session: Session) -> None:
        poll = select.poll()
        poll.register(session.reports, select.POLLIN)
        said, until = b"", time.monotonic() + _READY_WITHIN_S
        while b"\n" not in said:
            remaining = until - time.monotonic()
            if remaining <= 0 or not poll.poll(remaining * 1000):
                raise WallError("The terminal's shell did not start in time.", code="walls-setup")
            piece = os.read(session.reports, CHUNK)
            if not piece:
                raise WallError("The terminal's shell ended before it was ready.", code="walls-setup")
            said += piece
        self._reports = b""
        self._idle_group = session.foreground()

    def _live(self) -> Session:
        if self._session is None:
            raise TerminalError(f"Terminal {self.id} has no shell any more.", hint="The next command starts one.")
        return self._session

    def _running(self, what: str, *, leftovers: bool = False) -> tuple[Run, Session]:
        run = self._run
        if run is None or (run.done and not (leftovers and run.left)):
            raise TerminalError(
                f"{what}: no command runs in terminal {self.id}.", hint="Run one in the background first."
            )
        self.used = time.monotonic()
        return run, self._live()

    def _order(self, session: Session, line: str) -> None:
        """Send "mark" and wait for its answer; the lock is free meanwhile."""
        self._marked = False
        session.order(line)
        self._wake()
        if (
            not self._lock.wait_for(lambda: self._marked or self._session is not session, ORDER_WITHIN_S)
            or not self._marked
        ):
            raise TerminalError(f"Terminal {self.id} does not answer.", hint="Close it and open another one.")

    def _await_end(self, run: Run, stop: threading.Event | None) -> None:
        with self._lock:
            while not run.done:
                if stop is not None and stop.is_set() and not run.cancelled and not run.timed_out:
                    run.cancelled = True
                    self._end()
                self._lock.wait(0.05)


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def _short(text: str) -> str:
    first = text.strip().partition("\n")[0]
    return first if len(first) <= 80 and first == text.strip() else f"{first[:79]}…"
