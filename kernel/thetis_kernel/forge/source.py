"""Read a guest's directory into a `GuestSource`: a bounded, symlink-free walk over text files.

The directory belongs to an agent or a stranger and may change while it is read: everything is opened relative to
an open directory, without following links, and read up to its cap. Says what cannot be read, never what it means;
the steps judge that.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from thetis_kernel.errors import UsageError
from thetis_kernel.forge import packages
from thetis_kernel.forge.diagnostics import Complaints
from thetis_kernel.forge.layout import MANIFEST, module_of, world_of
from thetis_kernel.protocol.gate import GuestSource, Package, World

MAX_FILE = 512 * 1024
MAX_TOTAL = 4 * 1024 * 1024
MAX_FILES = 400
MAX_MANIFEST = 16 * 1024
MAX_DEPTH = 8
MAX_ENTRIES = 4000
"""Directory entries looked at in all, modules or not: a directory of a million names is not a guest."""
_IGNORED = frozenset({"__pycache__", "node_modules"})


def read_guest(directory: Path, aspect: str) -> GuestSource:
    """The guest in `directory` as candidate for `aspect` (`agent`, `gateway/<name>`, `tool/<name>`).

    Reads `guest.toml`, every `*.py` below it and `packages/*.json`; other files, hidden ones and `__pycache__` are no part
    of a guest.
    Raises GateError (step "source") naming each file that is too large, not UTF-8, a link, or not nameable as a
    module; UsageError when `aspect` is none.
    """
    try:
        world = cast(World, world_of(aspect))
    except ValueError as exc:
        raise UsageError(f"{exc}.", hint="Say agent, gateway/NAME or tool/NAME.") from exc
    reader = _Reader()
    reader.read(directory)
    reader.complaints.raise_if_any("source", f"{aspect} cannot be read")
    found = sorted(reader.packages, key=lambda package: package.name)
    return GuestSource(aspect, world, reader.manifest, dict(sorted(reader.modules.items())), found)


def source_digest(source: GuestSource) -> str:
    """SHA-256 (hex) over manifest and modules in name order, each length-prefixed; equal sources, equal digests."""
    digest = hashlib.sha256(b"thetis-guest-source-1")
    brought = [text for package in source.packages for text in ("", packages.text_of(package))]  # no module is named ""
    for part in (source.manifest, *(text for item in sorted(source.modules.items()) for text in item), *brought):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


class _Reader:
    """State of one walk."""

    def __init__(self) -> None:
        self.complaints = Complaints()
        self.manifest = ""
        self.modules: dict[str, str] = {}
        self.packages: list[Package] = []
        self._total = 0
        self._entries = 0
        self._full = False

    def read(self, directory: Path) -> None:
        try:
            fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as exc:
            self.complaints.add(f"the guest's directory cannot be opened: {exc.strerror}")
            return
        with _closing(fd):
            self._walk(fd, "", 0)
        if not self.manifest and not self.complaints.found:
            self.complaints.add("there is no guest.toml here, or it is empty", MANIFEST)

    def _walk(self, fd: int, prefix: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.complaints.add(f"directories are nested deeper than {MAX_DEPTH}", prefix.rstrip("/"))
            return
        for name in self._names(fd, prefix):
            if self._full:
                return
            path = prefix + name
            try:
                mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    with _closing(os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)) as sub:
                        self._walk(sub, path + "/", depth + 1)
                elif name.endswith(".py") or path == MANIFEST or packages.FILE.fullmatch(path):
                    self._take(fd, name, path)
                elif stat.S_ISLNK(mode):
                    self.complaints.add("is a symbolic link; a guest is made of plain files", path)
            except OSError as exc:
                self.complaints.add(f"cannot be read: {exc.strerror}", path)

    def _names(self, fd: int, prefix: str) -> list[str]:
        names = []
        with os.scandir(fd) as entries:
            for entry in entries:
                self._entries += 1
                if self._entries > MAX_ENTRIES:
                    self._stop(f"the directory holds more than {MAX_ENTRIES} entries")
                    return []
                try:
                    entry.name.encode()
                except UnicodeEncodeError:
                    self.complaints.add("a file's name is not UTF-8", prefix + ascii(entry.name))
                    continue
                if not entry.name.startswith(".") and entry.name not in _IGNORED:
                    names.append(entry.name)
        return sorted(names)

    def _take(self, fd: int, name: str, path: str) -> None:
        try:
            opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
        except OSError as exc:
            link = stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
            why = "is a symbolic link; a guest is made of plain files" if link else f"cannot be read: {exc.strerror}"
            self.complaints.add(why, path)
            return
        package = not name.endswith(".py") and path != MANIFEST
        cap = MAX_MANIFEST if path == MANIFEST else packages.MAX_FILE if package else MAX_FILE
        with _closing(opened):
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                self.complaints.add("is not a plain file", path)
                return
            data = _read_up_to(opened, cap + 1)
        if len(data) > cap:
            self.complaints.add(f"is larger than {cap // 1024} KiB", path)
            return
        self._total += len(data)
        if self._total > MAX_TOTAL:
            self._stop(f"the guest is larger than {MAX_TOTAL // 1024} KiB in all")
            return
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as exc:
            self.complaints.add("is not UTF-8", path, data.count(b"\n", 0, exc.start) + 1)
            return
        if path == MANIFEST:
            self.manifest = text
        elif package:
            self._package(path, text)
        else:
            self._module(path, text)

    def _package(self, path: str, text: str) -> None:
        try:
            found = packages.parse(text, path)
        except ValueError as exc:
            self.complaints.add(str(exc), path)
            return
        if any(one.name == found.name for one in self.packages):
            self.complaints.add(f"there is another version of {found.name} already", path)
        elif len(self.packages) >= packages.MAX_PACKAGES:
            self._stop(f"the guest brings more than {packages.MAX_PACKAGES} packages")
        else:
            self.packages.append(found)

    def _module(self, path: str, text: str) -> None:
        try:
            name = module_of(path)
        except ValueError as exc:
            self.complaints.add(str(exc), path)
            return
        if name in self.modules:
            self.complaints.add(f"there is a module and a package named {name}; keep one", path)
        elif len(self.modules) >= MAX_FILES:
            self._stop(f"the guest has more than {MAX_FILES} modules")
        else:
            self.modules[name] = text

    def _stop(self, message: str) -> None:
        self.complaints.add(message)
        self._full = True


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _read_up_to(fd: int, size: int) -> bytes:
    """At most `size` bytes of `fd`."""
    pieces: list[bytes] = []
    while size > 0 and (piece := os.read(fd, min(size, 1 << 20))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
