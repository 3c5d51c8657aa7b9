"""A shell on another machine as a terminal needs it: the descriptors and orders of walls.session, over a connection.

One thread with an event loop a session, one connection a session: a machine that hangs costs its own terminals and no others.
The connection carries two channels, the terminal itself and a private one for commands and reports, so nothing on the terminal
is recognised as a prompt. What comes is passed on as fast as it is read here; the rest waits on the other machine.
When this process dies the connection does, and with it what runs in the foreground over there; what was put into the
background on purpose goes on, as it would after any ssh.
Must not know what a command is, who asked, nor whether they may.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.ssh import bootstrap
from thetis_kernel.ssh.failures import SshError, told
from thetis_kernel.ssh.way import Way

if TYPE_CHECKING:
    from thetis_kernel.ssh.connecting import Connected

SETUP_S = 15.0
"""For the private directory and the shell, once the connection is there."""
CLOSE_S = 2.0
PIECE = 64 * 1024
_KEYS = {signal.SIGINT: b"\x03", signal.SIGQUIT: b"\x1c", signal.SIGTSTP: b"\x1a"}


class RemoteSession:
    """One shell over there. `open` is `open_remote`; `close` may be called twice. See walls.session for what the names mean."""

    def __init__(self, way: Way, program: bytes, size: tuple[int, int]) -> None:
        self._way = way
        self._program = program
        self._size = size
        self.ended = False
        self.note = ""
        self.farewell = ""
        """Why the connection is gone, "" while it is there or when it was closed here."""
        here, self._terminal_end = socket.socketpair()
        self.master = here.detach()
        lines, self._lines_end = socket.socketpair()
        self.reports = lines.detach()
        self.commands = os.dup(self.reports)
        self.status, self._status_end = os.pipe()
        for descriptor in (self.master, self.reports, self.commands, self.status):
            os.set_blocking(descriptor, False)
        self._said = b""
        self._loop = asyncio.new_event_loop()
        self._stop: asyncio.Event = asyncio.Event()
        self._up = threading.Event()
        self._failure: BaseException | None = None
        self._connected: Connected | None = None
        self._place = ""
        self._closed = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"ssh-{way.name}")

    def start(self, stopped: Callable[[], bool]) -> None:
        """Connect and begin the shell. Raises SshError; `stopped()` is asked while it lasts."""
        self._thread.start()
        while not self._up.wait(0.05):
            if stopped():
                self._halt()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    # What a terminal asks for

    def resize(self, columns: int, rows: int) -> None:
        """The size is the one it was begun with."""

    def restore_modes(self) -> None:
        """The program does that over there, before each command."""

    def order(self, line: str) -> None:
        """An order of walls.attend: mark and count are answered here, signals and the end are sent."""
        if line == "mark":
            self._say({"answer": "mark"})
        elif line == "count":
            self._say({"answer": "count", "count": 0, "starved": 0})
        elif line == "end":
            self._send(bootstrap.ending)
        elif line.startswith("signal "):
            number = int(line.split()[1])
            self._send(lambda place: bootstrap.signalling(place, number))

    def press(self, number: int) -> None:
        """INT, QUIT or TSTP as their keys send them. Raises OSError for others."""
        key = _KEYS.get(signal.Signals(number))
        if key is None:
            raise OSError(0, "no key sends it")
        os.write(self.master, key)

    def foreground(self) -> int:
        """Not known here."""
        return 0

    def is_started(self, idle: int) -> bool:
        """Not known here; a command is begun as soon as it is heard of."""
        return True

    def said(self) -> list[dict[str, Any]]:
        """What there is on `status`; sets `ended`. Never blocks."""
        while not self.ended:
            try:
                data = os.read(self.status, 65536)
            except BlockingIOError:
                break
            self.ended = not data
            self._said += data
        *lines, self._said = self._said.split(b"\n")
        heard: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
        self.ended = self.ended or any("reason" in line for line in heard)
        return heard

    def put_back(self) -> list[str]:
        """Nothing of this machine is touched."""
        return []

    def close(self) -> None:
        """End the connection and wait a moment until it is gone."""
        if self._closed:
            return
        self._closed = True
        self._halt()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(CLOSE_S)
        for name in ("master", "reports", "commands", "status"):
            os.close(getattr(self, name))
            setattr(self, name, -1)

    # The session's own thread

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        except ThetisError as error:
            self._failure = error
        except BaseException as error:  # noqa: BLE001 - whoever waits for the start must hear of anything
            self._failure = told(self._way.name, error, SETUP_S)
        finally:
            self._say({"reason": "ended"})
            self._up.set()
            self._wind_up()
            for end in (self._terminal_end, self._lines_end):
                end.close()
            os.close(self._status_end)
            self._status_end = -1

    def _wind_up(self) -> None:
        """End what is left on the loop, the library's own tasks too."""
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        with contextlib.suppress(RuntimeError):
            if left:
                self._loop.run_until_complete(asyncio.wait(left, timeout=CLOSE_S))
            self._loop.close()

    async def _live(self) -> None:
        from thetis_kernel.ssh.connecting import connect  # late: asyncssh takes half a second to import

        stop = asyncio.create_task(self._stop.wait())
        begin = asyncio.create_task(connect(self._way))
        await asyncio.wait({stop, begin}, return_when=asyncio.FIRST_COMPLETED)
        if not begin.done():
            begin.cancel()
            with contextlib.suppress(asyncio.CancelledError, ThetisError):
                await begin
            raise ThetisError("The turn was stopped.", code="cancelled")
        self._connected = connected = begin.result()
        try:
            async with asyncio.timeout(SETUP_S):
                terminal, private = await self._begin(connected)
            self._up.set()
            await self._pass_on(connected, terminal, private, stop)
        except TimeoutError as error:
            raise SshError(f"{self._way.name} let us in, and then no shell began within {SETUP_S:.0f} s.", code="ssh-setup",
                           hint="Its login files may wait for something.") from error
        finally:
            stop.cancel()
            await connected.close()
            for task in self._tasks:
                task.cancel()

    async def _begin(self, connected: Connected) -> tuple[Any, Any]:
        from thetis_kernel.ssh.connecting import WINDOW

        asked = {"encoding": None, "window": WINDOW, "max_pktsize": 32768, "env": None, "send_env": None}
        private = await connected.connection.create_process(bootstrap.opening(self._program), **asked)
        private.stdin.write(self._program)
        self._place = await self._placed(private)
        terminal = await connected.connection.create_process(
            bootstrap.running(self._place), term_type="xterm-256color", term_size=self._size, **asked)
        first = (await private.stdout.readline()).strip()
        if first != b"ready":
            where = "The directory it should begin in is not there" if first == b"no-directory" else "Its shell did not begin"
            raise SshError(f"{where}, on {self._way.name}.", code="ssh-setup",
                           hint=f"A person sets remote_cwd with `thetis ssh set {self._way.name}`.")
        self._lines_end.setblocking(False)
        self._lines_end.send(b"ready\n")
        return terminal, private

    async def _placed(self, private: Any) -> str:
        heard = 0
        while heard < bootstrap.MAX_NOISE:
            line = await private.stdout.readline()
            if not line:
                break
            heard += len(line)
            if match := bootstrap.PLACE.fullmatch(line.strip(b"\n")):
                return match[1].decode("ascii")
        raise SshError(f"On {self._way.name} there is no place for a shell's private files, or no POSIX shell.", code="ssh-setup",
                       hint="It needs sh, mktemp and mkfifo, and room in its directory for temporary files.")

    async def _pass_on(self, connected: Connected, terminal: Any, private: Any, stop: asyncio.Task[Any]) -> None:
        shown, typed = await _streams(self._terminal_end)
        commands, reports = await _streams(self._lines_end)
        out = asyncio.create_task(_pump(terminal.stdout, typed))
        told_of = asyncio.create_task(_pump(private.stdout, reports))
        self._tasks |= {asyncio.create_task(_pump(shown, terminal.stdin)), asyncio.create_task(_pump(commands, private.stdin))}
        over = asyncio.create_task(connected.over.wait())
        self._tasks |= {out, told_of, over}
        await asyncio.wait({out, over, stop}, return_when=asyncio.FIRST_COMPLETED)
        if stop.done():
            return
        await asyncio.wait({over}, timeout=0.5)  # the shell's end and the connection's are told apart
        self.farewell = connected.farewell() if over.done() else ""
        await asyncio.wait({out, told_of}, timeout=0.5)

    # Across threads

    def _halt(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)

    def _send(self, command: Callable[[str], str]) -> None:
        async def run() -> None:
            if self._connected is not None and self._place:
                with contextlib.suppress(Exception):  # a connection that is gone ends the session anyway
                    await asyncio.wait_for(self._connected.connection.run(command(self._place), encoding=None), SETUP_S)

        def begin() -> None:
            task = self._loop.create_task(run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(begin)

    def _say(self, line: dict[str, Any]) -> None:
        if self._status_end >= 0:
            os.write(self._status_end, json.dumps(line).encode() + b"\n")


def open_remote(way: Way, program: bytes, size: tuple[int, int], stopped: Callable[[], bool]) -> RemoteSession:
    """A shell over there running `program`, a POSIX shell script that reads commands and reports as walls.session's does.

    Raises SshError when the machine cannot be reached, is not the trusted one, lets nobody in, or has no shell.
    """
    session = RemoteSession(way, program, size)
    try:
        session.start(stopped)
    except BaseException:
        session.close()
        raise
    return session


async def _streams(end: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    end.setblocking(False)
    return await asyncio.open_connection(sock=end, limit=PIECE)


async def _pump(source: Any, sink: Any) -> None:
    """Pass bytes on until there are no more, no faster than they are taken."""
    with contextlib.suppress(OSError, EOFError, ConnectionError):
        while data := await source.read(PIECE):
            sink.write(data)
            await sink.drain()
