"""A conversation changes its own guests while it runs: judged, served at once, kept, rolled back, put back when they fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.protocol.events import (
    SHIPPED,
    Assistant,
    Incident,
    Modification,
    ToolInvocation,
    ToolResult,
    TurnFinished,
)
from thetis_kernel.protocol.worker import TurnOutcome

from tests.support.gateways import Opened, gateway

TOOL = "tool/frequent-words"
LOOP = "aspects/agent_core/loop.py"
PROMPT = "aspects/agent_core/prompt.py"
BROKEN_TURN = ('    mode, model = mapping(turn, "mode"), mapping(turn, "model")', '    raise RuntimeError("ruined")')


async def said(opened: Opened, session: str, text: str) -> list[Any]:
    """Say something and wait for the end; the events of the log from there on."""
    before = len(await opened.log(session))
    await opened.client.submit(session, text)
    await opened.client.wait_idle(session)
    return (await opened.log(session))[before:]


def of(events: list[Any], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


async def test_it_makes_itself_a_tool_and_calls_it_in_the_same_turn(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"README.md": "plum plum plum pear\n"}) as opened:
        session = await opened.start("make yourself a tool")
        await opened.client.wait_idle(session)
        events = await opened.log(session)
        assert [end.stopped_by for end in of(events, TurnFinished)] == ["stop"]
        results = {call.name: result for call in of(events, ToolInvocation) for result in of(events, ToolResult)
                   if result.call == call.call}  # fmt: skip
        assert "3  plum" in results["frequent-words"].content
        refused = json.loads(results["write_code"].content)
        assert not refused["ok"] and refused["diagnostics"][0] == {
            "path": "tools/frequent-words/main.py", "line": 35, "message": "'(' was never closed"}  # fmt: skip
        assert results["write_code"].outcome == "error"
        changes = of(events, Modification)
        assert [change.target for change in changes] == [TOOL, TOOL]  # begun, and mended; what was refused is none
        assert not (opened.world.repository / "tools").exists()

        listed = await opened.client.devkit(session, "list-code")
        assert {guest["aspect"]: guest["origin"] for guest in listed["guests"]}[TOOL] == "own"
        other = await opened.client.create(origin="headless")
        listed = await opened.client.devkit(other.id, "list-code")
        assert TOOL not in {guest["aspect"] for guest in listed["guests"]}

    async with gateway(tmp_path) as opened:  # a restart: the log says what serves
        [call] = of(await said(opened, session, "roll back the tool"), ToolInvocation)
        assert call.name == "roll_back"
        history = await opened.client.devkit(session, "history", aspect=TOOL)
        assert history["revisions"][0]["revision"] == SHIPPED and history["revisions"][0]["by"] == "agent"
        diff = await opened.client.devkit(session, "diff", aspect=TOOL, revision=changes[-1].revision[:8])
        assert "-    return Counter(words.most_common(count)" not in diff["patch"]  # what was refused was never a revision
        assert "+    return Counter(words).most_common(count)" in diff["patch"]


async def test_a_rewritten_agent_runs_the_next_turn_of_this_conversation_alone(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        answer = await opened.client.devkit(
            session, "patch-code", path=LOOP, old_text='return _ended("stop", detail or declined, history)',
            new_text='return _ended("stop", "rewritten", history)')  # fmt: skip
        assert answer["ok"] and answer["changed"], answer
        [end] = of(await said(opened, session, "list ."), TurnFinished)
        assert end.detail == "rewritten"
        other = await opened.start("list .")
        await opened.client.wait_idle(other)
        [end] = of(await opened.log(other), TurnFinished)
        assert end.detail == ""
        back = await opened.client.devkit(session, "roll-back", aspect="agent")
        assert back["ok"] and back["revision"] == SHIPPED
        [end] = of(await said(opened, session, "list ."), TurnFinished)
        assert end.detail == ""


async def test_an_agent_that_fails_is_put_back_and_the_turn_is_carried_out(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        good = await opened.client.devkit(session, "patch-code", path=PROMPT, old_text="# How to talk", new_text="# Manners")
        assert good["ok"], good
        await said(opened, session, "list .")
        # passes every smoke test: it fails only for a text the gate does not know
        bad = await opened.client.devkit(
            session, "patch-code", path=LOOP, old_text="    history = History(",
            new_text='    if "list ." in str(session.read(0)["events"]) and restricted is False:\n'
                     '        raise RuntimeError("ruined")\n'
                     "    history = History(")  # fmt: skip
        assert bad["ok"], bad
        events = await said(opened, session, "list .")
        assert [end.stopped_by for end in of(events, TurnFinished)] == ["restarted", "stop"]
        assert of(events, Assistant)[-1].blocks
        [change] = of(events, Modification)
        assert (change.by, change.revision, change.previous) == ("kernel", good["revision"], bad["revision"])
        assert [incident.code for incident in of(events, Incident)] == ["guest-error", "guest-put-back"]
        assert [end.stopped_by for end in of(await said(opened, session, "list ."), TurnFinished)] == ["stop"]


async def test_a_renderer_that_fails_is_put_back(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        before = await opened.client.render(session, 0, 100)
        bad = await opened.client.devkit(
            session, "write-code", path="aspects/gateway_tui/happenings.py",
            contents=(await read_whole(opened, session, "aspects/gateway_tui/happenings.py")) + "\n# another\n")  # fmt: skip
        assert bad["ok"], bad
        assert [event.blocks for event in await opened.client.render(session, 0, 3)] == [e.blocks for e in before[:3]]
        source = await read_whole(opened, session, "aspects/gateway_tui/main.py")
        ruined = source.replace("def render_events(", "def _good(") + (
            "\n\ndef render_events(events: list[dict[str, object]]) -> list[dict[str, object]]:\n"
            '    """Fails where the gate does not look."""\n'
            '    if any("list ." in str(event) for event in events):\n        raise SystemExit(3)\n'
            "    return _good(events)  # type: ignore[no-any-return,arg-type]\n")  # fmt: skip
        worse = await opened.client.devkit(session, "write-code", path="aspects/gateway_tui/main.py", contents=ruined)
        assert worse["ok"], worse
        drawn = await opened.client.render(session, 0, 100)
        assert [event.blocks for event in drawn[: len(before)]] == [event.blocks for event in before]
        incidents = of(await opened.log(session), Incident)
        assert [incident.data["aspect"] for incident in incidents] == ["gateway/tui"]


async def read_whole(opened: Opened, session: str, path: str) -> str:
    answer = await opened.client.devkit(session, "read-code", path=path, limit="100000")
    assert not answer["truncated"]
    return str(answer["text"]) + "\n"


async def test_a_red_change_changes_nothing_that_runs(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        red = await opened.client.devkit(session, "patch-code", path=LOOP, old_text=BROKEN_TURN[0], new_text=BROKEN_TURN[1])
        assert not red["ok"] and red["diagnostics"][0]["path"].startswith("aspects/agent_core")
        assert not of(await opened.log(session), Modification)
        assert [end.stopped_by for end in of(await said(opened, session, "list ."), TurnFinished)] == ["stop"]
        kept = await opened.client.devkit(session, "read-code", path=LOOP)
        assert "ruined" in kept["text"]  # to be mended


@pytest.mark.parametrize(("name", "arguments", "code"), [
    ("write-code", {"path": "wit/thetis.wit", "contents": ""}, "bad-path"),
    ("write-code", {"path": "tools/nobody/main.py", "contents": ""}, "not-found"),
    ("patch-code", {"path": LOOP, "old_text": "nowhere", "new_text": ""}, "no-match"),
    ("new-tool", {"name": "outline", "description": ""}, "exists"),
    ("new-tool", {"name": "Not A Name", "description": ""}, "bad-arguments"),
    ("roll-back", {"aspect": "agent"}, "not-found"),
    ("roll-back", {"aspect": "agent", "revision": "123456"}, "not-found"),
    ("roll-back", {"aspect": "kernel"}, "bad-path"),
    ("read-code", {"path": "tools/outline/nothing.py"}, "not-found"),
])  # fmt: skip
async def test_what_cannot_be_is_refused_by_name(name: str, arguments: dict[str, str], code: str, tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        made = await opened.client.create(origin="headless")
        with pytest.raises(ThetisError) as error:
            await opened.client.devkit(made.id, name, **arguments)
        assert error.value.code == code and error.value.hint


async def test_a_read_only_mode_changes_no_guest(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start("make yourself a tool", mode="plan")
        await opened.client.wait_idle(session)
        events = await opened.log(session)
        assert not of(events, Modification) and not opened.gateway.paths.body.exists()


async def test_a_body_is_never_the_persons_repository(tmp_path: Path) -> None:
    """The state directory may lie inside a repository of the person's (a home directory kept in git)."""
    from tests.support.thetis import World

    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n"})
    state = Path(world.environ["THETIS_STATE"])
    state.parent.mkdir(parents=True, exist_ok=True)
    import subprocess

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True, text=True, env=world.environ)
        return done.stdout

    git("init", "-q")
    git("-c", "user.name=p", "-c", "user.email=p@x", "commit", "-q", "--allow-empty", "-m", "mine")
    before = git("for-each-ref")
    async with gateway(tmp_path) as opened:
        made = await opened.client.create(origin="headless")
        done = await opened.client.devkit(made.id, "new-tool", name="mine", description="Mine.")
        assert done["ok"], done
    assert git("for-each-ref") == before


async def test_an_agent_that_fails_with_what_the_shipped_one_fails_with_is_not_to_blame(tmp_path: Path) -> None:
    """No agent survives the turn (here its worker says so of each); its own one goes on serving afterwards."""
    async with gateway(tmp_path) as opened:
        session = await opened.start("list .")
        await opened.client.wait_idle(session)
        good = await opened.client.devkit(session, "patch-code", path=PROMPT, old_text="# How to talk", new_text="# Manners")
        assert good["ok"], good
        real = opened.gateway.turns._work

        async def ruined(turn: Turn) -> TurnOutcome:
            return TurnOutcome(stopped_by="error", detail="out of memory", failure="memory")

        opened.gateway.turns._work = ruined  # type: ignore[method-assign]
        events = await said(opened, session, "poison")
        assert [incident.code for incident in of(events, Incident)] == ["guest-put-back", "guest-input"]
        assert [end.stopped_by for end in of(events, TurnFinished)] == ["restarted", "error"]
        assert [change.revision for change in of(events, Modification)] == [SHIPPED, good["revision"]]
        opened.gateway.turns._work = real  # type: ignore[method-assign]
        assert [end.stopped_by for end in of(await said(opened, session, "list ."), TurnFinished)] == ["stop"]
        assert (await opened.gateway.log.state(session)).guests["agent"].revision == good["revision"]
