"""Long outputs that were kept whole in a file: secrets are taken out before the event that names the file is stored.

The worker writes them and has no digests; the gateway has. Must not know what made the output.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from thetis_kernel.scrub.scrubber import Scrubber

LARGEST = 8 * 1024 * 1024
"""Bytes; searching more would keep a result waiting for seconds. A larger file stays as the command wrote it, for the reads of
its own conversation, which pass the log and are scrubbed there."""
_PIECE = 1 << 20


def clean(file: Path, scrubber: Scrubber) -> bool:
    """Replace the file by one without secrets; True when it held some. A link or anything but a plain file is left alone."""
    raw = _read(file)
    if not raw or len(raw) > LARGEST:
        return False
    text = raw.decode("utf-8", "surrogateescape")
    found = "".join(scrubber.text(piece) for piece in _pieces(text))
    if found == text:
        return False
    temporary = file.with_name(f".{secrets.token_hex(6)}.tmp")
    out = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(out, "wb") as writing:
        writing.write(found.encode("utf-8", "surrogateescape"))
    temporary.replace(file)
    return True


def _read(file: Path) -> bytes:
    """At most LARGEST bytes and one more; nothing of what is no plain file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""  # not there: the result says what there was
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return stream.read(LARGEST + 1)
    finally:
        os.close(descriptor)


def _pieces(text: str) -> list[str]:
    """The text in parts that end at line ends, so that none cuts a secret; a private key of several lines may be cut."""
    parts, start = [], 0
    while start < len(text):
        end = text.rfind("\n", start, start + _PIECE) + 1 if len(text) - start > _PIECE else len(text)
        end = end if end > start else len(text)
        parts.append(text[start:end])
        start = end
    return parts
