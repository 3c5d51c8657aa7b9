"""The tour of the forge, for real: in the gateway, and as `make run` without a terminal shows it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from thetis_kernel.protocol.events import SHIPPED, Assistant, Modification, ToolResult

from tests.support.gateways import Opened, gateway
from tests.support.thetis import World

SCRIPT = Path(__file__).parents[2] / "scripts" / "tour"


async def answer(opened: Opened, session: str, words: str) -> str:
    await opened.client.submit(session, words)
    await opened.client.wait_idle(session)
    last = [event for event in await opened.log(session) if isinstance(event, Assistant)][-1]
    return "".join(str(block.get("text", "")) for block in last.blocks)


async def test_it_makes_a_tool_is_refused_mends_it_calls_it_and_changes_its_prompt(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"README.md": "plum plum pear\n"}) as opened:
        session = await opened.start("tour of the forge")
        await opened.client.wait_idle(session)
        events = await opened.log(session)
        results = [event for event in events if isinstance(event, ToolResult)]
        assert any(result.outcome == "error" and "'(' was never closed" in result.content for result in results)
        assert any("2  plum" in result.content for result in results)
        changes = [event for event in events if isinstance(event, Modification)]
        assert [change.target for change in changes] == ["tool/frequent-words", "tool/frequent-words", "agent"]
        assert "only when the person is at sea" in await answer(opened, session, "what does your prompt say about captains?")
        assert "+- Speak of captains" in (await opened.client.devkit(session, "diff", aspect="agent"))["patch"]
        await answer(opened, session, "roll back your prompt")
        assert "says nothing about" in await answer(opened, session, "what does your prompt say about captains?")
        assert (await opened.client.devkit(session, "history", aspect="agent"))["revisions"][0]["revision"] == SHIPPED


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_script_shows_all_of_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    done = subprocess.run(["sh", str(SCRIPT), world.thetis], env={**world.environ, "TMPDIR": str(tmp_path)}, cwd=tmp_path,
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told = [line for line in done.stdout.splitlines() if line.startswith("--- ") and line.endswith(" ---")]
    assert len(told) == 6
    assert "main.py:35: '(' was never closed" in done.stdout and "Then I changed myself" in done.stdout
    assert "agent serves at shipped now" in done.stdout and "+- Speak of captains" in done.stdout
    assert "The checkout is as it was" in done.stdout
