"""Processor time of a call, on hand-moved clocks."""

from __future__ import annotations

import pytest
from thetis_kernel.wasm import budget as module
from thetis_kernel.wasm.budget import WALL_FACTOR, Budget


class Clocks:
    def __init__(self):
        self.cpu = self.wall = 100.0

    def thread_time(self):
        return self.cpu

    def monotonic(self):
        return self.wall

    def work(self, seconds):
        self.cpu += seconds
        self.wall += seconds


@pytest.fixture
def clocks(monkeypatch):
    clocks = Clocks()
    monkeypatch.setattr(module, "time", clocks)
    return clocks


@pytest.fixture
def budget(clocks):
    budget = Budget(1000)
    budget.start()
    return budget


def test_work_is_cumulative_and_imports_are_free(budget, clocks):
    for _ in range(3):
        clocks.work(0.2)
        budget.enter_import()
        clocks.work(50)
        assert budget.left() == pytest.approx(1 - (clocks.cpu - 100) % 50)
        budget.leave_import()
    assert budget.left() == pytest.approx(0.4)
    clocks.work(0.5)
    assert budget.left() < 0


def test_sleep_is_charged(budget):
    budget.charge(0.7)
    assert budget.left() == pytest.approx(0.3)


def test_waiting_inside_wasm_is_bounded_by_wall_time(budget, clocks):
    clocks.wall += WALL_FACTOR - 1
    assert 0 < budget.left() < 1
    assert not budget.overdue(clocks.wall, 2)
    clocks.wall += 2
    assert budget.left() < 0
    assert not budget.overdue(clocks.wall, 2)
    clocks.wall += 2
    assert budget.overdue(clocks.wall, 2)


def test_a_long_import_is_never_overdue(budget, clocks):
    budget.enter_import()
    assert budget.in_import
    clocks.wall += 10_000
    assert budget.left() > 0.9
    assert not budget.overdue(clocks.wall, 2)
    budget.leave_import()
    assert not budget.overdue(clocks.wall, 2)


def test_a_call_that_has_not_begun_is_not_overdue(clocks):
    assert not Budget(1).overdue(clocks.wall + 1000, 0)
