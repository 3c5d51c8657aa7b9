"""Public complaints, class 12: what goes wrong with agents that change themselves. Each test names the complaint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import SHIPPED, Modification, ToolResult, TurnFinished
from thetis_kernel.protocol.skills import WriteSkill

from tests.support.gateways import Opened, gateway

LOOP, OUTLINE = "aspects/agent_core/loop.py", "tools/outline/main.py"
SKILL = '+++\nname = "greeting"\nbrief = "How to greet."\n+++\n\n{words}\n'


def of(events: list[Any], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


async def said(opened: Opened, session: str, text: str) -> list[Any]:
    before = len(await opened.log(session))
    await opened.client.submit(session, text)
    await opened.client.wait_idle(session)
    return (await opened.log(session))[before:]


@pytest.mark.slow
async def test_134_an_agent_cannot_break_itself_beyond_a_start(tmp_path: Path) -> None:
    """agent-zero#935. What restores a guest cannot be named by the dev kit, and the last good revision serves by itself."""
    async with gateway(tmp_path) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        for path in ("kernel/thetis_kernel/gateway/body/watchdog.py", "guest/shims/agent_shim.py", "wit/thetis.wit",
                     "aspects/agent_core/../../kernel/thetis_kernel/cli/__init__.py"):  # fmt: skip
            with pytest.raises(ThetisError) as refused:
                await opened.gateway.bodies.perform(session, "write-code", {"path": path, "contents": ""}, by="agent")
            assert refused.value.code == "bad-path"
        good = await opened.client.devkit(session, "patch-code", path=LOOP, new_text='return _ended("stop", "good", history)',
                                          old_text='return _ended("stop", detail or declined, history)')  # fmt: skip
        assert of(await said(opened, session, "list ."), TurnFinished)[-1].detail == "good"
        bad = await opened.client.devkit(session, "patch-code", path=LOOP, old_text="    history = History(",
                                         new_text='    if "list src" in str(session.read(0)["events"]):\n'
                                                  "        raise SystemExit(3)\n    history = History(")  # fmt: skip
        assert good["ok"] and bad["ok"]
        assert of(await said(opened, session, "list src"), TurnFinished)[-1].detail == "good"
        assert (await opened.gateway.log.state(session)).guests["agent"].revision == good["revision"]
    async with gateway(tmp_path) as opened:  # the pointer to the last good one is the log's
        assert of(await said(opened, session, "list ."), TurnFinished)[-1].detail == "good"
    async with gateway(tmp_path, safe=True) as opened:
        assert of(await said(opened, session, "list ."), TurnFinished)[-1].detail == ""


async def test_136_a_working_tool_that_was_mangled_is_seen_and_undone(tmp_path: Path) -> None:
    """hermes#51171, #45778. The gate refuses what does not work; what passes stands in the log with its change, and goes
    back."""
    async with gateway(tmp_path, {"src/a.py": "def berth() -> int:\n    return 1\n"}) as opened:
        session = await opened.start("outline src/a.py")
        await opened.client.wait_idle(session)
        refused = await opened.client.devkit(session, "patch-code", path=OUTLINE, old_text="path, depth = _checked(args)",
                                             new_text="path, depth = _chekced(args)")  # fmt: skip
        assert not refused["ok"] and refused["diagnostics"][0]["line"]
        assert of(await said(opened, session, "outline src/a.py"), ToolResult)[-1].outcome == "ok"
        mangled = await opened.client.devkit(
            session, "patch-code", path=OUTLINE, old_text="path, depth = _chekced(args)",
            new_text='path, depth = _checked(args)\n    if path.endswith(".py"):\n        return "nothing, ever"')  # fmt: skip
        assert mangled["ok"]
        assert of(await said(opened, session, "outline src/a.py"), ToolResult)[-1].content == "nothing, ever"
        [row] = (await opened.client.devkit(session, "history", aspect="tool/outline"))["revisions"]
        assert (row["revision"], row["by"], row["serving"]) == (mangled["revision"], "user", True) and row["summary"]
        shown = await opened.client.devkit(session, "show", aspect="tool/outline", revision=row["revision"][:8])
        assert '+        return "nothing, ever"' in shown["patch"]
        assert (await opened.client.devkit(session, "roll-back", aspect="tool/outline"))["revision"] == SHIPPED
        assert "berth" in of(await said(opened, session, "outline src/a.py"), ToolResult)[-1].content


async def test_136_a_skill_that_was_mangled_is_seen_and_undone(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        for words in ("Say hello.", "Never answer anybody again."):
            kept = await opened.gateway.skills.write(session, WriteSkill(name="greeting", contents=SKILL.format(words=words)),
                                                     by="agent")  # fmt: skip
            assert kept.ok
        listed = (await opened.client.devkit(session, "history", aspect="skill/greeting"))["revisions"]
        assert [(row["by"], row["serving"]) for row in listed] == [("agent", True), ("agent", False)]
        diff = await opened.client.devkit(session, "diff", aspect="skill/greeting", revision=listed[0]["revision"][:8])
        assert "-Say hello." in diff["patch"] and "+Never answer anybody again." in diff["patch"]
        back = await opened.client.devkit(session, "roll-back", aspect="skill/greeting")
        assert back["ok"] and back["revision"] == listed[1]["revision"]
        assert "Say hello." in (await opened.client.skill("greeting", session)).text
        await opened.client.devkit(session, "roll-back", aspect="skill/greeting", revision=SHIPPED)
        assert "greeting" not in {card.name for card in (await opened.client.skills(session)).cards}


async def test_137_a_passing_fault_is_no_lasting_verdict(tmp_path: Path) -> None:
    """hermes#6051. A note says when it was made and in which turn; a tool that failed is called again, and serves again."""
    async with gateway(tmp_path) as opened:
        session = await opened.start("remember outline: it does not work")
        await opened.client.wait_idle(session)
        told = of(await said(opened, session, "recall outline"), ToolResult)[-1].content
        assert '"ts_ms":' in told and '"origin":"turn ' in told
        missing = of(await said(opened, session, "outline src/a.py"), ToolResult)[-1]
        assert missing.outcome == "error"
        place = Path((await opened.client.conversation(session)).worktree)
        (place / "src").mkdir()
        (place / "src" / "a.py").write_text("def berth() -> int:\n    return 1\n")
        again = of(await said(opened, session, "outline src/a.py"), ToolResult)[-1]
        assert again.outcome == "ok" and "berth" in again.content
        assert not of(await opened.log(session), Modification)
