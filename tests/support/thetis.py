"""The real program on a real repository, in a world of its own: the console script as a person runs it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

THETIS = str(Path(sys.executable).with_name("thetis"))


class World:
    """A home, a state directory and a repository. `environ` is what every run sees; nothing of the test machine."""

    def __init__(self, base: Path, thetis: str = THETIS) -> None:
        self.base = base
        self.thetis = thetis
        self.home = base / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.repository = base / "repo"
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "THETIS_STATE": str(base / "state"),
            "THETIS_RUNTIMES": os.environ["THETIS_RUNTIMES"], "XDG_RUNTIME_DIR": str(base), "GIT_CONFIG_NOSYSTEM": "1",
            "THETIS_REHEARSAL_DELAY_MS": "0",
        }

    def git(self, *arguments: str, at: Path | None = None) -> str:
        """The git program in the repository; its output."""
        settings = ["-c", "user.name=Person", "-c", "user.email=person@localhost", "-c", "init.defaultBranch=main"]
        done = subprocess.run(["git", *settings, *arguments], cwd=at or self.repository, env=self.environ, check=True,
                              capture_output=True, text=True)
        return done.stdout

    def make_repository(self, files: dict[str, str | bytes]) -> Path:
        """A repository with one commit of these files."""
        self.repository.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q")
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-qm", "start")
        return self.repository

    def write(self, files: dict[str, str | bytes]) -> None:
        """Put files into the repository's checkout."""
        for name, content in files.items():
            path = self.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def run(self, *arguments: str, timeout: float = 60, check: bool = True, **environ: str) -> subprocess.CompletedProcess[str]:
        """`thetis ARGUMENTS` in the repository."""
        done = subprocess.run([self.thetis, *arguments], cwd=self.repository, env={**self.environ, **environ}, text=True,
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
        if check and done.returncode:
            raise AssertionError(f"thetis {arguments} exited {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def events(self, *arguments: str, **options: Any) -> list[dict[str, Any]]:
        """`thetis run --json ARGUMENTS`: its events."""
        return lines(self.run("run", "--json", *arguments, **options).stdout)

    def log(self, conversation: str) -> list[dict[str, Any]]:
        """The conversation's whole log."""
        return lines(self.run("log", conversation, "--json").stdout)

    @contextmanager
    def started(self, *arguments: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
        """`thetis ARGUMENTS` running; killed at the end."""
        child = subprocess.Popen([self.thetis, *arguments], cwd=self.repository, env={**self.environ, **environ}, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            yield child
        finally:
            if child.poll() is None:
                child.send_signal(signal.SIGKILL)
            child.communicate()


def lines(text: str) -> list[dict[str, Any]]:
    """JSON lines."""
    return [json.loads(line) for line in text.splitlines()]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    """The kinds of events in order."""
    return [event["kind"] for event in events]


def answer(events: list[dict[str, Any]]) -> str:
    """All text the model said."""
    return "\n".join(block["text"] for event in events if event["kind"] == "assistant"
                     for block in event["body"]["blocks"] if block["type"] == "text")


def fingerprint(repository: Path) -> dict[str, str]:
    """SHA-256 of what "the root checkout is never touched" promises: every file of the checkout (content, mode, link target),
    index, HEAD, stash, config, and all refs but ours."""
    found: dict[str, str] = {}
    for path in sorted(repository.rglob("*")):
        relative = path.relative_to(repository)
        if relative.parts[0] == ".git":
            continue
        stat = path.lstat()
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(relative)] = hashlib.sha256(content).hexdigest() + oct(stat.st_mode) + str(stat.st_mtime_ns)
    git = repository / ".git"
    for name in ("index", "HEAD", "config", "logs/HEAD", "refs/stash", "logs/refs/stash", "info/exclude", "packed-refs"):
        file = git / name
        if file.is_file():
            found[f".git/{name}"] = hashlib.sha256(file.read_bytes()).hexdigest() + str(file.stat().st_mtime_ns)
    for ref in sorted((git / "refs").rglob("*")):
        relative = ref.relative_to(git)
        if ref.is_file() and relative.parts[:3] != ("refs", "heads", "conv") and relative.parts[:2] != ("refs", "thetis"):
            found[f".git/{relative}"] = ref.read_text()
    return found
