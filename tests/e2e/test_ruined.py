"""A conversation ruins its agent, its renderer and a tool in turn, and keeps working; the log tells the story; each goes back.

Everything passes the gate: what is ruined shows only in what the gate does not ask for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.protocol.events import SHIPPED, Incident, Modification, ToolResult, TurnFinished

from tests.support.gateways import Opened, gateway

LOOP, RENDER, OUTLINE = "aspects/agent_core/loop.py", "aspects/gateway_tui/main.py", "tools/outline/main.py"

DIES = '    path, depth = _checked(args)\n    if path == "src/a.py":\n        raise SystemExit(3)\n'


async def said(opened: Opened, session: str, text: str) -> list[Any]:
    before = len(await opened.log(session))
    await opened.client.submit(session, text)
    await opened.client.wait_idle(session)
    return (await opened.log(session))[before:]


def of(events: list[Any], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


async def changed(opened: Opened, session: str, path: str, old: str, new: str) -> str:
    """The revision a change that passes makes."""
    done = await opened.client.devkit(session, "patch-code", path=path, old_text=old, new_text=new)
    assert done["ok"], done
    return str(done["revision"])


@pytest.mark.slow
async def test_it_ruins_agent_renderer_and_tool_in_turn_and_keeps_working(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"README.md": "# Harbour\n", "src/a.py": "def berth() -> int:\n    return 1\n"}) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)

        # The agent: a good change that serves, then one that fails for this conversation alone.
        good_agent = await changed(opened, session, LOOP, 'return _ended("stop", detail or declined, history)',
                                   'return _ended("stop", "mine", history)')  # fmt: skip
        assert of(await said(opened, session, "list ."), TurnFinished)[-1].detail == "mine"
        bad_agent = await changed(opened, session, LOOP, "    history = History(",
                                  '    if "list src" in str(session.read(0)["events"]):\n'
                                  '        raise RuntimeError("ruined")\n    history = History(')  # fmt: skip
        events = await said(opened, session, "list src")
        assert [end.stopped_by for end in of(events, TurnFinished)] == ["restarted", "stop"]
        assert of(events, TurnFinished)[-1].detail == "mine"

        # The renderer: what cannot be drawn is drawn by the one before.
        drawn = [each.blocks for each in await opened.client.render(session, 0, 5)]
        bad_renderer = await ruin_renderer(opened, session)
        assert [each.blocks for each in await opened.client.render(session, 0, 5)] == drawn

        # A tool: a good change, then one that dies of one file; after the third time the one before answers.
        good_tool = await changed(opened, session, OUTLINE, '    lines = [f"{path}: {_lines(text)}{note}"]',
                                  '    lines = [f"OUTLINE {path}: {_lines(text)}{note}"]')  # fmt: skip
        bad_tool = await changed(opened, session, OUTLINE, "    path, depth = _checked(args)\n", DIES)
        outcomes = [of(await said(opened, session, "outline src/a.py"), ToolResult)[-1] for _ in range(4)]
        assert [one.outcome for one in outcomes] == ["error", "error", "ok", "ok"]
        assert "OUTLINE src/a.py" in outcomes[2].content and "was put back" in outcomes[2].content
        assert "OUTLINE src/a.py" in outcomes[3].content and "put back" not in outcomes[3].content

        # The story, as the log and `thetis self log` tell it.
        history = await opened.client.devkit(session, "history")
        story = [(one["code"], one["aspect"], one["revision"]) for one in reversed(history["incidents"])]
        assert story == [("guest-put-back", "agent", bad_agent), ("guest-put-back", "gateway/tui", bad_renderer),
                         ("guest-put-back", "tool/outline", bad_tool)]  # fmt: skip
        by_kernel = [(one.target, one.revision) for one in of(await opened.log(session), Modification) if one.by == "kernel"]
        assert by_kernel == [("agent", good_agent), ("gateway/tui", SHIPPED), ("tool/outline", good_tool)]
        assert all(one.message and one.data["detail"] for one in of(await opened.log(session), Incident) if "aspect" in one.data)

        # And back: each to what ships, and the conversation goes on.
        for aspect in ("agent", "tool/outline"):
            assert (await opened.client.devkit(session, "roll-back", aspect=aspect, revision=SHIPPED))["ok"]
        assert (await opened.gateway.log.state(session)).guests == {}
        assert of(await said(opened, session, "list ."), TurnFinished)[-1].detail == ""
        last = of(await said(opened, session, "outline src/a.py"), ToolResult)[-1]
        assert last.outcome == "ok" and "OUTLINE" not in last.content


async def ruin_renderer(opened: Opened, session: str) -> str:
    whole = (await opened.client.devkit(session, "read-code", path=RENDER, limit="100000"))["text"] + "\n"
    ruined = whole.replace("def render_events(", "def _good(") + (
        "\n\ndef render_events(events: list[dict[str, object]]) -> list[dict[str, object]]:\n"
        '    """Fails where the gate does not look."""\n'
        '    if any("list ." in str(event) for event in events):\n        raise SystemExit(3)\n'
        "    return _good(events)\n")  # fmt: skip
    done = await opened.client.devkit(session, "write-code", path=RENDER, contents=ruined)
    assert done["ok"], done
    return str(done["revision"])


async def test_a_call_that_fails_on_the_earlier_revision_too_is_to_blame_itself(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"src/a.py": "x = 1\n"}) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        await changed(opened, session, OUTLINE, "    path, depth = _checked(args)\n", DIES)
        present = await changed(opened, session, OUTLINE, '    lines = [f"{path}:', '    lines = [f"other {path}:')
        outcomes = [of(await said(opened, session, "outline src/a.py"), ToolResult)[-1].outcome for _ in range(3)]
        assert outcomes == ["error"] * 3
        [incident] = [one for one in of(await opened.log(session), Incident) if one.data.get("aspect")]
        assert incident.code == "guest-input"
        assert (await opened.gateway.log.state(session)).guests["tool/outline"].revision == present


async def test_no_guest_keeps_thetis_from_opening(tmp_path: Path) -> None:
    """Agent and renderer that serve this conversation cannot even be read any more: it opens, draws and works all the same."""
    async with gateway(tmp_path) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        await changed(opened, session, LOOP, 'return _ended("stop", detail or declined, history)',
                      'return _ended("stop", "mine", history)')  # fmt: skip
        await ruin_renderer(opened, session)
        body = opened.gateway.paths.body
    for path in sorted((body / ".git" / "objects").rglob("*"), reverse=True):
        if path.is_file():
            path.write_bytes(b"")  # the repository of guests is garbage
    async with gateway(tmp_path) as opened:
        assert (await opened.client.status()).root
        assert len(await opened.client.render(session, 0, 3)) == 3
        events = await said(opened, session, "list .")
        assert [end.stopped_by for end in of(events, TurnFinished)] == ["stop"], events
        told = [one for one in of(await opened.log(session), Incident) if one.code == "guest-replaced"]
        assert {one.data["aspect"] for one in told} == {"agent", "gateway/tui"}
        other = await opened.start("list .")
        await opened.client.wait_idle(other)
        assert [end.stopped_by for end in of(await opened.log(other), TurnFinished)] == ["stop"]
