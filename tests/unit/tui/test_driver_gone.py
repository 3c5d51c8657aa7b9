"""A terminal nobody holds any more is noticed, one that was left is not watched any longer."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from thetis_tui.driver import hang_up_when_gone


@pytest.fixture
def hung_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    told: list[int] = []
    monkeypatch.setattr("thetis_tui.driver.os.kill", lambda pid, number: told.append(number) if pid == os.getpid() else None)
    yield told


def watched(terminal: int) -> tuple[threading.Thread, int]:
    ended, end = os.pipe()
    watch = threading.Thread(target=hang_up_when_gone, args=(terminal, ended), daemon=True)
    watch.start()
    return watch, end


def test_it_hangs_up_when_the_other_side_is_closed_whatever_was_typed(hung_up: list[int]) -> None:
    ours, terminal = os.openpty()
    watch, end = watched(terminal)
    os.write(ours, b"typed and not read\n")
    watch.join(0.05)
    assert watch.is_alive() and not hung_up
    os.close(ours)
    watch.join(30)
    assert hung_up == [signal.SIGHUP]
    os.close(end)
    os.close(terminal)


def test_after_it_was_left_nothing_is_noticed(hung_up: list[int]) -> None:
    ours, terminal = os.openpty()
    watch, end = watched(terminal)
    os.close(end)
    watch.join(30)
    os.close(ours)
    assert not watch.is_alive() and not hung_up
    os.close(terminal)
