"""A person edits a guest of a conversation in an editor: the same gate, told and logged; red changes nothing that runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from thetis_kernel.protocol.client import Notice
from thetis_kernel.protocol.events import REFUSED, SHIPPED, Modification, TurnFinished

from tests.support.gateways import Opened, gateway

LOOP = "aspects/agent_core/loop.py"
ENDS = 'return _ended("stop", detail or declined, history)'


async def begun(opened: Opened) -> tuple[str, Path]:
    """A conversation whose agent lies in its checkout, and the checkout."""
    session = await opened.start("list .")
    await opened.client.wait_idle(session)
    answer = await opened.client.devkit(session, "path", aspect="agent")
    return session, Path(answer["path"])


def edited(guest: Path, old: str, new: str) -> None:
    path = guest / "loop.py"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


async def changes(opened: Opened, session: str) -> list[Modification]:
    return [event for event in await opened.log(session) if isinstance(event, Modification)]


async def looked(opened: Opened, session: str, count: int) -> Modification:
    """Wait for the watcher, as the gateway runs it, to have judged something; the newest change of the log."""
    await opened.until_event(Modification, count)
    return (await changes(opened, session))[-1]


def told(opened: Opened) -> list[Any]:
    return [tell for tell in opened.heard if isinstance(tell, Notice)]


async def test_an_edit_that_passes_serves_the_next_turn_and_stands_in_the_log_as_the_persons(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session, guest = await begun(opened)
        edited(guest, ENDS, ENDS.replace("detail or declined", '"by hand"'))
        change = await looked(opened, session, 1)
        assert (change.target, change.by, change.verdict, change.previous) == ("agent", "user", "pass", SHIPPED)
        assert change.summary == "Edited by hand: loop.py" and change.commit
        await opened.until(lambda heard: any(isinstance(t, Notice) and "passes the gate" in t.message for t in heard))
        await opened.client.submit(session, "list .")
        await opened.client.wait_idle(session)
        assert [e.detail for e in await opened.log(session) if isinstance(e, TurnFinished)][-1] == "by hand"
    async with gateway(tmp_path, warm=False) as opened:  # nothing is judged again that was seen
        await opened.gateway.outside.look()
        await opened.gateway.outside.look()
        assert len(await changes(opened, session)) == 1


async def test_a_red_edit_stays_as_it_was_written_and_what_ran_goes_on_running(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session, guest = await begun(opened)
        edited(guest, ENDS, ENDS.replace("history)", "histori"))
        change = await looked(opened, session, 1)
        assert (change.verdict, change.by, change.commit) == (REFUSED, "user", "")
        assert "loop.py" in change.summary and "Refused at" in change.summary
        await opened.until(lambda heard: any(isinstance(t, Notice) and "does not pass" in t.message for t in heard))
        assert "aspects/agent_core/loop.py:" in told(opened)[-1].hint
        assert "histori" in (guest / "loop.py").read_text()
        await opened.client.submit(session, "list .")
        await opened.client.wait_idle(session)
        assert [e.stopped_by for e in await opened.log(session) if isinstance(e, TurnFinished)] == ["stop", "stop"]
        history = (await opened.client.devkit(session, "history", aspect="agent"))["revisions"]
        assert [(entry["verdict"], entry["serving"]) for entry in history] == [(REFUSED, False)]
        listed = await opened.client.devkit(session, "list-code")
        assert {each["aspect"]: each["origin"] for each in listed["guests"]}["agent"] == "shipped"


async def test_what_was_edited_while_no_gateway_ran_is_found(tmp_path: Path) -> None:
    async with gateway(tmp_path, warm=False) as opened:
        session, guest = await begun(opened)
        edited(guest, ENDS, ENDS.replace("detail or declined", '"meanwhile"'))
    async with gateway(tmp_path, warm=False) as opened:
        assert await opened.gateway.outside.look() == []  # seen once: it may still be written
        [verdict] = await opened.gateway.outside.look()
        assert verdict["ok"] and verdict["aspect"] == "agent"
        assert await opened.gateway.outside.look() == []
        shutil.rmtree(guest)
        await opened.gateway.outside.look()
        await opened.gateway.outside.look()
        assert [change.revision for change in await changes(opened, session)][-1] == SHIPPED


async def test_what_the_dev_kit_writes_is_not_taken_for_an_edit(tmp_path: Path) -> None:
    async with gateway(tmp_path, warm=False) as opened:
        session, _ = await begun(opened)
        red = await opened.client.devkit(session, "patch-code", path=LOOP, old_text=ENDS, new_text="return (")
        assert not red["ok"]
        assert [await opened.gateway.outside.look() for _ in range(3)] == [[], [], []]
        assert await changes(opened, session) == []


async def test_what_the_dev_kit_wrote_is_nobody_elses_after_a_restart(tmp_path: Path) -> None:
    async with gateway(tmp_path, warm=False) as opened:
        session, _ = await begun(opened)
        red = await opened.client.devkit(session, "patch-code", path=LOOP, old_text=ENDS, new_text="return (")
        assert not red["ok"]
    async with gateway(tmp_path, warm=False) as opened:
        assert [await opened.gateway.outside.look() for _ in range(3)] == [[], [], []]
        assert await changes(opened, session) == []
