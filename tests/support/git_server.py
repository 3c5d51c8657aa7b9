"""A git server over http on a port of its own: the machine's `git http-backend` behind a small server, with misbehaviours.

    /ok/NAME.git        served            /secret/NAME.git    asks for credentials
    /moved/NAME.git     redirects to another host
    /silent/NAME.git    answers nothing until the server ends
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


class GitServer:
    """What was asked of it: `paths`, and `headers` by lower-case name of every request. `silent` is set when one waits."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.silent = threading.Event()
        self.over = threading.Event()


def git(where: Path, *words: str) -> str:
    """The git CLI of the machine, with no configuration of anybody's."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(where), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *identity, *words], cwd=where, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def bare(base: Path, name: str, files: dict[str, str], *, branches: dict[str, dict[str, str]] | None = None) -> Path:
    """A repository `base/NAME.git` with one commit of `files` on main, tagged v1, and one more on each of `branches`."""
    work = base / f"{name}-work"
    work.mkdir(parents=True)
    git(work, "init", "-q", "-b", "main")
    _commit(work, files, "first")
    git(work, "tag", "-a", "v1", "-m", "v1")
    for branch, more in (branches or {}).items():
        git(work, "checkout", "-q", "-b", branch, "main")
        _commit(work, more, f"on {branch}")
    git(work, "checkout", "-q", "main")
    git(base, "clone", "-q", "--bare", str(work), f"{name}.git")
    return base / f"{name}.git"


def _commit(work: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(work, "add", "-A")
    git(work, "commit", "-q", "--allow-empty", "-m", message)


@contextmanager
def git_server(base: Path) -> Iterator[GitServer]:
    """Serve the bare repositories in `base` while the block runs."""
    told: list[GitServer] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            server = told[0]
            server.paths.append(self.path)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            how, _, rest = urlsplit(self.path).path.lstrip("/").partition("/")
            if how == "secret":
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
            elif how == "moved":
                self.send_response(301)
                other = server.url.replace("127.0.0.1", "localhost")
                self.send_header("Location", f"{other}/ok/{self.path.removeprefix('/moved/')}")
                self.end_headers()
            elif how == "silent":
                server.silent.set()
                server.over.wait(60)
            else:
                self._backend(rest)

        def _backend(self, rest: str) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(length) if length else self._chunks()
            environment = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(base), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": f"/{rest}",
                "QUERY_STRING": urlsplit(self.path).query, "REQUEST_METHOD": self.command, "CONTENT_LENGTH": str(len(body)),
                "CONTENT_TYPE": self.headers.get("Content-Type", ""), "REMOTE_ADDR": "127.0.0.1",
                "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(base),
                "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            }
            done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            lines = [line.partition(": ") for line in head.decode("latin-1").split("\r\n")]
            status = next((value for name, _, value in lines if name == "Status"), "200")
            self.send_response(int(status.split()[0]))
            for name, _, value in lines:
                if name and name != "Status":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _chunks(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return b""
            found = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return found

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    told.append(GitServer(listening.server_address[1]))
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield told[0]
    finally:
        told[0].over.set()
        listening.shutdown()
        listening.server_close()
        thread.join()
