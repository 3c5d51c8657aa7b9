"""ty kept warm: its language server, which read the guest that ships before the candidate came.

It answers one question, and only with yes or with no answer: does ty find no error in any of these modules? Asked about every
module of the candidate, with the texts of the candidate, so that a change here that breaks what another module relies on is
seen there. Whoever gets no answer asks ty anew, from nothing; complaints are worded there alone. The server lives as long as this
process, which judges one candidate, and has read nothing but what ships and that candidate.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from thetis_kernel.errors import GateError
from thetis_kernel.forge import checkers

SECONDS = 5.0
"""For the whole answer about a candidate (measured: 0.03 s after a change of one module); beyond it ty is asked anew."""
WARMING_S = 20.0
LOOK_S = 0.05
"""How often it is looked whether the candidate has come."""
MAX_MESSAGE = checkers.MAX_OUTPUT
_ERROR = 1
"""The protocol's severities: 1 error, 2 warning, 3 information, 4 hint."""


class NoAnswer(Exception):
    """The server is gone, late, or said something else than an answer. Never leaves this module but from `warm`."""


class TyServer:
    """`directory`: holds `modules` (name -> text) as files at `paths`, and ty's configuration.

    Raises GateError when ty is missing.
    """

    def __init__(self, directory: Path, modules: Mapping[str, str], paths: Mapping[str, str]) -> None:
        self._known = dict(modules)
        self._uris = {name: (directory / paths[name]).as_uri() for name in modules}
        self._asked = 0
        self._received = b""
        self._until: Callable[[], bool] = lambda: False
        home = str(directory.parent)
        environment = {"HOME": home, "XDG_CONFIG_HOME": home, "TMPDIR": home, "NO_COLOR": "1"}
        try:
            self._process = subprocess.Popen(
                [checkers.program("ty"), "server"], cwd=directory, env=environment, bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as exc:
            raise checkers.failure("ty", f"could not be started: {exc.strerror}") from exc
        checkers.bound(self._process.pid)
        if self._process.stdin is None or self._process.stdout is None:
            raise checkers.failure("ty", "has no pipes")
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._root = directory.as_uri()

    def warm(self, wanted: Callable[[], bool]) -> None:
        """Have all modules checked once. Raises NoAnswer, also as soon as `wanted` says that there is no time for it."""
        self._until = wanted
        deadline = time.monotonic() + WARMING_S
        begin = {
            "processId": os.getpid(),
            "rootUri": self._root,
            "workspaceFolders": [{"uri": self._root, "name": "guest"}],
            "initializationOptions": {"diagnosticMode": "workspace"},
            "capabilities": {"workspace": {"workspaceFolders": True}, "textDocument": {"diagnostic": {}}},
        }
        self._ask("initialize", begin, deadline)
        self._send({"method": "initialized", "params": {}}, deadline)
        for name in self._known:
            self._found(name, deadline)
        self._until = lambda: False

    def clean(self, modules: Mapping[str, str]) -> bool:
        """Whether ty finds no error in any module, all having these texts. False is no answer: ask ty itself."""
        if modules.keys() != self._known.keys():
            return False
        deadline = time.monotonic() + SECONDS
        try:
            for name, text in modules.items():
                if text != self._known[name]:
                    opened = {"uri": self._uris[name], "languageId": "python", "version": 1, "text": text}
                    self._send({"method": "textDocument/didOpen", "params": {"textDocument": opened}}, deadline)
            return not any(self._errors(name, deadline) for name in modules)
        except NoAnswer:
            return False
        finally:
            self.close()

    def close(self) -> None:
        """End the server; it answers about one candidate."""
        self._process.kill()
        with self._process:
            pass

    def _errors(self, name: str, deadline: float) -> bool:
        return any(not isinstance(item, dict) or item.get("severity", _ERROR) == _ERROR for item in self._found(name, deadline))

    def _found(self, name: str, deadline: float) -> list[Any]:
        """All the server has to say about a module."""
        answer = self._ask("textDocument/diagnostic", {"textDocument": {"uri": self._uris[name]}}, deadline)
        if not isinstance(answer, dict) or answer.get("kind") != "full" or not isinstance(answer.get("items"), list):
            raise NoAnswer
        return list(answer["items"])

    def _ask(self, method: str, params: object, deadline: float) -> Any:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params}, deadline)
        while True:
            message = self._message(deadline)
            if "method" not in message and message.get("id") == self._asked:
                if "error" in message:
                    raise NoAnswer
                return message.get("result")
            if "method" in message and "id" in message:  # the server asks: there is nothing it could be told
                self._send({"id": message["id"], "result": None}, deadline)

    def _send(self, message: dict[str, Any], deadline: float) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        data = memoryview(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        while data:
            self._wait(self._in, select.POLLOUT, deadline)
            try:
                data = data[os.write(self._in, data[: select.PIPE_BUF]) :]
            except OSError as exc:
                raise NoAnswer from exc

    def _message(self, deadline: float) -> dict[str, Any]:
        head = self._read_until(lambda data: data.find(b"\r\n\r\n") + 4 if b"\r\n\r\n" in data else 0, deadline)
        sizes = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if len(sizes) != 1 or not sizes[0].strip().isdigit() or int(sizes[0]) > MAX_MESSAGE:
            raise NoAnswer
        size = int(sizes[0])
        body = self._read_until(lambda data: size if len(data) >= size else 0, deadline)
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as exc:
            raise NoAnswer from exc
        if not isinstance(message, dict):
            raise NoAnswer
        return message

    def _read_until(self, complete: Callable[[bytes], int], deadline: float) -> bytes:
        """Take as much off what was received as `complete` says belongs together (0: not all there yet)."""
        while not (size := complete(self._received)):
            self._wait(self._out, select.POLLIN, deadline)
            piece = os.read(self._out, 1 << 16)
            if not piece or len(self._received) > MAX_MESSAGE:
                raise NoAnswer
            self._received += piece
        found, self._received = self._received[:size], self._received[size:]
        return found

    def _wait(self, fd: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(fd, event)
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or self._until():
                raise NoAnswer
            if poll.poll(min(left, LOOK_S) * 1000):
                return


def warmed(modules: Mapping[str, str], paths: Mapping[str, str], directory: Path, wanted: Callable[[], bool]) -> TyServer | None:
    """A server that has checked `modules`, which lie in `directory`; None when there is no time for it or it is not to be had."""
    try:
        server = TyServer(directory, modules, paths)
    except GateError:
        return None
    try:
        server.warm(wanted)
    except NoAnswer:
        with contextlib.suppress(OSError):
            server.close()
        return None
    return server
