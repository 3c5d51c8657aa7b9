"""What surrounds a conversation, through a whole gateway: the project's rules in its log, the workspace under its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from thetis_kernel.protocol.events import StateChanged, ToolResult

from tests.support.gateways import gateway

pytestmark = pytest.mark.runtimes


async def test_rules_are_shown_and_commands_know_the_workspace(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"AGENTS.md": "Use tabs.\n", "README.md": "# Test\n"}
    async with gateway(tmp_path, files) as g:
        session = await g.start("run echo kept > /workspace/here.txt && cat /workspace/here.txt")
        await g.client.wait_idle(session)
        await g.client.submit(session, "create AGENTS.md with Use spaces.")
        await g.client.wait_idle(session)
        await g.client.submit(session, "read /workspace/here.txt")
        await g.client.wait_idle(session)
        bodies = await g.log(session)
        results = [body for body in bodies if isinstance(body, ToolResult)]
        assert results[0].outcome == "ok", results[0].content
        assert (g.gateway.paths.workspace / "here.txt").read_text() == "kept\n"
        told = [json.loads(body.value)["text"] for body in bodies if isinstance(body, StateChanged) and body.scope == "rules"]
        assert told == ["Use tabs.\n", "Use spaces.\n"]
        blocks = [block for one in await g.client.render(session, 0, 200) for block in one.blocks]
        drawn = [block for block in blocks if "Rules of the project" in block.title]
        assert [block.body.strip() for block in drawn] == ["Use tabs.", "Use spaces."]
