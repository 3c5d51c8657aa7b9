"""Skills through a whole gateway: named once, read once, attached by a person, written under a check, trusted or not there."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.errors import Refused, RemoteError
from thetis_kernel.gateway.trust import book, look
from thetis_kernel.protocol.events import Modification, StateChanged, SystemNote, ToolResult
from thetis_kernel.protocol.skills import WriteSkill

from tests.support.gateways import Opened, gateway

pytestmark = pytest.mark.runtimes
HOUSE = '+++\nname = "house-style"\nbrief = "How we write here."\ntags = ["style"]\n+++\n\nWrite short sentences.\n'


async def said(g: Opened, session: str, words: str) -> ToolResult:
    """The last result after a turn with these words."""
    await g.client.submit(session, words)
    await g.client.wait_idle(session)
    found: list[ToolResult] = [body for body in await g.log(session) if isinstance(body, ToolResult)]
    return found[-1]


def offered(bodies: list[object]) -> list[list[str]]:
    """The names of each offer in a log."""
    return [[card["name"] for card in json.loads(body.value)] for body in bodies
            if isinstance(body, StateChanged) and (body.scope, body.key) == ("skills", "offered")]


async def test_a_skill_is_named_once_read_once_attached_and_written(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = (await g.client.create(origin="tui")).id
        first = await said(g, session, "use the skill careful-surgery")
        assert (first.outcome, "Find the edges" in first.content) == ("ok", True)
        await g.client.submit(session, "why does this test crash?")
        await g.client.wait_idle(session)
        again = await said(g, session, "use the skill careful-surgery")
        assert msgspec.json.decode(again.content)["known"] is True
        assert "Find the edges" not in again.content
        assert len(offered(await g.log(session))) <= 1

        await g.client.attach_skill(session, "bounded-output")
        with pytest.raises(RemoteError, match="has read the skill"):
            await g.client.attach_skill(session, "bounded-output")
        notes = [body for body in await g.log(session) if isinstance(body, SystemNote) and body.about == "skill"]
        assert ["Ask quietly" in note.text for note in notes] == [True]

        kept = await said(g, session, "write a skill greeting: Say hello to everybody")
        assert kept.outcome == "ok"
        [change] = [body for body in await g.log(session) if isinstance(body, Modification)]
        assert (change.target, change.by, bool(change.commit)) == ("skill/greeting", "agent", True)
        own = await g.client.skills(session)
        assert [card.source for card in own.cards if card.name == "greeting"] == ["conversation"]
        assert "greeting" not in [card.name for card in (await g.client.skills()).cards]
        read = await said(g, session, "use the skill greeting")
        assert "Say hello to everybody" in read.content

        refused = await said(g, session, "write a skill hidden: a\u202eb")
        assert refused.outcome == "error"
        assert msgspec.json.decode(refused.content)["diagnostics"][0]["line"] == 3
        assert len([body for body in await g.log(session) if isinstance(body, Modification)]) == 1


async def test_the_first_words_choose_what_is_named(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("make yourself a tool")
        await g.client.wait_idle(session)
        assert offered(await g.log(session)) == [["rewriting-yourself"]]
        other = await g.start("list .")
        await g.client.wait_idle(other)
        assert offered(await g.log(other)) == []


async def test_a_checkouts_skills_wait_for_trust_and_go_with_it(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"skills/house-style/SKILL.md": HOUSE, "README.md": "# Test\n"}
    async with gateway(tmp_path, files) as g:
        assert "house-style" not in [card.name for card in (await g.client.skills()).cards]
        root = g.world.repository
    offer = look(root)
    book().add(offer.root, offer.digest, offer.summary)
    async with gateway(tmp_path) as g:
        [card] = [card for card in (await g.client.skills()).cards if card.name == "house-style"]
        assert card.source == "checkout"
        session = (await g.client.create(origin="tui")).id
        assert "short sentences" in (await said(g, session, "use the skill house-style")).content
        (root / "skills" / "house-style" / "SKILL.md").write_text(HOUSE.replace("short", "long"))
        changed = await g.client.skills()
        assert "house-style" not in [card.name for card in changed.cards]
        assert any("changed since it was trusted" in problem.message for problem in changed.problems)
        assert (await said(g, session, "use the skill house-style")).outcome == "error"


async def test_paths_name_more_of_them_a_persons_at_once_a_checkouts_once_trusted(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "docs/how/house-style.md": HOUSE, "README.md": "# Test\n",
        "thetis.toml": '[paths]\nskills = ["docs/how", "../outside", "/etc"]\n'}  # fmt: skip
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "my-way.md").write_text(HOUSE.replace("house-style", "my-way"))
    async with gateway(tmp_path, files) as g:
        root = g.world.repository
        assert {"house-style", "my-way"}.isdisjoint(card.name for card in (await g.client.skills()).cards)
    (tmp_path / "none.toml").write_text(f'[paths]\nskills = ["{mine}"]\n')
    async with gateway(tmp_path) as g:
        assert [card.source for card in (await g.client.skills()).cards if card.name == "my-way"] == ["person"]
    offer = look(root)
    assert ("skill", "docs/how/house-style.md") in [(item.kind, item.where) for item in offer.items]
    assert not [item for item in offer.items if item.kind == "skill" and item.where.startswith(("..", "/etc", "outside"))]
    book().add(offer.root, offer.digest, offer.summary)
    async with gateway(tmp_path) as g:
        assert [card.source for card in (await g.client.skills()).cards if card.name == "house-style"] == ["checkout"]


async def test_a_bridge_attaches_nothing_and_a_read_only_mode_writes_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = (await g.client.create(origin="tui", mode="plan")).id
        await g.client.submit(session, "write a skill greeting: Hello")
        await g.client.wait_idle(session)
        with pytest.raises(Refused):
            await g.gateway.skills.write(session, WriteSkill(name="greeting", contents=HOUSE), by="agent")
        assert not [body for body in await g.log(session) if isinstance(body, Modification)]
        await g.client.attend("bridge")
        with pytest.raises(RemoteError, match="bridge"):
            await g.client.attach_skill(session, "bounded-output")
