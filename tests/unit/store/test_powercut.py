"""Power cuts (D2): nothing acknowledged is lost at any point; and the harness sees it when it is."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.powercut import judge, live


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory where there is one: thousands of real syncs would measure the disk."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Path(directory)


def test_a_power_cut_loses_nothing_acknowledged(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    life = live(memory, monkeypatch)
    assert len(life.acknowledged) > 140
    judgement = judge(life, memory / "data", memory, states=160, seed=1)
    assert (judgement.lost, judgement.corrupt) == (0, 0), judgement.complaints[:5]


def test_the_harness_sees_synchronous_normal(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    life = live(memory, monkeypatch, synchronous=1)
    judgement = judge(life, memory / "data", memory, states=40, seed=2)
    assert judgement.lost > 5
    assert judgement.corrupt == 0, judgement.complaints[:5]


def test_the_harness_sees_a_disk_that_does_not_sync(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    life = live(memory, monkeypatch, lying=True)
    judgement = judge(life, memory / "data", memory, states=40, seed=3)
    assert judgement.lost + judgement.corrupt > 15


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12, 13, 14])
def test_a_thousand_power_cuts_lose_nothing_acknowledged(
    memory: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    life = live(memory, monkeypatch)
    judgement = judge(life, memory / "data", memory, states=300, seed=seed)
    assert judgement.states == 300
    assert (judgement.lost, judgement.corrupt) == (0, 0), judgement.complaints[:5]
