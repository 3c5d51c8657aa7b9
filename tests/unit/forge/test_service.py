from __future__ import annotations

import asyncio

import pytest
from thetis_kernel.errors import DeadlineExceeded, PeerGone, RemoteError, StoreError
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.builtin import builtin_sources, builtin_verdicts, shipped_guests
from thetis_kernel.forge.service import Forge
from thetis_kernel.protocol.gate import Diagnostic, StepResult, Verdict

from tests.unit.forge.guests import TOOL_MAIN, tool

SOURCE = tool(TOOL_MAIN)


class Judge:
    """A scripted judge: an exception, or whether candidates pass. Counts, and can be held up."""

    def __init__(self, outcome=True):
        self.outcome = outcome
        self.asked = []
        self.free = asyncio.Event()
        self.free.set()

    async def __call__(self, ask):
        self.asked.append(ask)
        await self.free.wait()
        if isinstance(self.outcome, Exception):
            raise self.outcome
        steps = [StepResult("compile", self.outcome, 1.0, [] if self.outcome else [Diagnostic("main.py", 1, "no")])]
        return Verdict(self.outcome, ask.key, steps, "Y29kZQ==" if self.outcome else "")


@pytest.fixture
def make(tmp_path):
    def forge(judge, digests=lambda world: world):
        return Forge(ArtifactStore(tmp_path / "artifacts"), judge, digests)

    return forge


@pytest.mark.parametrize("passes", [True, False])
async def test_a_candidate_is_judged_once_even_across_processes(make, passes):
    judge = Judge(passes)
    forge = make(judge)
    assert forge.known(SOURCE) is None
    verdict = await forge.verdict(SOURCE)
    assert verdict.ok == passes
    assert await forge.verdict(SOURCE) == verdict
    assert forge.known(SOURCE) == verdict
    later = Judge()
    assert await make(later).verdict(SOURCE) == verdict
    assert len(judge.asked) == 1 and later.asked == []


async def test_callers_at_once_share_one_judgement(make):
    judge = Judge()
    judge.free.clear()
    forge = make(judge)
    callers = [asyncio.create_task(forge.verdict(SOURCE)) for _ in range(5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    callers[0].cancel()
    judge.free.set()
    verdicts = await asyncio.gather(*callers[1:])
    assert len(judge.asked) == 1
    assert all(verdict == verdicts[0] for verdict in verdicts)
    assert callers[0].cancelled()


@pytest.mark.parametrize(
    "error", [PeerGone("killed by SIGXCPU"), DeadlineExceeded("no answer"), RemoteError("memory", code="internal")]
)
async def test_a_judge_that_dies_is_a_failing_verdict_remembered_here_and_not_on_disk(make, error):
    judge = Judge(error)
    forge = make(judge)
    verdict = await forge.verdict(SOURCE)
    assert not verdict.ok
    assert verdict.steps[0].step == "gate"
    assert error.message in verdict.steps[0].diagnostics[0].message
    assert await forge.verdict(SOURCE) == verdict
    assert len(judge.asked) == 1
    assert (await make(Judge()).verdict(SOURCE)).ok


async def test_an_answer_about_another_candidate_is_no_verdict(make):
    async def judge(ask):
        return Verdict(True, "f" * 64, [], "ZXZpbA==")

    verdict = await make(judge).verdict(SOURCE)
    assert not verdict.ok and "another guest" in verdict.steps[0].diagnostics[0].message


async def test_again_judges_anew(make):
    judge = Judge(PeerGone("x"))
    forge = make(judge)
    await forge.verdict(SOURCE)
    forge.again(SOURCE)
    judge.outcome = False
    assert not (await forge.verdict(SOURCE)).ok
    forge.again(SOURCE)
    judge.outcome = True
    assert (await forge.verdict(SOURCE)).ok


async def test_another_runtime_is_another_judgement(make):
    judge = Judge()
    await make(judge).verdict(SOURCE)
    await make(judge, lambda world: world + "2").verdict(SOURCE)
    assert len(judge.asked) == 2


async def test_a_full_disk_is_said_and_the_next_try_judges_again(make, monkeypatch):
    judge = Judge()
    forge = make(judge)
    with monkeypatch.context() as patch:
        patch.setattr(ArtifactStore, "put", lambda self, verdict, source: (_ for _ in ()).throw(StoreError("full")))
        with pytest.raises(StoreError):
            await forge.verdict(SOURCE)
    assert (await forge.verdict(SOURCE)).ok
    assert len(judge.asked) == 2


def shipped(tmp_path):
    for directory, aspect in (("aspects/agent_core", "agent"), ("aspects/gateway_tui", "gateway"), ("tools/probe", "tool")):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "guest.toml").write_text(f'name = "{directory.split("/")[1]}"\nworld = "{aspect}"\n')
        (tmp_path / directory / "main.py").write_text("")
    (tmp_path / "tools" / "_template").mkdir()
    (tmp_path / "tools" / "_template" / "guest.toml").write_text("")
    (tmp_path / "tools" / "README.md").write_text("")
    return tmp_path


async def test_shipped_guests_are_judged_once_like_any_other(make, tmp_path):
    root = shipped(tmp_path / "shipped")
    assert list(shipped_guests(root)) == ["agent", "gateway/tui", "tool/probe"]
    assert [source.aspect for source in builtin_sources(root)] == ["agent", "gateway/tui", "tool/probe"]
    judge = Judge()
    verdicts = await builtin_verdicts(make(judge), root)
    assert list(verdicts) == ["agent", "gateway/tui", "tool/probe"]
    assert await builtin_verdicts(make(judge), root) == verdicts
    assert len(judge.asked) == 3
