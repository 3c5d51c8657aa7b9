"""The directory of built runtimes: authenticated files, written whole or not at all, handed out as sealed memory.

Loading precompiled code executes it, so a file counts only with its HMAC, under a key that never leaves the cache
directory; the code covers world and key as well, so two valid files cannot be swapped. Must not import wasmtime.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hmac
import mmap
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from thetis_kernel.errors import RuntimeBuildError

KEEP = 4  # built runtimes of one world that are kept: checkouts with different contracts share the directory

_F_ADD_SEALS, _ALL_SEALS = 1033, 0x1 | 0x2 | 0x4 | 0x8  # linux/fcntl.h: F_SEAL_SEAL, _SHRINK, _GROW, _WRITE
_MFD_NOEXEC_SEAL = 0x8  # required where the sysctl vm.memfd_noexec is 2; unknown before Linux 6.3


class Cache:
    """`directory` is created private (0700) at the first write."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def native(self, world: str, key: str) -> Path:
        """Where the precompiled runtime of `world` under `key` stands."""
        return self.directory / f"{world}-{key[:32]}.cwasm"

    def present(self, world: str, key: str) -> bool:
        """Whether it is there; nothing is said of its integrity."""
        path = self.native(world, key)
        return path.is_file() and path.with_suffix(".hmac").is_file()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory's lock: one process builds, the others wait and then find what they need."""
        self._make()
        fd = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def store(self, world: str, key: str, code: bytes | bytearray) -> None:
        """Put a runtime in place: content first, then the code that makes it count. Old ones of the world go."""
        self._make()
        path = self.native(world, key)
        self._write(path, code)
        self._write(path.with_suffix(".hmac"), self._mac(world, key, code).encode())
        self._sweep(world, path)

    def digest(self, world: str, key: str) -> str:
        """A digest of the built runtime: two builds of one key differ (each bakes in its own hash seed)."""
        try:
            return self.native(world, key).with_suffix(".hmac").read_text()
        except OSError as error:
            raise _missing(world) from error

    def seal(self, world: str, key: str) -> int:
        """The runtime in memory nobody can change any more, verified after sealing; returns the descriptor.

        Raises RuntimeBuildError when missing or damaged; a damaged file is deleted.
        """
        path = self.native(world, key)
        try:
            claimed = path.with_suffix(".hmac").read_bytes()
            size = path.stat().st_size
            fd = _copy_sealed(path)
        except OSError as error:
            raise _missing(world) from error
        try:
            good = size > 0 and self._matches(world, key, fd, claimed)
        except BaseException:
            os.close(fd)
            raise
        if good:
            with contextlib.suppress(OSError):
                os.utime(path)  # used: the sweep takes the longest unused
            return fd
        os.close(fd)
        self.discard(world, key)
        raise RuntimeBuildError(
            f"The cached {world} runtime is damaged or was changed; it has been deleted.",
            hint="Run `thetis setup` to build it again.",
        )

    def discard(self, world: str, key: str) -> None:
        """Delete the runtime."""
        path = self.native(world, key)
        path.with_suffix(".hmac").unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def _matches(self, world: str, key: str, fd: int, claimed: bytes) -> bool:
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as content:
            return hmac.compare_digest(self._mac(world, key, content).encode(), claimed)

    def _mac(self, world: str, key: str, content: bytes | bytearray | mmap.mmap) -> str:
        mac = hmac.new(self._secret(), f"{world}\n{key}\n".encode(), "sha256")
        mac.update(content)
        return mac.hexdigest()

    def _secret(self) -> bytes:
        """32 random bytes in a 0600 file, made once."""
        path = self.directory / "hmac.key"
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            self._make()
            with contextlib.suppress(FileExistsError):
                self._write_new(path, secrets.token_bytes(32))
            return self._secret()
        except OSError as error:
            raise RuntimeBuildError(
                f"{path} cannot be read: {error.strerror}.", hint=f"Delete {self.directory}; it is made again."
            ) from error
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.getuid() or status.st_mode & 0o077:
                raise RuntimeBuildError(
                    f"{path} is readable or owned by somebody else.", hint=f"Delete {self.directory}; it is made again."
                )
            secret = file.read()
        if len(secret) != 32:
            raise RuntimeBuildError(f"{path} is damaged.", hint=f"Delete {self.directory}; it is made again.")
        return secret

    def _make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _write_new(self, path: Path, content: bytes) -> None:
        """Write a file that must not exist yet; a reader sees it whole or not at all."""
        temporary = self._temporary(content)
        try:
            os.link(temporary, path)
        finally:
            os.unlink(temporary)
        self._sync_directory()

    def _write(self, path: Path, content: bytes | bytearray) -> None:
        os.replace(self._temporary(content), path)
        self._sync_directory()

    def _temporary(self, content: bytes | bytearray) -> str:
        fd, name = tempfile.mkstemp(dir=self.directory, prefix=".new-")  # 0600
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            os.unlink(name)
            raise
        return name

    def _sync_directory(self) -> None:
        fd = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def _sweep(self, world: str, keep: Path) -> None:
        found = [path for path in self.directory.glob(f"{world}-*.cwasm") if path != keep]
        for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[KEEP - 1 :]:
            path.with_suffix(".hmac").unlink(missing_ok=True)
            path.unlink(missing_ok=True)


def _missing(world: str) -> RuntimeBuildError:
    return RuntimeBuildError(f"The {world} runtime has not been built.", hint="Run `thetis setup`.")


def _copy_sealed(path: Path) -> int:
    """A copy of `path` in sealed memory (without memfd: in a file that has no name any more)."""
    with open(path, "rb") as source:
        if sys.platform != "linux":
            with tempfile.TemporaryFile() as copy:
                copy.write(source.read())
                copy.flush()
                return os.open(f"/dev/fd/{copy.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
        fd = _memfd(path.stem)
        try:
            offset, size = 0, os.fstat(source.fileno()).st_size
            while offset < size:
                sent = os.sendfile(fd, source.fileno(), offset, size - offset)
                if not sent:
                    break  # cut short meanwhile: the code will not match
                offset += sent
            fcntl.fcntl(fd, _F_ADD_SEALS, _ALL_SEALS)
        except BaseException:
            os.close(fd)
            raise
        return fd


def _memfd(name: str) -> int:
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create(name, flags)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM):
            raise
        return os.memfd_create(name, flags | _MFD_NOEXEC_SEAL)
