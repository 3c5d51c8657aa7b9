"""Guests of conversations merged into the common ones of a root, brought up to date, and kept under what ships."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.forge.builtin import shipped_guests
from thetis_kernel.gateway import guests
from thetis_kernel.gateway.body import files, looking, merging, repository
from thetis_kernel.gateway.body.common import COMMON
from thetis_kernel.protocol.events import BranchOp, Incident, Modification

from tests.support.gateways import Opened, gateway

TOOL, MAIN = "tool/word-count", "tools/word-count/main.py"
AGENT, MARKERS = "agent", "aspects/agent_core/markers.py"
NOTE, NUDGE = '"""A system note as user-role text."""', '"""A person\'s words during a turn, verbatim'


async def change(opened: Opened, session: str, path: str, old: str, new: str) -> dict[str, Any]:
    """Patch a guest's file as a person; the verdict."""
    return await opened.client.devkit(session, "patch-code", path=path, old_text=old, new_text=new)


async def begin(opened: Opened) -> str:
    return (await opened.client.create(origin="headless")).id


async def text(opened: Opened, session: str, path: str) -> str:
    found: str = (await opened.client.devkit(session, "read-code", path=path, limit="1000"))["text"]
    return found


async def serving(opened: Opened, session: str, aspect: str) -> str:
    listed = (await opened.client.devkit(session, "list-code"))["guests"]
    return next((str(guest["revision"]) for guest in listed if guest["aspect"] == aspect), "")


async def in_common(opened: Opened, directory: str) -> dict[str, str]:
    """The common guest's files, as they are committed."""
    bodies = opened.gateway.bodies.repository
    return await bodies.files(await bodies.tip(COMMON), directory)


async def test_what_a_conversation_made_is_what_later_ones_begin_with(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"a.txt": "a\n"}) as opened:
        first, elsewhere = await begin(opened), await begin(opened)
        made = await opened.client.devkit(first, "new-tool", name="word-count", description="Counts words.")
        merged = await opened.client.devkit(first, "merge")
        assert (merged["ok"], merged["merged"]) == (True, [TOOL])
        assert [event.op for event in await opened.log(first) if isinstance(event, BranchOp)] == ["merge-guests"]
        later = await begin(opened)
        assert await serving(opened, later, TOOL) == made["revision"] and await serving(opened, elsewhere, TOOL) == ""
        assert (await opened.client.devkit(first, "merge"))["merged"] == []
        changed = await change(opened, later, MAIN, '"""The counts in a line."""', '"""All counts in a line."""')
        assert changed["ok"] and await serving(opened, first, TOOL) == made["revision"]
        assert (await opened.client.devkit(later, "merge"))["merged"] == [TOOL]
        pulled = (await opened.client.devkit(first, "update-code"))["guests"]
        assert [(one["aspect"], one["how"]) for one in pulled] == [(TOOL, "merged")]
        assert await serving(opened, first, TOOL) == changed["revision"]
        assert not (opened.world.repository / "tools").exists()


@pytest.mark.parametrize("back_to", ["its own", "shipped"])
async def test_who_goes_back_across_a_merge_takes_nothing_back_from_the_others(tmp_path: Path, back_to: str) -> None:
    """Going back is to a text and to what that was made of; else the next merge would undo what came in between, in silence."""
    async with gateway(tmp_path, {"a.txt": "a\n"}) as opened:
        other, mine = await begin(opened), await begin(opened)
        assert (await change(opened, other, MARKERS, NOTE, '"""A note of the others."""'))["ok"]
        own = await change(opened, mine, MARKERS, NUDGE, NUDGE.replace("A person's", "The person's"))
        assert own["ok"] and (await opened.client.devkit(other, "merge"))["ok"]
        [pulled] = (await opened.client.devkit(mine, "update-code"))["guests"]
        assert pulled["how"] == "merged"
        back = await opened.client.devkit(mine, "roll-back", aspect=AGENT,
                                          revision=own["revision"] if back_to == "its own" else "shipped")  # fmt: skip
        assert back["ok"] and "of the others" not in await text(opened, mine, MARKERS)
        if back_to == "shipped":
            assert (await change(opened, mine, MARKERS, NUDGE, NUDGE.replace("A person's", "The person's")))["ok"]
        done = await opened.client.devkit(mine, "merge")
        assert done["ok"] and done["merged"] == [AGENT], done
        common = (await in_common(opened, "aspects/agent_core"))["markers.py"]
        assert '"""A note of the others."""' in common and "The person's words" in common


async def ten(opened: Opened, count: int) -> None:
    """`count` conversations change agent_core at once: two merge, one conflicts and is resolved, the others pull."""
    sessions = [await begin(opened) for _ in range(count)]
    edits = [(NOTE, '"""A note of the system as user-role text."""'),
             (NUDGE, NUDGE.replace("A person's", "The person's")),
             (NOTE, '"""A system note, worded as the user."""')]
    for session, (old, new) in zip(sessions, edits, strict=False):
        assert (await change(opened, session, MARKERS, old, new))["ok"]
    for number, session in enumerate(sessions[3:]):
        path = f"aspects/agent_core/extra_{number}.py"
        module = f'"""Extra {number}."""\n\nfrom __future__ import annotations\n'
        assert (await opened.client.devkit(session, "write-code", path=path, contents=module))["ok"]
    for session in sessions[:2]:
        assert (await opened.client.devkit(session, "merge"))["merged"] == [AGENT]
    third, before = sessions[2], await in_common(opened, "aspects/agent_core")
    served = await serving(opened, third, AGENT)
    stopped = await opened.client.devkit(third, "merge")
    assert not stopped["ok"] and stopped["guests"][0]["conflicts"] == [MARKERS]
    assert await in_common(opened, "aspects/agent_core") == before and await serving(opened, third, AGENT) == served
    marked = await text(opened, third, MARKERS)
    begun, end = marked.index("<<<<<<<"), marked.index(">>>>>>>")
    conflict = marked[begun : marked.index("\n", end) + 1]
    half = await change(opened, third, MARKERS, conflict, conflict.replace("<<<<<<< this conversation\n", ""))
    assert not half["ok"]
    rest = conflict.replace("<<<<<<< this conversation\n", "")
    assert (await change(opened, third, MARKERS, rest, '    """A note of the system, worded as the user."""\n'))["ok"]
    assert (await opened.client.devkit(third, "merge"))["merged"] == [AGENT]
    expected = files.texts(shipped_guests()[AGENT])
    expected["markers.py"] = expected["markers.py"].replace(NOTE, '"""A note of the system, worded as the user."""').replace(
        NUDGE, NUDGE.replace("A person's", "The person's"))
    assert await in_common(opened, "aspects/agent_core") == expected
    for number, session in enumerate(sessions[3:]):
        [pulled] = (await opened.client.devkit(session, "update-code"))["guests"]
        assert (pulled["aspect"], pulled["how"]) == (AGENT, "merged")
        assert await text(opened, session, MARKERS) + "\n" == expected["markers.py"]
        assert f"Extra {number}" in await text(opened, session, f"aspects/agent_core/extra_{number}.py")
    assert await in_common(opened, "aspects/agent_core") == expected


async def test_conversations_that_change_the_agent_at_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"a.txt": "a\n"}) as opened:
        await ten(opened, 4)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_ten_conversations_change_the_agent_at_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"a.txt": "a\n"}) as opened:
        await ten(opened, 10)


def shipped_changed(monkeypatch: pytest.MonkeyPatch, where: Path, old: str, new: str) -> None:
    """As if a new version of Thetis had been installed, with another agent."""
    agent = where / "agent_core"
    if not agent.exists():
        shutil.copytree(shipped_guests()[AGENT], agent)
    (agent / "markers.py").write_text((agent / "markers.py").read_text().replace(old, new))
    now = {**shipped_guests(), AGENT: agent}
    for module in (repository, looking, merging, guests):
        monkeypatch.setattr(module, "shipped_guests", lambda: now)


async def test_an_upgrade_is_merged_under_what_a_conversation_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Complaint 138 (hermes#61289, #19549): an upgrade neither loses nor freezes what a conversation changed."""
    async with gateway(tmp_path, {"a.txt": "a\n"}) as opened:
        own, both = await begin(opened), await begin(opened)
        assert (await change(opened, own, MARKERS, NOTE, '"""A note."""'))["ok"]
        assert (await opened.client.devkit(own, "merge"))["ok"]
        assert (await change(opened, both, MARKERS, NUDGE, NUDGE.replace("A person's", "Somebody's")))["ok"]
        kept = await serving(opened, both, AGENT)
    shipped_changed(monkeypatch, tmp_path, NUDGE, NUDGE.replace("A person's", "The person's"))
    async with gateway(tmp_path, {"a.txt": "a\n"}) as opened:
        await opened.gateway._look_at_common()
        common = (await in_common(opened, "aspects/agent_core"))["markers.py"]
        assert '"""A note."""' in common and "The person's words" in common
        for session in (own, both):
            await opened.client.submit(session, "list")
            await opened.client.wait_idle(session)
        assert "The person's words" in await text(opened, own, MARKERS) and '"""A note."""' in await text(opened, own, MARKERS)
        last = [event for event in await opened.log(own) if isinstance(event, Modification)][-1]
        assert (last.by, last.summary) == ("kernel", "The shipped agent has changed: merged")
        # where both changed the same line it is said, and nothing is lost or frozen
        assert await serving(opened, both, AGENT) == kept and "Somebody's words" in await text(opened, both, MARKERS)
        [told] = [event for event in await opened.log(both) if isinstance(event, Incident)]
        assert told.code == "upgrade-waits" and "markers.py" in told.message
        [stopped] = (await opened.client.devkit(both, "update-code"))["guests"]
        assert stopped["how"] == "conflicts" and await serving(opened, both, AGENT) == kept
        back = await opened.client.devkit(both, "roll-back", aspect=AGENT, revision=kept[:8])
        assert back["ok"] and "Somebody's words" in await text(opened, both, MARKERS)
        [again] = (await opened.client.devkit(both, "update-code"))["guests"]
        assert again["how"] == "conflicts"  # what was not settled is not taken for settled
