"""The listening half of a terminal: the thread that alone reads a session's descriptors, and closes them.

Owns the state of the running command and every way it can end: by itself, by its time, by a stop, with its shell, with the
terminal. A command's end is a small protocol: the driver's report, the mark in the stream (awaited for a moment, then done
without), the helper's count of what is left. Everything is bounded: what does not answer costs the session, never the thread.
Callers (terminal.py) change state under the lock and wake it. Must not know who calls, nor how a session is opened.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from typing import Any

import msgspec

from thetis_kernel.toolhost.terminals import shell
from thetis_kernel.toolhost.terminals.live import Live
from thetis_kernel.toolhost.terminals.run import Run
from thetis_kernel.toolhost.terminals.screen import Screen
from thetis_kernel.toolhost.terminals.sessions import Session

SIZE = (100, 30)
"""Columns and rows: what programs lay out well and a model reads without wrapping."""
ORDER_WITHIN_S = 10.0
"""For an answer of the helper: a walk over /proc on a loaded machine."""
_MARK_WITHIN_S = 1.0  # between the report of an end and the last output before it
_HEAL_AFTER_S = 0.3  # of that: held back by a stopped terminal, so let it go
_LOST_AFTER_S = 10.0  # a command was killed and its driver does not say so: it is the driver that is stuck
_QUIET_S = 0.1
CHUNK = 65536
_STOPPED = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


class Listener:
    """State of a terminal and the thread that listens to its session."""

    def __init__(self) -> None:
        self.cwd = ""
        """The directory of the last command's end, text of a stranger."""
        self._lock = threading.Condition()
        self._session: Session | None = None
        self._thread: threading.Thread | None = None
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self._run: Run | None = None
        self._screen = Screen(*SIZE)
        self.live = Live(*SIZE)
        """What a person looks at."""
        self._reports = b""
        self._marked = self._counting = self._healed = self._closing = False
        self._ending_since = self._reported_at = self._heard_at = 0.0

    @property
    def busy(self) -> bool:
        """Whether a command runs."""
        run = self._run
        return run is not None and not run.done

    def _finished(self, run: Run) -> None:
        """The command is over; called under the lock."""

    def _lost(self, why: str) -> None:
        """The shell is gone for a reason of its own, and nobody hears of it otherwise; called under the lock."""

    def _attend(self, session: Session) -> None:
        """Listen to a session that has just begun; under the lock."""
        self._session = session
        self._thread = threading.Thread(target=self._listen, args=(session,), daemon=True, name="terminal")
        self._thread.start()

    def _begin(self, run: Run) -> None:
        """Make `run` the command that is listened to; under the lock, before the shell hears of it."""
        self._screen.clear()
        self.live.begin(run.text, fresh=run.background)
        self._ending_since = self._reported_at = 0.0
        self._counting = self._healed = False
        self._run = run

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

    def _unlisten(self) -> None:
        """Give back what wakes the thread, once it has ended."""
        with self._lock:
            if self._waker >= 0:
                os.close(self._waker)
                os.close(self._woken)
                self._waker = self._woken = -1

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
                    os.read(self._woken, CHUNK)
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
            data = os.read(fd, CHUNK)
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
        self.live.feed(data)
        run = self._run
        if run is None or run.done:
            return  # of background processes, between commands
        before = run.heard(data)
        if run.background:
            answer = self._screen.feed(before)
            if answer:
                write(session.master, answer, 0.0)
        self._lock.notify_all()

    def _reported(self, data: bytes) -> None:
        *lines, self._reports = (self._reports + data)[-CHUNK:].split(b"\n")
        for line in lines:
            report = shell.report(line)
            if report is not None and self._run is not None and report.number == self._run.number:
                if self._ending_since and report.code - 128 in _STOPPED:
                    report = msgspec.structs.replace(report, code=137)  # seen between the stop and the kill
                self._run.report = report
                self._reported_at = time.monotonic()
                self.cwd = report.cwd

    def _answered(self, line: dict[str, Any]) -> None:
        run = self._run
        if line.get("answer") == "mark":
            self._marked = True
        elif line.get("answer") == "count" and run is not None:
            run.left = line["count"]
            run.starved = line.get("starved", 0)
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
        elif now >= self._reported_at + ORDER_WITHIN_S:
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
        self.live.touch()
        self._lock.notify_all()
        self._finished(run)

    def _gone(self, session: Session, trouble: str) -> None:
        """The session is over: close it, and say so in the command that was running."""
        session.close()
        with self._lock:
            self._session = None
            run = self._run
            if run is not None and not run.done:
                if trouble == "ended" and session.farewell:
                    run.notes.append(f"{session.farewell} How the command ended is not known.")
                elif trouble == "ended":
                    run.notes.append("The terminal's shell ended with it, and so did everything in the terminal.")
                elif trouble == "stuck":
                    run.notes.append("The terminal did not come back from it, so everything in it was ended.")
                self._finish(run)
            elif run is not None:
                run.left = 0
            if trouble == "ended" and session.farewell and (run is None or not run.background):
                self._lost(session.farewell)
            self._lock.notify_all()


def write(fd: int, data: bytes, within_s: float) -> int:
    """Write to a descriptor that must not block for longer; how many bytes went."""
    until = time.monotonic() + within_s
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    sent = 0
    while sent < len(data):
        try:
            sent += os.write(fd, data[sent : sent + CHUNK])
        except BlockingIOError:
            remaining = until - time.monotonic()
            if remaining <= 0 or not poll.poll(remaining * 1000):
                break
        except OSError:  # hung up: whoever waits for the command is told
            break
    return sent
