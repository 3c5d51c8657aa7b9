"""What a conversation made of itself: every revision with its change, and one key back, pinned, edited."""

from __future__ import annotations

from typing import Any

import msgspec
from thetis_kernel.protocol import client as c

from tests.support.fake_gateway import T0, FakeGateway
from tests.support.fake_scenes import furnished
from tests.support.fake_screen import Shown, screen
from thetis_tui.itself import label, rows_of, story
from thetis_tui.screens.itself import ItselfScreen

PATCH = "--- a/tools/x/main.py\n+++ b/tools/x/main.py\n@@ -1 +1 @@\n-old\n+new\n"


def guest(aspect: str, origin: str = "shipped", revision: str = "shipped", pinned: str = "") -> dict[str, Any]:
    return {"aspect": aspect, "origin": origin, "revision": revision, "pinned": pinned, "description": "Does.",
            "version": "1.0.0"}  # fmt: skip


def change(seq: int, revision: str, **fields: Any) -> dict[str, Any]:
    return {"aspect": "tool/x", "revision": revision, "previous": "shipped", "verdict": "pass", "by": "agent",
            "summary": "Edit it", "commit": "c", "seq": seq, "ts_ms": T0, "serving": False, **fields}  # fmt: skip


GUESTS = [guest("agent"), guest("gateway/tui"), guest("tool/x", "own", "b" * 64, "b" * 64)]
HISTORY = {
    "revisions": [change(9, "c" * 64, verdict="refused", by="user", summary="Edited by hand: main.py. Refused at ty: \x1b[31m"),
                  change(7, "b" * 64, serving=True), change(5, "a" * 64)],
    "incidents": [{"aspect": "tool/x", "code": "guest-put-back", "message": "it failed", "revision": "a" * 64, "seq": 6,
                   "ts_ms": T0}],
}  # fmt: skip


class Kit:
    """The dev kit behind the fake gateway."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []

    def __call__(self, ask: c.DevKit) -> bytes:
        arguments = msgspec.json.decode(ask.arguments)
        self.asked.append((ask.name, arguments))
        answers: dict[str, Any] = {
            "list-code": {"guests": GUESTS}, "history": HISTORY, "diff": {"patch": PATCH}, "path": {"path": "/bodies/x"},
            "roll-back": {"aspect": "tool/x", "ok": True, "revision": "a" * 64, "previous": "b" * 64, "changed": True,
                          "gone": False},
            "pin": {"aspect": "tool/x", "ok": True, "pinned": ""},
        }  # fmt: skip
        return msgspec.json.encode(answers[ask.name])


async def opened(s: Shown) -> ItselfScreen:
    await s.ready()
    s.app.show(next(iter(s.gateway.lines)))
    await s.until(lambda: s.app.state.conversation is not None, "a conversation")
    await s.pilot.press("f9")
    await s.until(lambda: isinstance(s.app.screen, ItselfScreen) and s.app.screen.rows, "the rows")
    assert isinstance(s.app.screen, ItselfScreen)
    return s.app.screen


def kit_of(gateway: FakeGateway) -> Kit:
    kit = Kit()
    gateway.devkit = kit
    return kit


def test_changed_guests_come_first_each_with_its_past_newest_first() -> None:
    rows = rows_of(GUESTS, HISTORY)
    assert [(row.kind, row.aspect, row.facts.get("seq")) for row in rows] == [
        ("guest", "tool/x", None), ("revision", "tool/x", 9), ("revision", "tool/x", 7), ("incident", "tool/x", 6),
        ("revision", "tool/x", 5), ("guest", "agent", None), ("guest", "gateway/tui", None)]  # fmt: skip


def test_a_row_fits_its_width_and_shows_nothing_of_a_strangers_escapes() -> None:
    for row in rows_of(GUESTS, HISTORY):
        for width in (24, 60):
            text = label(row, width, T0)
            assert text.cell_length <= width and "\x1b" not in text.plain
    marks = [label(row, 60, T0).plain.strip()[0] for row in rows_of(GUESTS, HISTORY)[1:5]]
    assert marks == ["✗", "●", "!", "○"]


def test_a_revision_says_who_why_and_what() -> None:
    row = rows_of(GUESTS, HISTORY)[2]
    text = "\n".join(line.content.plain for line in story(row, PATCH, 60))
    assert "Edit it" in text and "agent" in text and "passed the gate, serves now" in text and "+1 -1" in text and "new" in text
    refused = "\n".join(line.content.plain for line in story(rows_of(GUESTS, HISTORY)[1], "", 60))
    assert "refused by the gate" in refused and "you" in refused


def test_a_tool_that_is_gone_keeps_its_past() -> None:
    rows = rows_of([guest("agent")], {"revisions": [change(5, "shipped")], "incidents": []})
    assert (rows[0].aspect, rows[0].facts["origin"]) == ("tool/x", "gone") and "removed" in label(rows[0], 40, T0).plain


async def test_one_key_goes_back_to_the_revision_under_the_cursor() -> None:
    gateway = furnished()
    kit = kit_of(gateway)
    async with screen(gateway) as s:
        over = await opened(s)
        await s.pilot.press("down", "down", "down", "down")
        await s.until(lambda: over.chosen is not None and over.chosen.revision == "a" * 64, "the oldest revision")
        await s.until(lambda: "new" in s.text(), "its change")
        await s.pilot.press("b")
        await s.until(lambda: ("roll-back", {"aspect": "tool/x", "revision": "a" * 64}) in kit.asked, "asked to go back")
        await s.until(lambda: "serves at aaaaaaaa now" in s.text(), "told")


async def test_pins_are_taken_away_and_incidents_are_only_read() -> None:
    gateway = furnished()
    kit = kit_of(gateway)
    async with screen(gateway) as s:
        over = await opened(s)
        await s.pilot.press("p")
        await s.until(lambda: ("pin", {"aspect": "tool/x", "revision": "none"}) in kit.asked, "the pin is taken away")
        await s.pilot.press("down", "down", "down")
        await s.until(lambda: over.chosen is not None and over.chosen.kind == "incident", "the incident")
        count = len([name for name, _ in kit.asked if name in ("pin", "roll-back")])
        await s.pilot.press("b", "p", "e")
        await s.until(lambda: "/bodies/x" in s.text(), "where it lies")
        assert len([name for name, _ in kit.asked if name in ("pin", "roll-back")]) == count
        await s.pilot.press("escape")
        await s.until(lambda: not isinstance(s.app.screen, ItselfScreen), "closed")
