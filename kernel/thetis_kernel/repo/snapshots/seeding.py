"""What git's own index knows of a fresh checkout, as a first memory: then not every file has to be read for the first snapshot.

Reads the format of gitformat-index(5), versions 2 and 3, itself: the library tells nothing of the times in it.
"""

from __future__ import annotations

import struct
from pathlib import Path

from thetis_kernel.repo.snapshots.memory import Memory, Seen

_ENTRY = struct.Struct(">10L20sH")
_LONG_PATH = 0xFFF
_EXTENDED = 0x4000
_KEPT_MODES = (0o100644, 0o100755, 0o120000)


def seeded(index: Path) -> Memory:
    """The memory of a worktree whose index is at `index`; an empty one when that cannot be used.

    A file counts only when it was written before the index: else it may have changed without a trace (git's "racy" files).
    Of a repository whose attributes convert content on the way to the checkout nothing is taken.
    """
    try:
        data = index.read_bytes()
        written = index.stat().st_mtime_ns
        return Memory(files=_files(data, written))
    except (OSError, struct.error, ValueError):
        return Memory()


def _files(data: bytes, written: int) -> dict[bytes, Seen]:
    magic, version, count = struct.unpack_from(">4sLL", data)
    if magic != b"DIRC" or version not in (2, 3):
        return {}
    found: dict[bytes, Seen] = {}
    at = 12
    for _ in range(count):
        (ctime, ctime_ns, mtime, mtime_ns, _device, inode, mode, _uid, _gid, size, blob, flags) = _ENTRY.unpack_from(data, at)
        start = at + _ENTRY.size + (2 if flags & _EXTENDED else 0)
        end = data.index(b"\0", start) if flags & _LONG_PATH == _LONG_PATH else start + (flags & _LONG_PATH)
        path = data[start:end]
        at += (end - at) // 8 * 8 + 8
        if path.rpartition(b"/")[2] == b".gitattributes":
            return {}
        changed = ctime * 1_000_000_000 + ctime_ns
        if mode in _KEPT_MODES and not flags >> 12 & 3 and changed < written:
            found[path] = Seen(changed, mtime * 1_000_000_000 + mtime_ns, size, inode, mode, blob)
    return found
