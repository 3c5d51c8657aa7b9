"""A log of one conversation on the test's own disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from thetis_kernel.clock import FakeClock
from thetis_kernel.store.store import Store


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    opened = Store.open(tmp_path / "data", clock=clock, free=lambda: 0)
    yield opened
    opened.close()
