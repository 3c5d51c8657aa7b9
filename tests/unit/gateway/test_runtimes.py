"""Sealed runtimes: once each, ahead of the first question where one is sure to come, and given back."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest
from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.gateway import runtimes as module
from thetis_kernel.gateway.runtimes import Runtimes


class Sealing:
    """In the place of the cache: a file a world, and what was asked for."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.asked: list[str] = []
        self.missing: set[str] = set()
        self.go = threading.Event()
        self.go.set()

    def seal(self, world: str) -> int:
        assert self.go.wait(30)
        self.asked.append(world)
        if world in self.missing:
            raise RuntimeBuildError(f"The {world} runtime has not been built.", hint="Run `thetis setup`.")
        return os.open(self.base, os.O_RDONLY)

    def ensure(self, worlds: list[str], progress: object) -> None:
        self.missing -= set(worlds)


@pytest.fixture
def sealing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sealing:
    made = Sealing(tmp_path)
    monkeypatch.setattr(module, "seal", made.seal)
    monkeypatch.setattr(module, "ensure_runtimes", made.ensure)
    return made


def closed(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return True
    return False


def test_what_was_begun_is_what_a_child_gets(sealing: Sealing) -> None:
    runtimes = Runtimes()
    sealing.go.clear()
    runtimes.begin("agent", "tool")

    async def work() -> dict[str, int]:
        asked = asyncio.create_task(runtimes.fds("agent", "tool"))
        await asyncio.sleep(0)
        sealing.go.set()
        first = await asked
        assert await runtimes.fds("tool", "agent") == first
        return {**first, **await runtimes.fds("gateway")}

    found = asyncio.run(work())
    assert sorted(found) == ["runtime-agent", "runtime-gateway", "runtime-tool"]
    assert sealing.asked == ["agent", "tool", "gateway"], "each once"
    runtimes.close()
    assert all(closed(fd) for fd in found.values())


def test_what_could_not_be_begun_is_built_when_asked_for(sealing: Sealing) -> None:
    sealing.missing = {"tool"}
    runtimes = Runtimes()
    runtimes.begin("agent", "tool")
    assert sorted(asyncio.run(runtimes.fds("agent", "tool"))) == ["runtime-agent", "runtime-tool"]
    assert sealing.asked == ["agent", "tool", "tool"]
    runtimes.close()


def test_what_nobody_came_for_is_given_back_even_late(sealing: Sealing) -> None:
    runtimes = Runtimes()
    sealing.go.clear()
    runtimes.begin("agent")
    ahead = runtimes._ahead
    assert ahead is not None
    runtimes.close()
    over = threading.Event()
    ahead.add_done_callback(lambda _: over.set())
    sealing.go.set()
    assert over.wait(30)
    assert closed(ahead.result()["agent"])


def test_a_question_taken_back_loses_nothing(sealing: Sealing) -> None:
    runtimes = Runtimes()
    sealing.go.clear()
    runtimes.begin("agent")

    async def work() -> int:
        asked = asyncio.create_task(runtimes.fds("agent"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([asked])
        sealing.go.set()
        return (await runtimes.fds("agent"))["runtime-agent"]

    assert not closed(asyncio.run(work()))
    assert sealing.asked == ["agent"]
    runtimes.close()
