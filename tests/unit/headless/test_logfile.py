"""The daemon's log: bounded, rotated, and never a reason to fail."""

from __future__ import annotations

import errno
import json
import logging
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.gateway.headless.hearing import Handler, Hearing, place_of
from thetis_kernel.gateway.headless.logfile import KEPT, LogFile, log_lines
from thetis_kernel.protocol.client import EventStored, Notice
from thetis_kernel.protocol.events import Event, User, encode_body
from thetis_kernel.scrub.scrubber import Scrubber


def whats(path: Path) -> list[str]:
    return [line["what"] for line in log_lines(path)]


def test_lines_come_back_in_order_and_are_private(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "daemon.log")
    log.write("info", "one", pid=3)
    log.write("warn", "two\nlines \x1b[31m", hint="x" * 5000)
    assert whats(tmp_path / "daemon.log") == ["one", "two\nlines \x1b[31m"]
    assert len((tmp_path / "daemon.log").read_bytes().splitlines()) == 2, "a line is a line, whatever is in it"
    assert (tmp_path / "daemon.log").stat().st_mode & 0o777 == 0o600


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=120))
def test_complaint_88_it_stays_within_its_bounds_and_loses_the_oldest_alone(sizes: list[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as base:
        path = Path(base) / "daemon.log"
        log = LogFile(path, max_bytes=1000)
        for number, size in enumerate(sizes):
            log.write("info", f"{number}", text="x" * size)
        assert all(each.stat().st_size <= 1000 for each in Path(base).iterdir()) and len(list(Path(base).iterdir())) <= KEPT + 1
        kept = [int(what) for what in whats(path)]
        assert kept == list(range(len(sizes)))[-len(kept):]


def test_complaint_34_a_full_disk_costs_lines_and_is_said_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "daemon.log"
    log = LogFile(path)
    log.write("info", "before")
    written = os.write

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    log.write("info", "lost")
    log.write("info", "lost, too")
    assert "No space left" in log.trouble
    monkeypatch.setattr(os, "write", written)
    log.write("info", "after")
    assert log.trouble == ""
    told = whats(path)
    assert told[0] == "before" and told[-1] == "after"
    assert told[1].startswith("2 lines were lost: ") and "No space left" in told[1]


def test_half_a_line_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "daemon.log"
    log = LogFile(path)
    log.write("info", "before")
    written = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: written(descriptor, data[:5]))
    log.write("info", "cut")
    monkeypatch.setattr(os, "write", written)
    log.write("info", "after")
    assert [json.loads(line)["what"] for line in path.read_text().splitlines()][::2] == ["before", "after"]


def test_a_log_that_was_removed_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    log = LogFile(path)
    log.write("info", "gone")
    path.unlink()
    log.write("info", "here")
    assert whats(path) == ["here"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("")
    (tmp_path / "daemon.log").symlink_to(tmp_path / "theirs")
    log = LogFile(tmp_path / "daemon.log")
    log.write("info", "x")
    assert (tmp_path / "theirs").read_text() == "" and log.trouble


def test_nothing_anybody_said_is_logged(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "daemon.log")
    hearing = Hearing(log)
    body = User(text="my secret plan")
    hearing.heard(EventStored(event=Event("ab" * 8, 2, "e", 0, "user", 1, encode_body(body))))
    hearing.heard(Notice(level="warn", message="The disk is nearly full."))
    assert whats(tmp_path / "daemon.log") == ["The disk is nearly full."]


def test_an_exception_is_logged_by_its_type_and_place(tmp_path: Path) -> None:
    scrubber = Scrubber()
    scrubber.learn("sk-very-secret-value-1234567890")
    handler = Handler(LogFile(tmp_path / "daemon.log"), scrubber)
    logger = logging.Logger("a.library")
    logger.addHandler(handler)
    try:
        raise ValueError("the text may hold anything")
    except ValueError:
        logger.exception("it failed with %s", "sk-very-secret-value-1234567890")
    [line] = log_lines(tmp_path / "daemon.log")
    assert line["error"].startswith("ValueError at test_logfile.py:")
    assert "anything" not in json.dumps(line) and "very-secret" not in json.dumps(line)
    assert place_of(KeyError("x")) == "KeyError"
