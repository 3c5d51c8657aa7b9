"""Long outputs in files lose their secrets before they are named, whatever their size, and nothing else is touched."""

from __future__ import annotations

import fcntl
import os
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.gateway import spills
from thetis_kernel.gateway.spills import HELD, LARGEST, PIECE, Spills, clean, sweep
from thetis_kernel.scrub.scrubber import REMOVED, Scrubber

KEY = b"canary-0123456789-abcdef"
TOKEN = b"ghp_" + b"a1B2c3D4e5" * 4
PRIVATE = b"-----BEGIN PRIVATE KEY-----\n" + b"MIIEvQIBADANBgkqhkiG9w0BAQ\n" * 600 + b"-----END PRIVATE KEY-----\n"
GOING = threading.Event()


@pytest.fixture
def scrubber() -> Scrubber:
    return knowing()


def knowing() -> Scrubber:
    made = Scrubber()
    made.learn(KEY.decode())
    return made


@pytest.mark.parametrize("around", [b"", b"\xff\xfe\n", b"line\n" * 300_000, "\u00e9\U0001f600\n".encode() * 1000],
                         ids=["alone", "bytes", "lines", "characters"])
def test_a_secret_goes_and_every_other_byte_stays(tmp_path: Path, scrubber: Scrubber, around: bytes) -> None:
    file = tmp_path / "c.txt"
    file.write_bytes(around + KEY + around)
    assert clean(file, scrubber, GOING)
    assert file.read_bytes() == around + REMOVED.encode() + around
    assert file.stat().st_mode & 0o777 == 0o400
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["c.txt"]


@pytest.mark.parametrize("secret", [KEY, TOKEN, PRIVATE], ids=["known", "issued", "private key"])
@pytest.mark.parametrize("back", [-1, 0, 1, 10, 23, 24, 100, 9000, 16_000])
def test_no_border_of_a_piece_hides_a_secret(tmp_path: Path, scrubber: Scrubber, secret: bytes, back: int) -> None:
    file = tmp_path / "c.txt"
    before = b"word word\n" * (PIECE // 10)
    before = before[: PIECE - back - 1] + b"\n"
    file.write_bytes(before + secret + b"\n" + b"after\n" * 1000)
    assert clean(file, scrubber, GOING)
    assert file.read_bytes() == before + REMOVED.encode() + b"\n" * (1 + secret.endswith(b"\n")) + b"after\n" * 1000


@settings(max_examples=25, deadline=None)
@given(st.integers(HELD - 30, HELD + 60) | st.integers(0, HELD), st.integers(0, 1))
def test_in_a_line_without_an_end_a_known_value_is_found_wherever_it_stands(back: int, pieces: int) -> None:
    size = PIECE * (1 + pieces)
    data = b"/" * (size - back) + KEY + b"/" * (2 * back + 5)
    cut = spills._cut(data[:size], knowing())
    done, held = data[:cut], data[cut:]
    assert 0 < cut <= size
    assert not any(KEY[:n] == done[-n:] and held.startswith(KEY[n:]) for n in range(1, len(KEY)))


def test_memory_is_bounded_and_a_large_file_is_clean_to_its_end(tmp_path: Path, scrubber: Scrubber) -> None:
    file = tmp_path / "c.txt"
    with file.open("wb") as out:
        for _ in range(24):
            out.write(b"x y z\n" * (PIECE // 6))
        out.write(b"%s\n" % KEY)
    tracemalloc.start()
    assert clean(file, scrubber, GOING)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * PIECE
    text = file.read_bytes()
    assert KEY not in text and text.endswith(b"x y z\n" + REMOVED.encode() + b"\n")


def test_what_holds_none_is_not_written_and_not_looked_through_again(tmp_path: Path, scrubber: Scrubber) -> None:
    file = tmp_path / "c.txt"
    file.write_bytes(b"plain\xff\n")
    before = file.stat().st_ino
    assert not clean(file, scrubber, GOING)
    assert (file.stat().st_ino, file.read_bytes()) == (before, b"plain\xff\n")
    assert file.stat().st_mode & 0o777 == 0o400


def test_odd_files_are_left_alone(tmp_path: Path, scrubber: Scrubber) -> None:
    target = tmp_path / "target"
    target.write_bytes(KEY)
    place = tmp_path / "place"
    place.mkdir()
    (place / "link").symlink_to(target)
    os.mkfifo(place / "pipe")
    for name in ("link", "pipe", ".", "nothing"):
        assert not clean(place / name, scrubber, GOING)
    assert not sweep(place, scrubber, GOING)
    assert target.read_bytes() == KEY


def test_what_is_being_written_waits(tmp_path: Path, scrubber: Scrubber) -> None:
    file = tmp_path / "c.txt"
    with file.open("wb") as writing:
        fcntl.flock(writing, fcntl.LOCK_EX)
        writing.write(KEY)
        writing.flush()
        sweep(tmp_path, scrubber, GOING)
        assert file.read_bytes() == KEY
    sweep(tmp_path, scrubber, GOING)
    assert file.read_bytes() == REMOVED.encode()


def test_halves_of_a_gateway_that_was_killed_go(tmp_path: Path, scrubber: Scrubber) -> None:
    half = tmp_path / ".0123456789ab.tmp"
    half.write_bytes(b"half")
    sweep(tmp_path, scrubber, GOING)
    assert not half.exists()


def test_with_a_full_disk_the_output_goes_rather_than_the_secret_stays(
        tmp_path: Path, scrubber: Scrubber, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "place"
    place.mkdir()
    file = place / "c.txt"
    file.write_bytes(KEY)

    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spills, "_begin", full)
    assert clean(file, scrubber, GOING)
    assert list(place.iterdir()) == []


def test_an_end_leaves_the_file_for_the_next_gateway(tmp_path: Path, scrubber: Scrubber) -> None:
    file = tmp_path / "c.txt"
    file.write_bytes(KEY)
    stopped = threading.Event()
    stopped.set()
    assert not clean(file, scrubber, stopped)
    assert file.read_bytes() == KEY and file.stat().st_mode & 0o200 and not list(tmp_path.glob(".*"))


async def test_small_ones_at_once_large_ones_after_and_all_of_an_earlier_gateway(tmp_path: Path, scrubber: Scrubber) -> None:
    for session in ("conv0001", "conv0002"):
        (tmp_path / session).mkdir()
        (tmp_path / session / "small").write_bytes(KEY)
        (tmp_path / session / "large").write_bytes(KEY + b"\n" * LARGEST)
    made = Spills(tmp_path, scrubber)
    await made.look_through("conv0001")
    assert (tmp_path / "conv0001" / "small").read_bytes() == REMOVED.encode()
    assert (tmp_path / "conv0002" / "small").read_bytes() == KEY
    made.look_through_all()
    await made.settle()
    assert not any(KEY in file.read_bytes() for file in tmp_path.glob("*/*"))
    await made.look_through("conv0003")


async def test_an_end_waits_for_large_ones_a_while(tmp_path: Path, scrubber: Scrubber) -> None:
    large = tmp_path / "conv0001" / "large"
    large.parent.mkdir()
    large.write_bytes(KEY + b"\n" * LARGEST)
    made = Spills(tmp_path, scrubber)
    await made.look_through("conv0001")
    await made.close()
    assert KEY not in large.read_bytes()
