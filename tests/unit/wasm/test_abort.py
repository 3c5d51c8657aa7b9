"""The stop sign."""

from __future__ import annotations

import threading

from thetis_kernel.wasm.abort import Abort


def test_the_first_reason_stands():
    abort = Abort()
    assert not abort.fired and abort.fired_at is None
    abort.fire("one")
    abort.fire("two")
    assert abort.fired and abort.reason == "one" and abort.fired_at is not None


def test_callbacks_run_once_and_late_ones_at_once():
    abort, calls = Abort(), []
    abort.on_fire(lambda: calls.append("early"))
    removed = abort.on_fire(lambda: calls.append("removed"))
    removed()
    removed()
    abort.fire("stop")
    abort.on_fire(lambda: calls.append("late"))
    abort.fire("again")
    assert calls == ["early", "late"]


def test_a_waiter_is_woken_from_another_thread():
    abort = Abort()
    threading.Thread(target=abort.fire, args=("now",)).start()
    assert abort.wait(30)
    assert not Abort().wait(0)
