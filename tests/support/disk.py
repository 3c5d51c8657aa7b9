"""Disks that misbehave, as SQLite VFSs over real files: one that remembers what was synced, one that fails on command.

`RecordingDisk` notes every write, truncation, sync, creation and deletion. `Wreck` then rebuilds what a power cut at any
point could have left: unsynced operations dropped, kept at random, or torn in 512-byte sectors.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512
_numbers = itertools.count()


class _File(apsw.VFSFile):
    """Passes everything on and tells its disk first."""

    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        path = name if isinstance(name, str) or name is None else name.filename()
        self.name = Path(path).name if path else ""
        self.disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:
        self.disk.before("write", self.name, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self.disk.before("truncate", self.name, newsize, b"")
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self.disk.before("sync", self.name, flags, b"")
        super().xSync(flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self.disk.before("read", self.name, offset, b"")
        return super().xRead(amount, offset)


class Disk(apsw.VFS):
    """A VFS whose operations pass through `before(op, file, offset or size, data)`, which may raise."""

    def __init__(self) -> None:
        self.vfs = f"disk-{next(_numbers)}"
        super().__init__(self.vfs, "")

    def before(self, op: str, name: str, offset: int, data: bytes) -> None:
        """Called ahead of every operation."""

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        path = name if isinstance(name, str) or name is None else name.filename()
        if path and not Path(path).exists():
            self.before("create", Path(path).name, 0, b"")
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.before("delete", Path(filename).name, 0, b"")
        super().xDelete(filename, syncdir)


Op = tuple[str, str, int, bytes]


class RecordingDisk(Disk):
    """Remembers every operation that changes anything. A `lying` one forgets syncs, as some hardware does."""

    def __init__(self, lying: bool = False) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self._lying = lying

    def before(self, op: str, name: str, offset: int, data: bytes) -> None:
        if op != "read" and not (op == "sync" and self._lying):
            self.ops.append((op, name, offset, data))

    def syncs(self, name: str) -> int:
        """How often a file was synced so far."""
        return sum(1 for op, file, _, _ in self.ops if op == "sync" and file == name)


class FaultyDisk(Disk):
    """Raises `error` at the `at`-th operation of the kinds in `ops` (from 1), and with `sticky` at all later ones."""

    def __init__(self, error: Callable[[], Exception], ops: frozenset[str], sticky: bool = False) -> None:
        super().__init__()
        self.error = error
        self.kinds = ops
        self.sticky = sticky
        self.at = 0
        self.count = 0
        self.hits = 0

    def before(self, op: str, name: str, offset: int, data: bytes) -> None:
        if op not in self.kinds:
            return
        self.count += 1
        if self.at and (self.count == self.at or (self.sticky and self.count > self.at)):
            self.hits += 1
            raise self.error()

    def heal(self) -> None:
        """No more faults."""
        self.at = 0


def io_error() -> Exception:
    """SQLite's general I/O error."""
    return apsw.IOError("injected")


def no_space() -> Exception:
    """SQLite's full disk."""
    return apsw.FullError("injected")


class Wreck:
    """What may be found after the power went at some operation.

    Besides the disk's own operations it understands two the test adds: `whole`, a file replaced at once and durably, and
    `syncdir`, which makes creations and deletions so far durable.
    """

    def __init__(self, ops: list[Op], rng: random.Random) -> None:
        self._ops = ops
        self._rng = rng

    def rebuild(self, cut: int, how: str, target: Path) -> None:
        """Write into `target` the files as they may be when only the operations before `cut` were issued.

        `how`: drop (nothing unsynced is left), subset (each unsynced operation survives or not), torn (each 512-byte
        sector of an unsynced write does), keep (all of it is).
        """
        durable: dict[str, bytearray] = {}
        pending: dict[str, list[Op]] = {}
        for op in self._ops[:cut]:
            kind, name = op[0], op[1]
            if kind == "sync":
                durable[name] = _applied(durable.get(name, bytearray()), pending.pop(name, []))
            elif kind == "whole":
                durable[name] = bytearray(op[3])
            elif kind == "syncdir":
                _names_become_durable(durable, pending)
            else:
                pending.setdefault(name, []).append(op)
        target.mkdir(parents=True)
        for name in {*durable, *pending}:
            content = self._survivor(durable.get(name), pending.get(name, []), how)
            if content is not None:
                (target / name).write_bytes(content)

    def _survivor(self, durable: bytearray | None, ops: list[Op], how: str) -> bytearray | None:
        content, exists = bytearray(durable or b""), durable is not None
        for op in ops:
            kind, name, offset, data = op
            if how == "drop" or (how == "subset" and self._rng.random() < 0.5):
                continue
            if kind == "create":
                exists = True
            elif kind == "delete":
                content, exists = bytearray(), False
            elif kind == "write" and how == "torn":
                for start in range(0, len(data), SECTOR):
                    if self._rng.random() < 0.5:
                        content = _applied(content, [("write", name, offset + start, data[start : start + SECTOR])])
                exists = True
            else:
                content, exists = _applied(content, [op]), True
        return content if exists else None


def _names_become_durable(durable: dict[str, bytearray], pending: dict[str, list[Op]]) -> None:
    for name, ops in pending.items():
        for index, op in enumerate(ops):
            if op[0] == "create":
                durable.setdefault(name, bytearray())
            elif op[0] == "delete":
                durable.pop(name, None)
                pending[name] = ops[index + 1 :]


def _applied(content: bytearray, ops: list[Op]) -> bytearray:
    content = bytearray(content)
    for kind, _, offset, data in ops:
        if kind == "write":
            if len(content) < offset + len(data):
                content.extend(bytes(offset + len(data) - len(content)))
            content[offset : offset + len(data)] = data
        elif kind == "truncate":
            del content[offset:]
            content.extend(bytes(offset - len(content)))
        elif kind == "delete":
            content.clear()
    return content
