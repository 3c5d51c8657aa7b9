"""One command's output: bounded whatever it writes, read once, shown while it comes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from thetis_kernel.toolhost.terminals.run import LIVE_CHARACTERS, OUTPUT_BYTES, SPILL_BYTES, UNREAD_BYTES, Run
from thetis_kernel.toolhost.terminals.shell import MARK

MIB = 1024 * 1024


def made(spill: Path | None = None, watched: list[str] | None = None) -> Run:
    return Run(
        1,
        "x",
        background=False,
        started=0.0,
        deadline=9.0,
        spill=spill,
        watch=None if watched is None else watched.append,
    )


def mark(run: Run) -> bytes:
    return f"\x1b]{MARK};{run.nonce}\x07".encode()


def test_the_output_ends_at_the_mark() -> None:
    run = made()
    run.heard(b"one\r\ntwo" + mark(run) + b"of the background\r\n")
    run.finish(1.0)
    assert run.marked and run.output()["output"] == "one\ntwo"


def test_85_a_flood_is_bounded_in_memory_and_whole_in_the_spill(tmp_path: Path) -> None:
    """opencode#10913: unbounded shell output strings."""
    spill, watched = tmp_path / "c.txt", list[str]()
    run = made(spill, watched)
    line = b"x" * 99 + b"\r\n"
    tracemalloc.start()
    for _ in range(16 * MIB // len(line) // 100):
        run.heard(line * 100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    run.heard(mark(run))
    run.finish(1.0)
    found = run.output()
    assert peak < 4 * MIB
    assert found["truncated"] and len(found["output"]) <= OUTPUT_BYTES + 100 and found["spill"] == str(spill)
    assert spill.stat().st_size == found["total_bytes"] <= SPILL_BYTES
    assert sum(map(len, watched)) <= LIVE_CHARACTERS + 16 * 1024


def test_what_was_read_is_not_told_again() -> None:
    run = made()
    run.heard(b"one\r\nname? ")
    assert run.unread() == "one\nname? "
    assert run.unread() == ""
    run.heard(b"Ada\r\nhello Ada\r\n")
    assert run.unread() == "Ada\nhello Ada\n"
    run.heard(b"y" * (UNREAD_BYTES * 3) + b"\r\n")
    assert len(run.unread()) <= UNREAD_BYTES + 100


def test_a_watcher_sees_lines_and_after_a_moment_the_prompt() -> None:
    watched: list[str] = []
    run = made(watched=watched)
    run.heard(b"one\r\npass")
    assert watched == ["one\n"] and run.waits_to_be_shown
    run.quiet()
    assert "".join(watched) == "one\npass" and not run.waits_to_be_shown
    run.heard(b"word: \r\n50%\r60%\r\n")
    assert "".join(watched) == "one\npassword: \n60%\n"


def test_how_it_ended() -> None:
    run = made()
    assert run.result(2.0)["exit"] is None and run.result(2.0)["duration_ms"] == 2000
    run.finish(3.0)
    assert run.result(9.0) == {"exit": 137, "signal": 9, "timed_out": False, "cancelled": False, "duration_ms": 3000}
