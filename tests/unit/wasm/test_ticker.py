"""The epoch thread and its watch over stuck calls."""

from __future__ import annotations

import threading

from thetis_kernel.wasm import ticker as ticker_module
from thetis_kernel.wasm.ticker import Ticker


class Call:
    def __init__(self, stuck: bool = False, in_import: bool = False):
        self.is_stuck = stuck
        self.in_import = in_import
        self.given_up = threading.Event()

    def stuck(self, now, grace):
        return self.is_stuck

    def give_up(self):
        assert not self.given_up.is_set()
        self.given_up.set()


def test_time_moves_only_while_a_call_runs():
    ticked, count = threading.Event(), []

    def advance():
        count.append(1)
        if len(count) > 3:
            ticked.set()

    ticker = Ticker(advance)
    assert not count
    with ticker.running(Call()), ticker.running(Call()):
        assert ticked.wait(30)
    thread = ticker._thread
    assert thread is not None and thread.daemon
    assert not ticker._wake.is_set()


def test_a_stuck_call_is_given_up_once_and_counted_until_it_returns():
    ticker, stuck, fine = Ticker(lambda: None), Call(stuck=True), Call()
    with ticker.running(fine):
        with ticker.running(stuck):
            assert stuck.given_up.wait(30)
            assert ticker.stuck_calls() == 1
            ticker._watch(0.0)  # a second look must not give it up again
        assert ticker.stuck_calls() == 0
    assert not fine.given_up.is_set()


def test_while_every_call_is_in_an_import_time_hardly_moves_and_one_that_leaves_it_is_noticed_at_once(monkeypatch):
    monkeypatch.setattr(ticker_module, "DOZE_S", 30.0)
    count, ticked = [], threading.Condition()

    def advance():
        with ticked:
            count.append(1)
            ticked.notify_all()

    ticker, sleeper, other = Ticker(advance), Call(in_import=True), Call(in_import=True)
    with ticker.running(sleeper), ticker.running(other), ticked:
        ticked.wait(0.2)  # what the beginning of the calls itself costs
        before = len(count)
        assert not ticked.wait_for(lambda: len(count) > before, 0.3)
        other.in_import = False
        ticker.rouse()
        assert ticked.wait_for(lambda: len(count) > before + 2, 20)
