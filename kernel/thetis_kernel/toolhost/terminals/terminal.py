"""One terminal: a shell in the walls, one command at a time, and a thread that listens to it.

Owns the session, the state of the running command and every way it can end: by itself, by its time, by a stop, with its
shell, with the terminal. The listening thread alone reads the session's descriptors and closes them; callers change state
under the lock and wake it. A caller that waits holds no lock, and nobody holds one while writing to a program.
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
from thetis_kernel.toolhost.terminals.run import Run, Watch
from thetis_kernel.toolhost.terminals.screen import Screen
from thetis_kernel.walls import scratch
from thetis_kernel.walls.session import Session

SIZE = (100, 30)
"""Columns and rows: what programs lay out well and a model reads without wrapping."""
_ORDER_WITHIN_S = 10.0  # a walk over /proc on a loaded machine
_READY_WITHIN_S = 20.0
_MARK_WITHIN_S = 1.0  # between the report of an end and the last output before it
_HEAL_AFTER_S = 0.3  # of that: held back by a stopped terminal, so let it go
_LOST_AFTER_S = 10.0  # a command was killed and its driver does not say so: it is the driver that is stuck
_QUIET_S = 0.1
_TYPE_WITHIN_S = 2.0
_CHUNK = 65536
_STOPPED = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

Opener = Callable[[Path, tuple[int, int]], Session]
"""(private directory, columns and rows) -> a session running shell.program; raises WallError."""


class TerminalError(ThetisError):
    """What was asked of a terminal cannot be done now; the message says why."""

    code = "terminal"


class Terminal:
    """A terminal named `identifier`. `ended(terminal, run)` is called, from a thread of its own, after a background command."""

    def __init__(self, identifier: str, name: str, opener: Opener, ended: Callable[[Terminal, Run], None]) -> None:
        self.id = identifier
        self.name = name
        self.used = time.monotonic()
        self._opener = opener
        self._ended = ended
        self._lock = threading.Condition()
        self._place = scratch.create()
        self._session: Session | None = None
        self._thread: threading.Thread | None = None
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self._run: Run | None = None
        self._numbers = 0
        self._screen = Screen(*SIZE)
        self._reports = b""
        self._claimed = self._marked = self._counting = False
        self._ending_since = 0.0
        self._reported_at = self._heard_at = 0.0
        self._healed = False
        self._idle_group = 0
        self._starts = self._watchers = 0
        self._closing = False
        self.cwd = ""

    # What callers do

    def open(self, environment: dict[str, str]) -> list[str]:
        """Start the shell with these variables; notes about it. Raises WallError."""
        with self._lock:
            notes = self._ensure()
        if environment:
            words = " ".join(f"{name}={_quoted(value)}" for name, value in environment.items())
            self.run(f"export {words}", background=False, timeout_s=_READY_WITHIN_S)
        return notes

    def run(self, text: str, *, background: bool, timeout_s: float, spill: Path | None = None, watch: Watch | None = None,
            stop: threading.Event | None = None) -> Run:
        """Run one command; returns when it has ended, or at once in the background. Raises TerminalError when busy."""
        with self._lock:
            if self._claimed or self.busy:
                raise TerminalError(
                    f"Terminal {self.id} is busy with {_short(self._run.text if self._run else text)!r}.", code="terminal-busy",
                    hint="Read it, send to it or signal it, or open another terminal.")
            self._claimed = True
            try:
                run = self._begun(text, background, timeout_s, spill, watch)
                commands = os.dup(self._live().commands)
            finally:
                self._claimed = False
        try:
            _write(commands, shell.line(run.number, run.nonce, text, background), _TYPE_WITHIN_S)
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
            taken = _write(master, data, _TYPE_WITHIN_S)
        finally:
            os.close(master)
        if taken < len(data):
            raise TerminalError(f"The program does not read its input: {taken} of {len(data)} bytes were taken.",
                                hint="Look at it with terminal_read, or signal it.")

    def signal(self, number: int) -> None:
        """Send a signal to the command: its foreground for what keys send, else all of its processes."""
        with self._lock:
            run, session = self._running("There is nothing to signal", leftovers=True)
            if run.done:
                session.order(f"signal {number}")
                return
            # before its shell has the foreground, the keys would reach the driver, which takes no notice
            until = time.monotonic() + _TYPE_WITHIN_S
            while self.busy and session.foreground() == self._idle_group and time.monotonic() < until:
                self._lock.wait(0.01)
            try:
                session.press(number)
            except OSError:  # not one of the three that a terminal knows
                session.order(f"signal {number}")

    def standing(self) -> dict[str, Any]:
        """The terminal in a few words."""
        with self._lock:
            run = self._run
            running = run is not None and not run.done
            found: dict[str, Any] = {"terminal": self.id, "name": self.name, "cwd": self.cwd, "running": running}
            if run is not None:
                found["command"] = _short(run.text)
                if running:
                    found["since_ms"] = run.result(time.monotonic())["duration_ms"]
                else:
                    found["exit_code"] = run.code
                if run.left:
                    found["left"] = run.left
            return found

    @property
    def busy(self) -> bool:
        """Whether a command runs."""
        run = self._run
        return run is not None and not run.done

    def close(self) -> None:
        """End everything in the terminal; afterwards it is gone. Blocks until that is so."""
        with self._lock:
            self._closing = True
            thread = self._thread
        self._wake()
        if thread is not None:
            thread.join()
        with self._lock:
            if self._waker >= 0:
                os.close(self._waker)
                os.close(self._woken)
                self._waker = self._woken = -1
        scratch.remove(self._place)

    # Under the lock

    def _begun(self, text: str, background: bool, timeout_s: float, spill: Path | None, watch: Watch | None) -> Run:
        notes = self._ensure()
        session = self._live()
        self._order(session, "mark")
        now = time.monotonic()
        self._numbers += 1
        run = Run(self._numbers, text, background=background, started=now, deadline=now + timeout_s, spill=spill, watch=watch)
        run.notes += notes
        session.restore_modes()
        self._screen.clear()
        self._ending_since = self._reported_at = 0.0
        self._counting = self._healed = False
        self._run = run
        return run

    def _ensure(self) -> list[str]:
        """Have a live session; sentences about what that took."""
        self.used = time.monotonic()
        if self._closing:
            raise TerminalError(f"Terminal {self.id} is closed.", hint="Open another one.")
        if self._session is not None:
            return []
        session = self._opener(self._place, SIZE)
        try:
            self._await_ready(session)
        except BaseException:
            session.close()
            raise
        self._starts += 1
        self._session = session
        self._thread = threading.Thread(target=self._listen, args=(session,), daemon=True, name=f"terminal-{self.id}")
        self._thread.start()
        notes = [session.note] if session.note else []
        if self._starts > 1:
            notes.append("Its shell had ended, so a new one was started: what ran in the background is gone; directory and "
                         "variables are as the last command that ended by itself left them.")
        return notes

    def _await_ready(self, session: Session) -> None:
        poll = select.poll()
        poll.register(session.reports, select.POLLIN)
        said, until = b"", time.monotonic() + _READY_WITHIN_S
        while b"\n" not in said:
            remaining = until - time.monotonic()
            if remaining <= 0 or not poll.poll(remaining * 1000):
                raise WallError("The terminal's shell did not start in time.", code="walls-setup")
            piece = os.read(session.reports, _CHUNK)
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
            raise TerminalError(f"{what}: no command runs in terminal {self.id}.", hint="Run one in the background first.")
        self.used = time.monotonic()
        return run, self._live()

    def _order(self, session: Session, line: str) -> None:
        """Send "mark" and wait for its answer; the lock is free meanwhile."""
        self._marked = False
        session.order(line)
        self._wake()
        if not self._lock.wait_for(lambda: self._marked or self._session is not session, _ORDER_WITHIN_S) or not self._marked:
            raise TerminalError(f"Terminal {self.id} does not answer.", hint="Close it and open another one.")

    def _await_end(self, run: Run, stop: threading.Event | None) -> None:
        with self._lock:
            while not run.done:
                if stop is not None and stop.is_set() and not run.cancelled and not run.timed_out:
                    run.cancelled = True
                    self._end()
                self._lock.wait(0.05)

    def _end(self) -> None:
        """Have the helper kill the command."""
        if self._session is not None and not self._ending_since:
            self._ending_since = time.monotonic()
            self._session.order("end")
            self._wake()

    def _wake(self) -> None:
        if self._waker >= 0:
            try:
                os.write(self._waker, b"x")
            except BlockingIOError:
                pass  # it is being woken already

    # The listening thread

    def _listen(self, session: Session) -> None:
        poll = select.poll()
        for fd in (session.master, session.reports, session.status, self._woken):
            poll.register(fd, select.POLLIN)
        trouble = ""
        while not trouble:
            with self._lock:
                wait_s = self._next_look()
            for fd, _ in poll.poll(None if wait_s is None else max(0.0, wait_s) * 1000):
                if fd == self._woken:
                    os.read(self._woken, _CHUNK)
                elif not self._hear(session, fd):
                    poll.unregister(fd)
            with self._lock:
                trouble = self._advance(session)
        self._gone(session, trouble)

    def _hear(self, session: Session, fd: int) -> bool:
        """Read what there is; False when no more will come."""
        if fd == session.status:
            with self._lock:
                for line in session.said():
                    self._answered(line)
            return not session.ended
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:  # nobody has the terminal open any more
            return False
        with self._lock:
            if fd == session.reports:
                self._reported(data)
            else:
                self._heard(session, data)
        return bool(data)

    def _heard(self, session: Session, data: bytes) -> None:
        self._heard_at = time.monotonic()
        run = self._run
        if run is None or run.done:
            return  # of background processes, between commands
        before = run.heard(data)
        if run.background:
            answer = self._screen.feed(before)
            if answer:
                _write(session.master, answer, 0.0)
        self._lock.notify_all()

    def _reported(self, data: bytes) -> None:
        *lines, self._reports = (self._reports + data)[-_CHUNK:].split(b"\n")
        for line in lines:
            report = shell.report(line)
            if report is not None and self._run is not None and report.number == self._run.number:
                self._run.report = report
                self._reported_at = time.monotonic()
                self.cwd = report.cwd

    def _answered(self, line: dict[str, Any]) -> None:
        run = self._run
        if line.get("answer") == "mark":
            self._marked = True
        elif line.get("answer") == "count" and run is not None:
            run.left = line["count"]
            if self._counting:
                self._finish(run)
        elif line.get("event") == "threads" and run is not None:
            run.crowded = True
            self._ending_since = self._ending_since or time.monotonic()
        self._lock.notify_all()

    def _next_look(self) -> float | None:
        """Seconds until something has to be done though nothing happens; None: never."""
        run, now = self._run, time.monotonic()
        if run is None or run.done:
            return None
        times = [run.deadline - now] if not self._ending_since else [self._ending_since + _LOST_AFTER_S - now]
        if run.report is not None:
            times.append(0.05)
        if run.waits_to_be_shown:
            times.append(_QUIET_S)
        return min(times)

    def _advance(self, session: Session) -> str:
        """Do what is due; why the session has to end, or ""."""
        run, now = self._run, time.monotonic()
        if self._closing:
            return "closed"
        if session.ended:
            return "ended"
        if run is None or run.done:
            return ""
        if run.report is None:
            if not self._ending_since and now >= run.deadline:
                run.timed_out = True
                self._end()
            if self._ending_since and now >= self._ending_since + _LOST_AFTER_S:
                return "stuck"
        elif not self._counting:
            since = now - self._reported_at
            if not run.marked and since >= _HEAL_AFTER_S and not self._healed:
                self._healed = True
                session.restore_modes()
            if run.marked or since >= _MARK_WITHIN_S:
                self._counting = True
                session.order("count")
        elif now >= self._reported_at + _ORDER_WITHIN_S:
            return "stuck"
        if run.waits_to_be_shown and now - self._heard_at >= _QUIET_S:
            run.quiet()
        return ""

    def _finish(self, run: Run) -> None:
        self._counting = False
        if self._session is not None:
            self._session.restore_modes()
            run.notes += self._session.put_back()
        if run.report is not None and run.report.gone:
            run.notes.append("Its directory is gone; the next command runs at the top of the checkout.")
        if run.left and run.code - 128 in _STOPPED:
            run.notes.append("It is suspended, not ended: terminal_signal KILL ends it.")
        run.finish(time.monotonic())
        self._lock.notify_all()
        if run.background and not self._watchers and not self._closing:
            threading.Thread(target=self._ended, args=(self, run), daemon=True, name=f"ended-{self.id}").start()

    def _gone(self, session: Session, trouble: str) -> None:
        """The session is over: close it, and say so in the command that was running."""
        session.close()
        with self._lock:
            self._session = None
            run = self._run
            if run is not None and not run.done:
                if trouble == "ended":
                    run.notes.append("The terminal's shell ended with it, and so did everything in the terminal.")
                elif trouble == "stuck":
                    run.notes.append("The terminal did not come back from it, so everything in it was ended.")
                self._finish(run)
            elif run is not None:
                run.left = 0
            self._lock.notify_all()


def _write(fd: int, data: bytes, within_s: float) -> int:
    """Write to a descriptor that must not block for longer; how many bytes went."""
    until = time.monotonic() + within_s
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    sent = 0
    while sent < len(data):
        try:
            sent += os.write(fd, data[sent : sent + _CHUNK])
        except BlockingIOError:
            remaining = until - time.monotonic()
            if remaining <= 0 or not poll.poll(remaining * 1000):
                break
        except OSError:  # hung up: whoever waits for the command is told
            break
    return sent


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def _short(text: str) -> str:
    first = text.strip().partition("\n")[0]
    return first if len(first) <= 80 and first == text.strip() else f"{first[:79]}…"
