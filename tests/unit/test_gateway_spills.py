"""Long outputs in files lose their secrets before they are named, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from thetis_kernel.gateway.spills import LARGEST, clean
from thetis_kernel.scrub.scrubber import REMOVED, Scrubber

KEY = b"canary-0123456789-abcdef"


@pytest.fixture
def scrubber() -> Scrubber:
    made = Scrubber()
    made.learn(KEY.decode())
    return made


@pytest.mark.parametrize("around", [b"", b"\xff\xfe\n", b"line\n" * 300_000, "\u00e9\U0001f600\n".encode() * 1000],
                         ids=["alone", "bytes", "lines", "characters"])
def test_a_secret_goes_and_every_other_byte_stays(tmp_path: Path, scrubber: Scrubber, around: bytes) -> None:
    file = tmp_path / "c.txt"
    file.write_bytes(around + KEY + around)
    assert clean(file, scrubber)
    assert file.read_bytes() == around + REMOVED.encode() + around
    assert file.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["c.txt"]


def test_what_holds_none_is_not_written(tmp_path: Path, scrubber: Scrubber) -> None:
    file = tmp_path / "c.txt"
    file.write_bytes(b"plain\xff\n")
    before = file.stat().st_ino
    assert not clean(file, scrubber)
    assert (file.stat().st_ino, file.read_bytes()) == (before, b"plain\xff\n")


def test_odd_files_are_left_alone(tmp_path: Path, scrubber: Scrubber) -> None:
    target = tmp_path / "target"
    target.write_bytes(KEY)
    (tmp_path / "link").symlink_to(target)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(KEY + b"\n" * LARGEST)
    for name in ("link", "pipe", "large", ".", "nothing"):
        assert not clean(tmp_path / name, scrubber)
    assert target.read_bytes() == KEY
