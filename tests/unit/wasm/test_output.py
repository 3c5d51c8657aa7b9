"""A guest's streams: files in memory that cannot grow past their cap."""

from __future__ import annotations

import os

import pytest
from thetis_kernel.wasm.output import Captured


@pytest.fixture
def stream():
    captured = Captured(64 << 10)
    writer = os.open(captured.path, os.O_WRONLY | os.O_TRUNC)
    captured.limit()
    yield captured, writer
    os.close(writer)
    captured.close()


def test_nothing_written_is_nothing(stream):
    assert stream[0].text() == ""


def test_what_was_written_is_there(stream):
    captured, writer = stream
    os.write(writer, "héllo\n".encode())
    os.write(writer, b"bad \xff byte")
    assert captured.text() == "héllo\nbad \ufffd byte"


def test_a_flood_stops_at_the_cap_and_is_marked(stream):
    captured, writer = stream
    with pytest.raises(PermissionError):
        for _ in range(1000):
            os.write(writer, b"x" * 1000)
    text = captured.text()
    assert len(text) <= (64 << 10) + 100
    assert text.endswith("... output cut: the guest printed more than 65536 bytes\n")


def test_each_stream_is_closed():
    before = len(os.listdir("/proc/self/fd"))
    Captured(4096).close()
    assert len(os.listdir("/proc/self/fd")) == before
