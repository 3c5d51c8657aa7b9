"""A contract that changed: every guest of every body is judged again, failures are listed, and something goes on serving."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from thetis_kernel.forge import key
from thetis_kernel.gateway.judging import DisposableJudge
from thetis_kernel.protocol.client import Notice, Progress
from thetis_kernel.protocol.events import SHIPPED, Incident
from thetis_kernel.protocol.gate import Diagnostic, JudgeGuest, StepResult, Verdict

from tests.support.gateways import Opened, gateway

MAIN = "tools/word-count/main.py"
PROMPT = "aspects/agent_core/prompt.py"
GONE = "# uses what the new contract has not"


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it to have another contract from then on: artifacts have other keys, and the gate refuses what says `GONE`."""
    judge = DisposableJudge.__call__

    async def stricter(self: DisposableJudge, ask: JudgeGuest) -> Verdict:
        if any(GONE in text for text in ask.source.modules.values()):
            return Verdict(False, ask.key, [StepResult("exports", False, 1.0, [Diagnostic("main.py", 7, "no such export")])])
        return await judge(self, ask)

    def change() -> None:
        monkeypatch.setattr(key, "gate_version", lambda: "another")
        monkeypatch.setattr("thetis_kernel.gateway.body.revalidation.gate_version", lambda: "another")
        monkeypatch.setattr(DisposableJudge, "__call__", stricter)

    return change


async def body_of_two(opened: Opened) -> tuple[str, str, str]:
    """A conversation with a tool of two revisions, the second without a future, and a prompt that has none either."""
    session = (await opened.client.create(origin="headless")).id
    first = await opened.client.devkit(session, "new-tool", name="word-count", description="Counts.")
    text = (await opened.client.devkit(session, "read-code", path=MAIN))["text"]
    second = await opened.client.devkit(session, "write-code", path=MAIN, contents=f"{text}\n{GONE}\n")
    prompt = await opened.client.devkit(session, "patch-code", path=PROMPT, old_text="# How to talk", new_text="# How to speak")
    assert first["ok"] and second["ok"] and prompt["ok"]
    gone = await opened.client.devkit(session, "patch-code", path="aspects/gateway_tui/main.py",
                                      old_text="from __future__ import annotations\n",
                                      new_text=f"from __future__ import annotations\n{GONE}\n")  # fmt: skip
    assert gone["ok"], gone
    return session, first["revision"], second["revision"]


async def test_what_passes_no_longer_is_listed_and_its_last_compatible_revision_or_the_shipped_guest_serves(
    tmp_path: Path, changed: Callable[[], None]
) -> None:
    async with gateway(tmp_path, warm=False) as opened:
        session, first, second = await body_of_two(opened)
        assert await opened.gateway.revalidation.run(lambda *_: None) == []
        assert (await opened.gateway.guests.tool(session, "word-count")) is not None
    changed()
    async with gateway(tmp_path) as opened:
        await opened.until(lambda heard: sum(isinstance(tell, Notice) for tell in heard) >= 2, 90)
        told = " ".join(tell.message for tell in opened.heard if isinstance(tell, Notice))
        assert f"its revision {first[:8]} serves" in told and "exports main.py:7: no such export" in told
        assert "gateway/tui" in told and "the shipped one serves" in told and "agent of" not in told
        steps = [(tell.done, tell.total) for tell in opened.heard if isinstance(tell, Progress) and "Judging" in tell.what]
        assert steps[0] == (0, 3) and steps[-1] == (3, 3)
        tool = await opened.gateway.guests.tool(session, "word-count")
        assert tool is not None and (await opened.gateway.guests.renderer(session)).key == (
            await opened.gateway.guests.renderer()).key  # fmt: skip
        incidents = [event for event in await opened.log(session) if isinstance(event, Incident)]
        assert {(one.code, one.data["aspect"]) for one in incidents} == {
            ("guest-replaced", "tool/word-count"), ("guest-replaced", "gateway/tui")}  # fmt: skip
        history = await opened.client.devkit(session, "history", aspect="tool/word-count")
        assert history["revisions"][0]["revision"] == second and len(history["incidents"]) == 1
        state = await opened.gateway.log.state(session)
        assert state.guests["tool/word-count"].revision == second != SHIPPED  # chosen still: it may pass again
    async with gateway(tmp_path, warm=False) as opened:  # once is enough, and it is told once
        assert await opened.gateway.revalidation.run(lambda *_: None) == []
        await opened.gateway.guests.tool(session, "word-count")
        assert len([event for event in await opened.log(session) if isinstance(event, Incident)]) == 2
        assert len(await opened.gateway.revalidation.run(lambda *_: None, always=True)) == 2
