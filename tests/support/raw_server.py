"""A server on loopback that answers with prepared bytes, for clients that have to survive what no real server sends."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Answer = bytes | Callable[[socket.socket], None]


@dataclass
class RawServer:
    """`answers` by path; `requests` are the heads and bodies that arrived, as text."""

    answers: dict[str, Answer]
    port: int = 0
    requests: list[str] = field(default_factory=list)


def reply(status: str = "200 OK", body: bytes = b"ok", **headers: str) -> bytes:
    """A whole response; underscores in header names are dashes."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextlib.contextmanager
def raw_server(answers: dict[str, Answer], *, speaks_first: bool = False) -> Iterator[RawServer]:
    """Serve until the end of the block. An answer that is a function gets the connection; `speaks_first`: at once."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = RawServer(answers, listener.getsockname()[1])

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            first = server.answers.get("/")
            if speaks_first and callable(first):
                first(connection)
                return
            data = b""
            while b"\r\n\r\n" not in data:
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            sizes = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
            while len(body) < sum(sizes):
                body += connection.recv(65536)
            server.requests.append((head + b"\r\n\r\n" + body).decode())
            answer = server.answers.get(head.split(b" ")[1].decode().partition("?")[0], reply("404 Not Found"))
            if callable(answer):
                answer(connection)
            else:
                connection.sendall(answer)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
