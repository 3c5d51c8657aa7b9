"""Built runtimes on disk: authenticated, whole or absent, sealed in memory."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import random

import pytest
from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.wasm.cache import KEEP, Cache

KEY, OTHER_KEY = "a" * 64, "b" * 64
CODE = random.Random(7).randbytes(300_000)


@pytest.fixture
def cache(tmp_path):
    cache = Cache(tmp_path / "runtimes")
    cache.store("tool", KEY, CODE)
    return cache


def read(fd):
    try:
        return os.pread(fd, 1 << 20, 0)
    finally:
        os.close(fd)


def refused(cache, world="tool", key=KEY):
    with pytest.raises(RuntimeBuildError, match="damaged"):
        cache.seal(world, key)
    assert not cache.present(world, key), "a damaged file is deleted, so that it is rebuilt"


def test_what_was_stored_comes_back_sealed(cache):
    assert cache.present("tool", KEY)
    assert read(cache.seal("tool", KEY)) == CODE


def test_the_directory_and_the_key_are_private(cache):
    assert cache.directory.stat().st_mode & 0o777 == 0o700
    for path in cache.directory.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path.name


def test_sealed_memory_cannot_be_changed(cache):
    fd = cache.seal("tool", KEY)
    seals = fcntl.fcntl(fd, 1034)  # F_GET_SEALS
    assert seals & 0xF == 0xF
    with pytest.raises(PermissionError):
        os.pwrite(fd, b"x", 0)
    with pytest.raises(PermissionError):
        os.ftruncate(fd, 10)
    with pytest.raises(PermissionError):
        os.ftruncate(fd, len(CODE) + 10)
    with pytest.raises(PermissionError):
        mmap.mmap(fd, 0, prot=mmap.PROT_READ | mmap.PROT_WRITE, flags=mmap.MAP_SHARED)
    with pytest.raises(PermissionError):
        fcntl.fcntl(fd, 1033, 0)  # F_ADD_SEALS
    other = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
    with pytest.raises(PermissionError):
        os.write(other, b"x")
    os.close(other)
    assert read(fd) == CODE


def test_any_flipped_bit_is_refused(cache):
    path = cache.native("tool", KEY)
    choose = random.Random(11)
    for _ in range(60):
        place, bit = choose.randrange(len(CODE)), 1 << choose.randrange(8)
        changed = bytearray(CODE)
        changed[place] ^= bit
        cache.store("tool", KEY, CODE)
        path.write_bytes(changed)
        refused(cache)


@pytest.mark.parametrize("length", [0, 1, 4096, len(CODE) - 1])
def test_a_truncated_file_is_refused(cache, length):
    os.truncate(cache.native("tool", KEY), length)
    refused(cache)


def test_an_appended_byte_is_refused(cache):
    with open(cache.native("tool", KEY), "ab") as file:
        file.write(b"\0")
    refused(cache)


@pytest.mark.parametrize(("world", "key"), [("agent", KEY), ("tool", OTHER_KEY)])
def test_two_valid_files_cannot_be_swapped(cache, world, key):
    cache.store(world, key, CODE[::-1])
    mine, theirs = cache.native("tool", KEY), cache.native(world, key)
    for path in (mine, theirs):
        for suffix in (".cwasm", ".hmac"):
            os.rename(path.with_suffix(suffix), str(path.with_suffix(suffix)) + ".moved")
    for one, other in ((mine, theirs), (theirs, mine)):
        for suffix in (".cwasm", ".hmac"):
            os.rename(str(one.with_suffix(suffix)) + ".moved", other.with_suffix(suffix))
    refused(cache)
    refused(cache, world, key)


def test_a_file_made_under_another_key_is_refused(cache, tmp_path):
    foreign = Cache(tmp_path / "foreign")
    foreign.store("tool", KEY, CODE)
    for suffix in (".cwasm", ".hmac"):
        content = foreign.native("tool", KEY).with_suffix(suffix).read_bytes()
        cache.native("tool", KEY).with_suffix(suffix).write_bytes(content)
    refused(cache)


@pytest.mark.parametrize("code", [b"", b"0" * 64, b"\xff" * 64])
def test_a_forged_code_is_refused(cache, code):
    cache.native("tool", KEY).with_suffix(".hmac").write_bytes(code)
    refused(cache)


@pytest.mark.parametrize("suffix", [".cwasm", ".hmac"])
def test_a_missing_half_is_not_built(cache, suffix):
    cache.native("tool", KEY).with_suffix(suffix).unlink()
    assert not cache.present("tool", KEY)
    with pytest.raises(RuntimeBuildError, match="has not been built") as caught:
        cache.seal("tool", KEY)
    assert "thetis setup" in caught.value.hint


def test_a_readable_secret_is_refused(cache):
    (cache.directory / "hmac.key").chmod(0o644)
    with pytest.raises(RuntimeBuildError, match="readable"):
        cache.seal("tool", KEY)


def test_a_symlink_for_the_secret_is_refused(cache, tmp_path):
    (cache.directory / "hmac.key").rename(tmp_path / "planted")
    (cache.directory / "hmac.key").symlink_to(tmp_path / "planted")
    with pytest.raises(RuntimeBuildError, match="cannot be read"):
        cache.seal("tool", KEY)


def test_a_failed_write_leaves_nothing(cache, monkeypatch):
    before = sorted(path.name for path in cache.directory.iterdir())

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        cache.store("agent", KEY, CODE)
    assert sorted(path.name for path in cache.directory.iterdir()) == before


def test_no_descriptor_is_left_behind(cache):
    before = len(os.listdir("/proc/self/fd"))
    os.close(cache.seal("tool", KEY))
    with open(cache.native("tool", KEY), "r+b") as file:
        file.write(b"changed")
    refused(cache)
    assert len(os.listdir("/proc/self/fd")) == before


def test_old_runtimes_of_a_world_go_and_used_ones_stay(cache):
    cache.store("agent", KEY, CODE)
    for number in range(KEEP + 3):
        key = f"{number:064d}"[::-1]
        cache.store("tool", key, CODE)
        os.utime(cache.native("tool", key), (1_000_000 + number, 1_000_000 + number))
        os.close(cache.seal("tool", KEY))  # in use all the time
    assert cache.present("tool", KEY)
    assert cache.present("agent", KEY)
    assert len(list(cache.directory.glob("tool-*.cwasm"))) == KEEP
    assert len(list(cache.directory.glob("tool-*.hmac"))) == KEEP


def test_the_digest_tells_two_builds_apart(cache):
    first = cache.digest("tool", KEY)
    cache.store("tool", KEY, CODE[::-1])
    assert cache.digest("tool", KEY) != first
    with pytest.raises(RuntimeBuildError, match="has not been built"):
        cache.digest("agent", KEY)
