"""Long outputs that were kept whole in a file: secrets are taken out before the event that names the file is stored.

The worker writes them and has no digests; the gateway has. A file is read in pieces, whatever its size. Three marks stand in the
file system, so that they survive a crash: a lock means that somebody writes it, the owner's write bit that nobody has looked
through it, a name with a leading dot that it is half of a cleaned one. Must not know what made the output.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import secrets
import stat
import threading
from pathlib import Path
from typing import BinaryIO

from thetis_kernel.protocol.ids import short
from thetis_kernel.scrub.scrubber import Scrubber

LARGEST = 8 * 1024 * 1024
"""Bytes that are looked through before a result that names them is stored: more would keep it waiting for seconds. A larger
file is looked through right after; reads of it pass the log and are scrubbed there."""
CLOSING_S = 10.0
"""That an end waits for large files: 0.27 us of CPU a byte where there are no words (measured), a twentieth in a build's log."""
PIECE = 1 << 20
HELD = 64 * 1024
"""Bytes at a piece's end that may wait for the next one: a private key (20,000 characters) is shorter."""
LONGEST = 8192
"""Of a known value (`scrub/prints.py`)."""
_CLEAN = 0o400
_BEGIN, _END = b"-----BEGIN ", b"-----END "
_BORDER = re.compile(rb"[\s\"'\\]")
"""No known value holds one."""


class Spills:
    """The long outputs of one root's conversations, in a directory each."""

    def __init__(self, place: Path, scrubber: Scrubber) -> None:
        self._place = place
        self._scrubber = scrubber
        self._later: set[asyncio.Task[bool]] = set()
        self._stop = threading.Event()

    async def look_through(self, session: str) -> None:
        """Clean what the conversation has and nobody looked at; returns when only large files are left, which follow."""
        directory = self._place / short(session)
        if await asyncio.to_thread(sweep, directory, self._scrubber, self._stop, LARGEST):
            self._follow(directory)

    def look_through_all(self) -> None:
        """Clean, in the background, what an earlier gateway left: a crash leaves outputs that no event names."""
        for directory in sorted(self._place.iterdir()) if self._place.is_dir() else []:
            self._follow(directory)

    async def settle(self) -> None:
        """Wait for what follows."""
        while self._later:
            await asyncio.gather(*self._later)

    async def close(self) -> None:
        """Wait a while for what follows, then give it up: the next gateway does it."""
        if self._later:
            await asyncio.wait(self._later, timeout=CLOSING_S)
        self._stop.set()

    def _follow(self, directory: Path) -> None:
        work = asyncio.to_thread(sweep, directory, self._scrubber, self._stop)
        task = asyncio.create_task(work, name=f"spills-{directory.name}")
        self._later.add(task)
        task.add_done_callback(self._later.discard)


class _Stopped(Exception):
    """The gateway ends."""


def sweep(directory: Path, scrubber: Scrubber, stop: threading.Event, largest: int | None = None) -> bool:
    """Clean every file nobody has looked through and nobody writes; whether larger ones than `largest` are left."""
    left = False
    try:
        found = [(Path(entry.path), entry.stat(follow_symlinks=False)) for entry in os.scandir(directory)]
    except OSError:
        return False  # no outputs, or gone with its conversation
    for file, status in found:
        if not stat.S_ISREG(status.st_mode) or not status.st_mode & stat.S_IWUSR:
            continue
        if largest is not None and status.st_size > largest:
            left = True
        else:
            clean(file, scrubber, stop)
    return left


def clean(file: Path, scrubber: Scrubber, stop: threading.Event) -> bool:
    """Replace the file by one without secrets; True when it held some. A link, anything but a plain file, and a file that is
    being written are left alone. One that cannot be replaced, the disk being full, is removed: what it says must not stay.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False  # not there: the result says what there was
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return False
    with os.fdopen(descriptor, "rb") as raw:
        if not _locked(descriptor):
            return False
        if file.name.startswith("."):
            file.unlink()
            return False
        temporary = file.with_name(f".{secrets.token_hex(6)}.tmp")
        try:
            changed = _rewrite(raw, temporary, scrubber, stop)
            if changed:
                temporary.replace(file)
            else:
                os.fchmod(descriptor, _CLEAN)
        except _Stopped:
            temporary.unlink(missing_ok=True)
            return False
        except OSError:
            temporary.unlink(missing_ok=True)
            file.unlink(missing_ok=True)
            return True
    return changed


def _rewrite(raw: BinaryIO, to: Path, scrubber: Scrubber, stop: threading.Event) -> bool:
    """Write the file without its secrets, if it has any; whether it has. Raises OSError, _Stopped."""
    writing: BinaryIO | None = None
    same, held = 0, b""
    try:
        while True:
            if stop.is_set():
                raise _Stopped
            read = raw.read(PIECE)
            held += read
            cut = len(held) if not read else _cut(held, scrubber)
            part, held = held[:cut], held[cut:]
            cleaned = scrubber.text(part.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
            if writing is None and cleaned != part:
                writing = _begin(to, raw, same)
            if writing is None:
                same += len(part)
            else:
                writing.write(cleaned)
            if not read:
                return writing is not None
    finally:
        if writing is not None:
            writing.close()


def _begin(to: Path, raw: BinaryIO, same: int) -> BinaryIO:
    """The new file with the first `same` bytes of the old one, whose position stays."""
    out = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _CLEAN)
    writing = os.fdopen(out, "wb")
    try:
        _locked(out)
        at = raw.tell()
        raw.seek(0)
        while same:
            piece = raw.read(min(same, PIECE))
            writing.write(piece)
            same -= len(piece)
        raw.seek(at)
    except BaseException:
        writing.close()
        raise
    return writing


def _cut(held: bytes, scrubber: Scrubber) -> int:
    """How much of what was read so far can be judged: it ends where no secret goes on, best at the end of a line."""
    end = len(held)
    begun = held.rfind(_BEGIN, max(0, end - HELD))
    if begun >= 0 and not 0 <= held.find(_END, begun) < end - 200:
        end = begun  # a private key of many lines, not yet whole
    line = held.rfind(b"\n", max(0, end - HELD), end) + 1
    if line:
        return line
    for at in range(end - 1, max(0, end - HELD), -1):
        if _BORDER.match(held, at):
            return at + 1
    return _between(held, max(0, end - HELD), scrubber)


def _between(held: bytes, at: int, scrubber: Scrubber) -> int:
    """`at`, or the end of the known value that stands across it: in a line without end nothing else tells."""
    first = max(0, at - LONGEST)
    for start, end in scrubber.places(held[first : at + LONGEST]):
        if first + start < at < first + end:
            return first + end
    return at


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True
