"""The artifact store: content-addressed verdicts, written once, checked on every read.

    <directory>/<key>/meta.json     the verdict without its bundle, and an HMAC over it
    <directory>/<key>/bundle        only of a pass; its SHA-256 stands in meta.json
    <directory>/.seal               the HMAC's key, 0600, made at first use
    <directory>/.new-*              entries being written; leftovers are swept

An entry appears by one rename, so it is there whole or not at all, and the first of two writers wins. A failing
verdict is an entry too (the negative cache): the same source is not judged twice. Only the gateway writes here;
readers trust nothing that the seal does not cover. Imports no wasm: a warm start reads files.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Container
from pathlib import Path
from typing import NamedTuple

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import StoreError
from thetis_kernel.forge.key import KEY
from thetis_kernel.protocol.gate import StepResult, Verdict

FORMAT = 1
MAX_META = 4 * 1024 * 1024
MAX_BUNDLE = 8 * 1024 * 1024
"""What one frame between processes holds; the compile step refuses larger ones."""
_USED_S = 3600.0
_PENDING = ".new-"
_SEAL = ".seal"


class Meta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What meta.json says: everything of the verdict but the bundle, which it names by digest.

    `source` is the digest of what was judged; entries of before it was noted have none, and stay valid.
    """

    format: int
    key: str
    ok: bool
    steps: list[StepResult]
    describes: str
    bundle_sha256: str
    source: str = ""


class _Sealed(msgspec.Struct, frozen=True):
    mac: str
    meta: Meta


class Entry(NamedTuple):
    """One artifact on disk: its key, the digest of its source ("" = not noted), whether it passed, its size in bytes, and
    when it was last read or written (seconds since the epoch, to the hour)."""

    key: str
    source: str
    ok: bool
    size: int
    used: float


class ArtifactStore:
    """Verdicts under one directory.

    `on_damage(key, why)` is told of each entry that was found damaged and removed; it is judged again at next use.
    """

    def __init__(self, directory: Path, *, on_damage: Callable[[str, str], None] | None = None) -> None:
        self._directory = directory
        self._on_damage = on_damage
        self._secret: bytes | None = None

    def get(self, key: str) -> Verdict | None:
        """The verdict under `key`, pass or fail; None when there is none (any more: a damaged entry is removed)."""
        entry = self._entry(key)
        try:
            meta = self._meta(entry, key)
            bundle = self._bundle(entry, meta) if meta.ok else ""
        except FileNotFoundError:
            if entry.exists():
                self._remove_damaged(entry, key, "the entry is incomplete")
            return None
        except _Damaged as exc:
            self._remove_damaged(entry, key, str(exc))
            return None
        _touch(entry)
        return Verdict(meta.ok, key, meta.steps, bundle, meta.describes)

    def put(self, verdict: Verdict, source: str = "") -> None:
        """Keep `verdict` over the source of this digest for good; does nothing when its key is there already.

        Durable when it returns. Raises StoreError when the disk does not take it; nothing half-written is visible.
        """
        entry = self._entry(verdict.key)
        if (entry / "meta.json").exists():
            return
        bundle = verdict.bundle.encode() if verdict.ok else b""
        digest = hashlib.sha256(bundle).hexdigest()
        meta = Meta(FORMAT, verdict.key, verdict.ok, verdict.steps, verdict.describes, digest, source)
        crash.point("swap.before")
        try:
            self._write(entry, meta, bundle)
        except OSError as exc:
            raise StoreError(
                f"The artifact {verdict.key[:12]} could not be stored: {exc.strerror}.", hint="Free some space and try again."
            ) from exc
        crash.point("swap.after")

    def forget(self, key: str) -> bool:
        """Remove the entry under `key`, so that its source is judged again; False when there was none."""
        entry = self._entry(key)
        if not entry.exists():
            return False
        self._discard(entry)
        return True

    def entries(self) -> list[Entry]:
        """What is there and whole, as far as its size and seal say; bundles are not read."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for path in self._directory.iterdir():
                if not KEY.fullmatch(path.name):
                    continue
                with contextlib.suppress(FileNotFoundError, _Damaged):
                    meta = self._meta(path, path.name)
                    size = sum(part.lstat().st_size for part in path.iterdir())
                    found.append(Entry(path.name, meta.source, meta.ok, size, path.stat().st_mtime))
        return found

    def sweep(self, keep: Container[str] | None = None) -> list[str]:
        """Remove what no one can use: half-written entries, links in the place of entries, and (with `keep`) entries not in it.

        For a moment without writers, such as start. Other names are not ours and stay. Returns the names removed.
        """
        removed = []
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(self._directory.iterdir()):
                entry = KEY.fullmatch(path.name) is not None
                dropped = entry and (path.is_symlink() or (keep is not None and path.name not in keep))
                if dropped or path.name.startswith(_PENDING):
                    self._discard(path)
                    removed.append(path.name)
        return removed

    def _entry(self, key: str) -> Path:
        if not KEY.fullmatch(key):
            raise StoreError(f"{key[:80]!r} is not an artifact key.")
        return self._directory / key

    def _meta(self, entry: Path, key: str) -> Meta:
        data = _read(entry / "meta.json", MAX_META)
        try:
            sealed = msgspec.json.decode(data, type=_Sealed)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
            raise _Damaged("meta.json is not readable") from exc
        if not hmac.compare_digest(sealed.mac.encode(), self._mac(sealed.meta).encode()):
            raise _Damaged("meta.json does not carry this store's seal")
        if sealed.meta.key != key or sealed.meta.format != FORMAT:
            raise _Damaged("meta.json belongs to another entry")
        return sealed.meta

    def _bundle(self, entry: Path, meta: Meta) -> str:
        data = _read(entry / "bundle", MAX_BUNDLE)
        if hashlib.sha256(data).hexdigest() != meta.bundle_sha256:
            raise _Damaged("the bundle is not the one that was judged")
        return data.decode()

    def _write(self, entry: Path, meta: Meta, bundle: bytes) -> None:
        sealed = msgspec.json.encode(_Sealed(self._mac(meta), meta))
        pending = self._directory / f"{_PENDING}{secrets.token_hex(8)}"
        pending.mkdir(mode=0o700)
        try:
            if meta.ok:
                _write_synced(pending / "bundle", bundle)
            _write_synced(pending / "meta.json", sealed)
            _sync_directory(pending)
            try:
                pending.rename(entry)
            except OSError as exc:
                if exc.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                    raise
                # Another writer was first; its verdict stands and ours goes.
            _sync_directory(self._directory)
        finally:
            shutil.rmtree(pending, ignore_errors=True)

    def _mac(self, meta: Meta) -> str:
        return hmac.new(self._seal(), msgspec.json.encode(meta), hashlib.sha256).hexdigest()

    def _seal(self) -> bytes:
        """The store's secret. Made when there is none; a damaged one is replaced, and every entry judged anew."""
        if self._secret is None:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = self._directory / _SEAL
            secret = _read_seal(path)
            while secret is None:
                path.unlink(missing_ok=True)
                self._make_seal(path)
                secret = _read_seal(path)
            self._secret = secret
        return self._secret

    def _make_seal(self, path: Path) -> None:
        fresh = self._directory / f"{_PENDING}{secrets.token_hex(8)}"
        _write_synced(fresh, secrets.token_bytes(32))
        try:
            with contextlib.suppress(FileExistsError):  # another process was first: its secret is the store's
                os.link(fresh, path)
        finally:
            fresh.unlink()
        _sync_directory(self._directory)

    def _remove_damaged(self, entry: Path, key: str, why: str) -> None:
        self._discard(entry)
        if self._on_damage is not None:
            self._on_damage(key, why)

    def _discard(self, path: Path) -> None:
        """Out of sight by one rename, then gone."""
        grave = self._directory / f"{_PENDING}{secrets.token_hex(8)}"
        with contextlib.suppress(FileNotFoundError):
            path.rename(grave)
            crash.point("collect.hidden")
        if grave.is_symlink() or grave.is_file():
            grave.unlink()
        else:
            shutil.rmtree(grave, ignore_errors=True)


class _Damaged(Exception):
    """An entry that is not what was written. Never leaves this module."""


def _read(path: Path, cap: int) -> bytes:
    """The whole of a plain file of at most `cap` bytes; raises _Damaged for anything else, FileNotFoundError for none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_size > cap:
                raise _Damaged(f"{path.name} is not a plain file of a plausible size")
            return file.read(cap + 1)
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise _Damaged(f"{path.name} cannot be read: {exc.strerror}") from exc


def _read_seal(path: Path) -> bytes | None:
    """The secret, or None when there is none or it is none."""
    try:
        secret = _read(path, 1024)
    except (_Damaged, FileNotFoundError):
        return None
    return secret if len(secret) == 32 else None


def _touch(entry: Path) -> None:
    """Note that the entry is used: collection takes the longest unused. No more than once an hour, and never in the way."""
    with contextlib.suppress(OSError):
        if time.time() - entry.stat().st_mtime > _USED_S:
            os.utime(entry)


def _write_synced(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
