"""Artifacts of bodies: one judgement for all who build the same, and what a conversation runs on is never collected."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from thetis_kernel.forge.collecting import collect
from thetis_kernel.gateway.collecting import live_revisions
from thetis_kernel.gateway.judging import DisposableJudge
from thetis_kernel.protocol.gate import JudgeGuest, Verdict

from tests.support.gateways import gateway

pytestmark = pytest.mark.runtimes
OUTLINE = "tools/outline/main.py"
BODIES = 10


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each key was really judged."""
    asked: Counter[str] = Counter()
    real = DisposableJudge.__call__

    async def counting(self: DisposableJudge, ask: JudgeGuest) -> Verdict:
        asked[ask.key] += 1
        return await real(self, ask)

    monkeypatch.setattr(DisposableJudge, "__call__", counting)
    return asked


async def test_ten_bodies_that_build_one_tree_at_once_build_it_once(tmp_path: Path, judged: Counter[str]) -> None:
    async with gateway(tmp_path) as opened:
        sessions = [(await opened.client.create(origin="headless")).id for _ in range(BODIES)]
        text = (await opened.client.devkit(sessions[0], "read-code", path=OUTLINE, limit="100000"))["text"]
        answers = await asyncio.gather(
            *(opened.client.devkit(each, "write-code", path=OUTLINE, contents=text + "\n# ours\n") for each in sessions)
        )
        assert all(answer["ok"] and answer["changed"] for answer in answers)
        assert len({answer["revision"] for answer in answers}) == 1
        bundles = [await opened.gateway.guests.tool(each, "outline") for each in sessions]
        assert len({bundle.key for bundle in bundles if bundle is not None}) == 1 and None not in bundles
        assert judged[bundles[0].key if bundles[0] else ""] == 1


async def test_what_a_conversation_runs_on_is_never_collected(tmp_path: Path, judged: Counter[str]) -> None:
    async with gateway(tmp_path) as opened:
        session = (await opened.client.create(origin="headless")).id
        text = (await opened.client.devkit(session, "read-code", path=OUTLINE, limit="100000"))["text"]
        revisions = []
        for number in range(3):
            answer = await opened.client.devkit(session, "write-code", path=OUTLINE, contents=f"{text}\n# {number}\n")
            assert answer["ok"]
            revisions.append(answer["revision"])
        store = opened.gateway.log.store
        assert await asyncio.to_thread(live_revisions, store) == {revisions[-1]}
        artifacts = opened.gateway.artifacts
        assert {entry.source for entry in artifacts.entries()} == set(revisions)
        freed = await asyncio.to_thread(collect, artifacts, lambda: live_revisions(store), limit=1, idle_s=-1)
        assert freed > 0 and [entry.source for entry in artifacts.entries()] == [revisions[-1]]
        before = sum(judged.values())
        served = await opened.gateway.guests.tool(session, "outline")
        assert served is not None and sum(judged.values()) == before
        back = await opened.client.devkit(session, "roll-back", aspect="tool/outline", revision=revisions[0])
        assert back["ok"] and sum(judged.values()) == before + 1  # gone, and made again from its source
        await opened.client.delete(session)
        assert await asyncio.to_thread(live_revisions, store) == frozenset()
