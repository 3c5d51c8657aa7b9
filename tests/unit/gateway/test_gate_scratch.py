"""The gate hosts' directories: gone with their host, and swept when a gateway was killed before it could."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest
from thetis_kernel.errors import ChildError
from thetis_kernel.gateway import judging
from thetis_kernel.gateway.judging import SCRATCH, SCRATCH_S, DisposableJudge, sweep_scratch
from thetis_kernel.protocol.gate import JudgeGuest

from tests.unit.forge.guests import TOOL_MAIN, tool


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def made(place: Path, name: str, age: float) -> Path:
    path = place / name
    (path / "candidate-x").mkdir(parents=True)
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def test_only_old_ones_of_gates_go(place: Path) -> None:
    old, fresh = made(place, f"{SCRATCH}old", SCRATCH_S + 60), made(place, f"{SCRATCH}new", 60)
    foreign = made(place, "somebody-elses", SCRATCH_S + 60)
    outside = made(place, "outside", SCRATCH_S + 60)
    (place / f"{SCRATCH}link").symlink_to(outside)
    sweep_scratch()
    assert not old.exists() and fresh.exists() and foreign.exists() and outside.exists()


async def test_a_host_that_does_not_start_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fds(*worlds: str) -> dict[str, int]:
        return {}

    async def no(*args: object, **kwargs: object) -> None:
        raise ChildError("no", code="child-start")

    monkeypatch.setattr(judging, "spawn", no)
    with pytest.raises(ChildError):
        await DisposableJudge(fds)(JudgeGuest(tool(TOOL_MAIN), "k"))
    assert not list(place.glob(f"{SCRATCH}*"))
