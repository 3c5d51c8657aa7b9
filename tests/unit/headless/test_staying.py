"""A gateway without a screen: when it ends by itself, and what it tells while it cannot log."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from thetis_kernel.gateway.headless import staying
from thetis_kernel.gateway.headless.logfile import LogFile, log_lines
from thetis_kernel.gateway.headless.staying import Staying
from thetis_kernel.protocol.client import Notice
from thetis_kernel.protocol.wire import Tell
from thetis_kernel.scrub.scrubber import Scrubber


class Gateway:
    """As much of one as staying needs."""

    def __init__(self, root: Path) -> None:
        self.paths = SimpleNamespace(root=root)
        self.holder = "detached"
        self.scrubber = Scrubber()
        self.notices: list[str] = []
        self.told: list[Tell] = []
        self.running: list[str] = []
        self.parked: bool | None = None
        self.ended: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.broadcast = SimpleNamespace(listeners=1, publish=self.told.append)
        self.turns = SimpleNamespace(closing=False, all_running=lambda: self.running, drained=self._drained)

    async def _drained(self) -> None:
        while self.running:
            await asyncio.sleep(0)

    async def connect(self) -> Any:
        async def subscribe() -> None:
            return None

        return SimpleNamespace(listen=lambda heard: None, subscribe=subscribe)

    async def close_requested(self) -> float:
        return await self.ended

    def request_close(self, wait_s: float = 0.0) -> None:
        if not self.ended.done():
            self.ended.set_result(wait_s)

    async def close(self, *, park: bool) -> None:
        self.parked = park


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staying, "LOOK_S", 0.01)


def begun(tmp_path: Path, linger_s: float | None) -> tuple[Gateway, asyncio.Task[None]]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    gateway = Gateway(root)
    stays = Staying(gateway, LogFile(tmp_path / "daemon.log"), linger_s=linger_s)  # type: ignore[arg-type]
    return gateway, asyncio.create_task(stays.until_over())


async def test_a_detached_one_ends_when_nothing_runs_and_nobody_is_here(tmp_path: Path) -> None:
    gateway, task = begun(tmp_path, 0.05)
    gateway.running = ["turn"]
    gateway.broadcast.listeners = 2
    await asyncio.sleep(0.2)
    assert not task.done()
    gateway.running = []
    await asyncio.sleep(0.2)
    assert not task.done(), "somebody looks"
    gateway.broadcast.listeners = 1
    await asyncio.wait_for(task, 10)
    assert gateway.parked is True


async def test_a_daemon_stays(tmp_path: Path) -> None:
    gateway, task = begun(tmp_path, None)
    await asyncio.sleep(0.2)
    assert not task.done()
    gateway.request_close(0.0)
    await asyncio.wait_for(task, 10)
    assert [line["what"] for line in log_lines(tmp_path / "daemon.log")] == ["detached began", "detached ended"]


async def test_turns_get_their_time_and_are_parked_then(tmp_path: Path) -> None:
    gateway, task = begun(tmp_path, None)
    gateway.running = ["turn"]
    gateway.request_close(0.05)
    await asyncio.wait_for(task, 10)
    assert gateway.turns.closing and gateway.parked is True
    whats = [line["what"] for line in log_lines(tmp_path / "daemon.log")]
    assert whats[1:3] == ["waiting up to 0.05 s for 1 running turns", "parking 1 running turns"]


async def test_a_root_that_moved_is_said_and_ends_it(tmp_path: Path) -> None:
    gateway, task = begun(tmp_path, None)
    await asyncio.sleep(0)
    (tmp_path / "root").rename(tmp_path / "elsewhere")
    await asyncio.wait_for(task, 10)
    [notice] = [tell for tell in gateway.told if isinstance(tell, Notice)]
    assert notice.level == "error" and "not where it was" in notice.message


async def test_a_log_that_cannot_be_written_is_told_while_it_is_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, task = begun(tmp_path, None)
    await asyncio.sleep(0.05)
    stays_log = LogFile(tmp_path / "other.log")
    written = os.write

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    stays = Staying(gateway, stays_log)  # type: ignore[arg-type]
    monkeypatch.setattr(os, "write", full)
    stays_log.write("info", "lost")
    monkeypatch.setattr(os, "write", written)
    stays._tell_trouble()
    stays._tell_trouble()
    assert len(gateway.notices) == 1 and "No space left on device." in gateway.notices[0]
    assert sum(isinstance(tell, Notice) for tell in gateway.told) == 1, "once"
    stays_log.write("info", "there is room")
    stays._tell_trouble()
    assert gateway.notices == []
    gateway.request_close(0.0)
    await asyncio.wait_for(task, 10)
