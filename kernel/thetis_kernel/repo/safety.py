"""Named pipes where libgit2 looks for ignore rules and attributes: it opens them and waits for ever.

An agent may `mkfifo .gitignore` in any directory of its worktree, at any time. Looking for pipes before every call
would cost as much as the call. So the call runs, and only when it does not come back are pipes looked for and opened
for writing once: the waiting reader sees the end of the file and goes on. What was found is then said.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from thetis_kernel.errors import RepoError
from thetis_kernel.repo.shown import listed

READ_BY_GIT = (b".gitignore", b".gitattributes", b".gitmodules")
STILL = 1.5
"""Seconds without a sign of progress after which a call may be stuck. A false alarm costs one walk over the tree."""
MOST_DIRECTORIES = 200_000
"""Directories looked into at most per walk."""

Beat = Callable[[], None]


@contextmanager
def unstuck(tree: Path) -> Iterator[Beat]:
    """Free libgit2 from pipes in the working tree `tree` while the body runs; the body calls the yielded function
    between its calls into libgit2. Raises RepoError `special-file` afterwards when there were any.

    Only calls that let other threads run can be freed (see `library`).
    """
    beats = 0
    done = threading.Event()
    pipes: set[bytes] = set()

    def beat() -> None:
        nonlocal beats
        beats += 1

    def watch() -> None:
        seen = -1
        while not done.wait(STILL if seen != beats else 0.1):
            if seen == beats:
                pipes.update(_free(os.fsencode(tree), done))
            seen = beats

    watcher = threading.Thread(target=watch, name="freeing stuck reads", daemon=True)
    watcher.start()
    try:
        yield beat
    finally:
        done.set()
        watcher.join()
    if pipes:
        names = sorted(pipes)
        raise RepoError(
            f"{listed(names)} is a named pipe, on which git would wait for ever.",
            kind="special-file",
            hint="Remove it; nothing else is wrong.",
        )


def _free(top: bytes, done: threading.Event) -> list[bytes]:
    """Open every pipe git might be reading for writing, and close it again. Their paths relative to `top`."""
    found: list[bytes] = []
    waiting = [top]
    for _ in range(MOST_DIRECTORIES):
        if not waiting or done.is_set():
            break
        directory = waiting.pop()
        for name in READ_BY_GIT:
            path = os.path.join(directory, name)
            if _is_pipe(path):
                found.append(os.path.relpath(path, top))
                _poke(path)
        try:
            with os.scandir(directory) as entries:
                waiting += [
                    entry.path for entry in entries if entry.name != b".git" and entry.is_dir(follow_symlinks=False)
                ]
        except OSError:
            continue  # gone or closed meanwhile; git cannot be reading in it either
    return found


def _is_pipe(path: bytes) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)  # through symlinks, as git's open goes
    except OSError:
        return False


def _poke(path: bytes) -> None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        pass  # nobody is reading it at this moment


def refuse_pipes(paths: list[Path]) -> None:
    """Raise RepoError `special-file` when one of `paths`, which libgit2 will read, exists and is neither file nor
    directory. For what is read by calls that nothing can free."""
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise RepoError(f"{path} is neither a file nor a directory, and git reads it.", kind="special-file")
