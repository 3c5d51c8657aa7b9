"""A gate host started ahead of the next edit: used once, replaced when it died, gone when nobody needs it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import thetis_kernel.gateway.judging as module
from thetis_kernel.forge.key import artifact_key
from thetis_kernel.gateway.judging import DisposableJudge
from thetis_kernel.protocol.gate import JudgeGuest
from thetis_kernel.supervise.handle import Child

from tests.e2e.gates import fds, fds_later
from tests.unit.forge.guests import TOOL_MAIN, good, tool

pytestmark = pytest.mark.runtimes


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[Child]:
    """Every gate host that was started."""
    found: list[Child] = []
    real = module.spawn

    async def noting(*args: Any, **kwargs: Any) -> Child:
        child = await real(*args, **kwargs)
        found.append(child)
        return child

    monkeypatch.setattr(module, "spawn", noting)
    return found


def asking(source: Any) -> JudgeGuest:
    fds("compiler", source.world)
    return JudgeGuest(source, artifact_key(source))


async def until(found: Any) -> None:
    async with asyncio.timeout(30):
        while not found():
            await asyncio.sleep(0.01)


async def test_the_next_edit_finds_a_host_that_is_up_and_no_other_candidate_meets_it(spawned: list[Child]) -> None:
    judge = DisposableJudge(fds_later, spare_s=60)
    assert (await judge(asking(good("tool/good")))).ok
    await until(lambda: len(spawned) == 2)
    assert not (await judge(asking(tool("while True: pass\n" + TOOL_MAIN)))).ok
    assert not spawned[1].alive  # the spare judged, and was thrown away
    await until(lambda: len(spawned) == 3)
    assert (await judge(asking(good("tool/good")))).ok and not spawned[2].alive
    await judge.close()
    await until(lambda: not any(child.alive for child in spawned))


async def test_a_spare_that_died_or_is_for_another_world_is_not_used(spawned: list[Child]) -> None:
    judge = DisposableJudge(fds_later, spare_s=60)
    await judge(asking(good("tool/good")))
    await until(lambda: len(spawned) == 2)
    spawned[1].kill()
    await spawned[1].wait()
    assert (await judge(asking(good("tool/good")))).ok and len(spawned) >= 3
    await until(lambda: len(spawned) == 4)
    assert (await judge(asking(good("agent")))).ok
    await judge.close()
    await until(lambda: not any(child.alive for child in spawned))


async def test_a_spare_waits_only_so_long(spawned: list[Child]) -> None:
    judge = DisposableJudge(fds_later, spare_s=0.2)
    await judge(asking(good("tool/good")))
    await until(lambda: len(spawned) == 2 and not spawned[1].alive)


async def test_without_a_spare_time_none_is_started(spawned: list[Child]) -> None:
    await DisposableJudge(fds_later)(asking(good("tool/good")))
    assert len(spawned) == 1
