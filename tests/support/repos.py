"""Real repositories for tests, made with the git CLI (the kernel never runs it), and what to look at afterwards.

Every command runs with an environment of its own: no configuration, hooks or identity of the developer's.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]


def environment(home: Path) -> dict[str, str]:
    """What git and children see."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8", "GIT_EDITOR": "true",
        "GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@localhost",
        "GIT_COMMITTER_NAME": "Test", "GIT_COMMITTER_EMAIL": "test@localhost",
    }  # fmt: skip


class Repo:
    """One repository at `path`."""

    def __init__(self, path: Path, home: Path | None = None) -> None:
        self.path = path
        self.home = home or path.parent / "git-home"

    def git(self, *arguments: str, check: bool = True, **keywords: Any) -> str:
        """Run git in it; what it printed."""
        command = ["git", "-c", "protocol.file.allow=always", "-c", "gc.auto=0", "-C", str(self.path), *arguments]
        done = subprocess.run(
            command, env=environment(self.home), capture_output=True, stdin=subprocess.DEVNULL, check=False, **keywords
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, name: str | bytes, data: str | bytes, *, executable: bool = False) -> Path:
        """A file of this content, with its directories."""
        path = Path(os.fsdecode(os.path.join(os.fsencode(self.path), os.fsencode(name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        if executable:
            path.chmod(0o755)
        return path

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def commit(self, message: str = "more") -> str:
        """Everything, committed; the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def rev(self, name: str) -> str:
        return self.git("rev-parse", "--verify", name)

    def show(self, spec: str) -> bytes:
        """The content of `commit:path`."""
        command = ["git", "-C", str(self.path), "cat-file", "blob", spec]
        return subprocess.run(command, env=environment(self.home), capture_output=True, check=True).stdout

    def names(self, commit: str) -> list[str]:
        """Every path of a commit."""
        return [name for name in self.git("ls-tree", "-r", "-z", "--name-only", commit).split("\0") if name]


def make(path: Path, **files: str | bytes) -> Repo:
    """A repository with one commit of `files` (or of one file), branch main."""
    path.mkdir(parents=True)
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main")
    for name, data in (files or {"a.txt": "one\n"}).items():
        repo.write(name, data)
    repo.commit("first")
    return repo


def make_large(path: Path, files: int) -> Repo:
    """A repository of `files` small files, twenty a directory; fast-import, since 50,000 writes take long."""
    path.mkdir(parents=True)
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main")
    text = "".join(f"line {number}\n" for number in range(60))
    stream = ["commit refs/heads/main\ncommitter T <t@localhost> 1700000000 +0000\ndata 5\nfirst\n"]
    for number in range(files):
        body = f"{number}\n{text}"
        stream.append(f"M 100644 inline d{number % 50:02}/s{number // 50 % 50:02}/f{number}.txt\ndata {len(body)}\n{body}\n")
    command = ["git", "-C", str(path), "fast-import", "--quiet"]
    subprocess.run(command, input="".join(stream).encode(), env=environment(repo.home), check=True)
    repo.git("reset", "-q", "--hard")
    return repo


# What must not change

ALLOWED_GAIN = ("refs/heads/conv", "logs/refs/heads/conv", "refs/thetis", "worktrees", "objects")
"""What `.git` may gain; the second is the branches' own reflog."""


def root_state(path: Path) -> dict[str, str]:
    """Everything of a checkout that must stay as it is: name -> digest, for working files, index, HEAD, stash, config
    and all else in `.git` that is not ours to add."""
    found: dict[str, str] = {}
    for where, directories, names in os.walk(os.fsencode(path)):
        inside = os.path.relpath(where, os.fsencode(path))
        if inside == b".git" or inside.startswith(b".git/"):
            below = os.path.relpath(where, os.fsencode(path / ".git"))
            directories[:] = [
                name for name in directories
                if not os.path.normpath(os.path.join(below, name)).decode().startswith(ALLOWED_GAIN)
            ]  # fmt: skip
        for name in names:
            full = os.path.join(where, name)
            found[os.fsdecode(os.path.relpath(full, os.fsencode(path)))] = _digest(full)
    return found


def _digest(path: bytes) -> str:
    status = os.lstat(path)
    digest = hashlib.sha256(f"{status.st_mode:o} {status.st_mtime_ns}".encode())
    if stat.S_ISLNK(status.st_mode):
        digest.update(os.readlink(path))
    elif stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


# The repo package in a process of its own

def drive(
    function: str, *arguments: Any, home: Path, largest_file: int = 0, **keywords: Any
) -> subprocess.Popen[str]:
    """Start `tests.support.repo_driver`: `function` of the repo package with these arguments, its answer as JSON.

    `largest_file`: bytes above which its writes fail (0 = no limit), as all writes do on a full disk.
    """
    call = json.dumps(
        {"function": function, "arguments": arguments, "keywords": keywords, "largest_file": largest_file}
    )
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.repo_driver", call], cwd=CHECKOUT, stdin=subprocess.DEVNULL,
        env={**environment(home), "PYTHONPATH": f"{CHECKOUT}/kernel:{CHECKOUT}"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def driven(function: str, *arguments: Any, home: Path, **keywords: Any) -> Any:
    """What it answered: a dictionary; `{"error": kind, "message": ...}` for a RepoError. AssertionError when it does
    not answer: that can be tried only in another process, since libgit2 may be stuck where no signal is seen."""
    process = drive(function, *arguments, home=home, **keywords)
    try:
        out, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"{function} did not come back") from None
    assert process.returncode == 0, err
    return json.loads(out)
