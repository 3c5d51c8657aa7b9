"""A real SSH server in this process (asyncssh), with the shape of tests.support.sshd.Sshd; and machines that misbehave.

Commands run in /bin/sh of this machine, on a pty where one is asked for. `Gate` stands in front of a server and stops passing
bytes on, as a sleeping laptop's network does. `Raw` is something that listens and is no SSH server.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import socket
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncssh

from tests.support.sshd import keypair


class AsyncServer:
    """Listens on loopback in a thread of its own. `logins` counts who got as far as naming a user."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = base / "remote-home"
        self.home.mkdir(parents=True)
        self.user = "tester"
        self.logins = 0
        self.port = 0
        keypair(base / "host_key")
        self._keys: list[str] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connections: list[Any] = []

    def allow(self, key: Path) -> None:
        """Let a key in."""
        self._keys.append(key.with_name(f"{key.name}.pub").read_text())

    @property
    def public_key(self) -> str:
        """The host key, as a person would accept it."""
        return " ".join((self.base / "host_key.pub").read_text().split()[:2])

    def new_host_key(self) -> None:
        """Another host key from the next start on."""
        (self.base / "host_key").unlink()
        keypair(self.base / "host_key")

    def start(self) -> None:
        """Begin to listen, at the port of the last time."""
        up = threading.Event()
        self._loop = loop = asyncio.new_event_loop()

        async def serve() -> None:
            listener = await asyncssh.create_server(
                self._server, "127.0.0.1", self.port, server_host_keys=[str(self.base / "host_key")],
                process_factory=self._process, encoding=None, reuse_address=True)
            self.port = listener.get_port()
            up.set()
            await self._stopped.wait()
            listener.close()
            for connection in self._connections:
                connection.abort()
            if others := asyncio.all_tasks(loop) - {asyncio.current_task()}:
                await asyncio.wait(others, timeout=1)

        def run() -> None:
            self._stopped = asyncio.Event()
            loop.run_until_complete(serve())
            if left := asyncio.all_tasks(loop):
                for task in left:
                    task.cancel()
                loop.run_until_complete(asyncio.wait(left, timeout=1))
            loop.close()

        self._thread = threading.Thread(target=run, daemon=True, name="ssh-server")
        self._thread.start()
        assert up.wait(15)

    def stop(self) -> None:
        """End it and every session."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(10)
            self._loop = None

    def _server(self) -> asyncssh.SSHServer:
        outer = self

        class Server(asyncssh.SSHServer):
            def connection_made(self, conn: Any) -> None:
                self._conn = conn
                outer._connections.append(conn)

            def begin_auth(self, username: str) -> bool:
                outer.logins += 1
                self._conn.set_authorized_keys(asyncssh.import_authorized_keys("".join(outer._keys)))
                return True

            def connection_requested(self, *where: Any) -> bool:
                return True

        return Server()

    async def _process(self, process: Any) -> None:
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.base)}
        if process.term_type is None:
            child = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", process.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environ,
                cwd=self.home, start_new_session=True)
            await process.redirect(stdin=child.stdin, stdout=child.stdout)
        else:
            master, slave = pty.openpty()
            child = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", process.command, stdin=slave, stdout=slave, stderr=slave, env=environ, cwd=self.home,
                start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
            os.close(slave)
            await process.redirect(stdin=os.fdopen(os.dup(master), "wb", 0), stdout=os.fdopen(master, "rb", 0))
        closed = asyncio.create_task(process.channel.get_connection().wait_closed())
        ended = asyncio.create_task(child.wait())
        await asyncio.wait({closed, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGHUP)
            await child.wait()
        with contextlib.suppress(OSError, asyncssh.Error):
            process.exit(child.returncode or 0)


class Gate:
    """Passes bytes between whoever connects and a port, while it is open."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def freeze(self) -> None:
        """From now on nothing passes and nothing is closed: the other side is simply not heard of."""
        self._open.clear()

    def thaw(self) -> None:
        """Pass bytes on again."""
        self._open.set()

    def close(self) -> None:
        """Listen no more."""
        self._open.set()
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._open.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def raw(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port where `talk(connection)` is all that happens."""
    listener = socket.create_server(("127.0.0.1", 0))

    def one(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            talk(connection)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()
