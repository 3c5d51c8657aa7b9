"""A gate host that had time before its candidate came: the same verdicts, and nothing of it outlives the process."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.forge.builtin import builtin_sources
from thetis_kernel.protocol.gate import GuestSource, JudgeGuest, Verdict
from thetis_kernel.supervise.handle import Child
from thetis_kernel.supervise.spawn import Plan, spawn

from tests.e2e.gates import failing, fds

pytestmark = [pytest.mark.runtimes, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]


def servers(parent: int) -> dict[int, int]:
    """The language servers a process started -> clock ticks they have used."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == parent and (entry / "cmdline").read_bytes().endswith(b"ty\0server\0"):
                found[int(entry.name)] = int(stat[11]) + int(stat[12])
        except OSError:
            continue
    return found


async def at_rest(child: Child) -> dict[int, int]:
    """Its servers, once they have worked and have nothing more to do."""
    async with asyncio.timeout(60):
        seen = [servers(child.pid)]
        while not any(seen[-1].values()) or len(seen) < 6 or seen[-1] != seen[-6]:
            await asyncio.sleep(0.1)
            seen.append(servers(child.pid))
    return seen[-1]


async def judged_ahead(source: GuestSource, scratch: Path) -> tuple[Verdict, set[int]]:
    """The verdict of a host that was left alone until it rested, and the servers it had."""
    child = await spawn(Plan("gate", fds=fds("compiler", source.world), settings={"THETIS_SCRATCH": str(scratch)}))
    try:
        had = await at_rest(child)
        return await child.peer.call(JudgeGuest(source, "k"), timeout=60), set(had)
    finally:
        child.kill()
        await child.wait()


def agent(**changed: str) -> GuestSource:
    shipped = next(source for source in builtin_sources() if source.aspect == "agent")
    return msgspec.structs.replace(shipped, modules={**shipped.modules, **changed})


async def test_a_line_changed_passes_and_what_it_breaks_elsewhere_is_seen(tmp_path: Path) -> None:
    prompt = agent().modules["prompt"]
    verdict, had = await judged_ahead(agent(prompt=f"{prompt}\n# changed\n"), tmp_path)
    assert verdict.ok, verdict.steps[-1]
    assert len(had) == 1 and not any(Path(f"/proc/{pid}").exists() for pid in had)
    gone = prompt.replace("def system_prompt(", "def system_words(")
    assert gone != prompt
    step, path, line, words = failing((await judged_ahead(agent(prompt=gone), tmp_path))[0])
    assert (step, path) == ("ty", "loop.py") and line and "system_prompt" in words
    no_python = f"{prompt}\ndef f(:\n"
    assert failing((await judged_ahead(agent(prompt=no_python), tmp_path))[0])[:2] == ("ruff", "prompt.py")
