"""The terminal under the screen: stopped (ctrl+z in a shell, SIGTSTP) and gone on with, without losing a key on either way.

Textual's own driver takes every SIGCONT for the end of a stop: a second one (a shell continues the whole job, and our launcher
passes its own on), or one after a plain SIGSTOP, starts a second thread that reads keys and forgets the modes the terminal had;
one that comes while the screen is still leaving is lost, and the program stops for good. And it throws away what was typed
between its last look and the stop. A terminal that is gone it reads for ever. Must not know the app.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

_MOST = 4096


class TerminalDriver(LinuxDriver):
    """One stop, one way back, whatever signals come in whatever order."""

    _away = False
    """Whether the terminal was left and not taken over again."""
    _leaving = False
    _called_back = False
    _watching: int | None = None
    """What ends the watch over the terminal when it is closed."""

    def _sigtstp_application(self, *_: object) -> None:
        if self._leaving:
            return
        if self._auto_restart and not self._away:
            self._leaving = True
            try:
                self.suspend_application_mode()
            finally:
                self._leaving = False
            self._away = self._must_signal_resume = True
        with _held_back(signal.SIGCONT):
            called = self._called_back or signal.SIGCONT in signal.sigpending()
            self._called_back = False
            if not called:
                os.kill(os.getpid(), signal.SIGSTOP)
        if called:
            self._sigcont_application()

    def _sigcont_application(self, *_: object) -> None:
        if self._leaving:
            self._called_back = True
        elif self._auto_restart and self._away:
            self._away = False
            self.resume_application_mode()

    def start_application_mode(self) -> None:
        """Take the terminal over. In a job that a shell has put into the background this stops the program again."""
        self._writer_thread = None
        super().start_application_mode()  # type: ignore[no-untyped-call] # Textual has no types here
        self._away = self._writer_thread is None
        if self._watching is None:
            ended, self._watching = os.pipe()
            watch = threading.Thread(target=hang_up_when_gone, args=(self.fileno, ended), daemon=True, name="terminal-gone")
            watch.start()

    def close(self) -> None:
        """Leave the terminal to others; when it goes away from now on, that is not ours to notice."""
        super().close()
        if self._watching is not None:
            os.close(self._watching)
            self._watching = None

    def disable_input(self) -> None:
        """End the thread that reads keys, and read what it has left: Textual would throw it away."""
        thread, done = self._key_thread, self.exit_event
        if done.is_set():
            return
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        self._disable_mouse_support()
        done.set()
        if thread is not None:
            thread.join()
        done.clear()
        self._read_rest()

    def _read_rest(self) -> None:
        parser: Any = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        try:
            while select.select([self.fileno], [], [], 0)[0] and (data := os.read(self.fileno, _MOST)):
                for message in parser.feed(decode(data)):
                    self.process_message(message)
        except OSError:
            return  # the terminal is gone, and with it what was typed


def hang_up_when_gone(terminal: int, ended: int) -> None:
    """Raise SIGHUP in this process when nobody holds the other side of `terminal` any more, unless `ended` reads its end first.

    The system does so for the session of a controlling terminal alone: not below `setsid`, some `su` and containers.
    """
    poll = select.poll()
    poll.register(terminal, 0)  # a hang-up is always told
    poll.register(ended, select.POLLIN)
    happened = {descriptor for descriptor, _ in poll.poll()}
    os.close(ended)
    if happened == {terminal}:
        os.kill(os.getpid(), signal.SIGHUP)


@contextmanager
def _held_back(number: signal.Signals) -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (number,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
