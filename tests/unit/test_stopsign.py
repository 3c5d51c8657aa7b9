"""The stop that tells of itself."""

from __future__ import annotations

import threading

from thetis_kernel.stopsign import StopSign


def test_whoever_waits_is_called_once() -> None:
    sign, called = StopSign(), []
    sign.on_set(lambda: called.append("before"))
    sign.on_set(lambda: called.append("taken out"))()
    sign.set()
    sign.set()
    sign.on_set(lambda: called.append("late"))
    assert called == ["before", "late"]


def test_it_is_an_event() -> None:
    sign = StopSign()
    waiting = threading.Thread(target=sign.wait, daemon=True)
    waiting.start()
    assert not sign.wait(0)
    sign.set()
    waiting.join(5)
    assert sign.is_set() and not waiting.is_alive()
