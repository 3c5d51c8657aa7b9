"""Every screen and page, one after the other, on one app: how it is opened from the desk, and that Esc leads back there."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path

from textual.widgets import Input
from thetis_kernel.config.loading import Layers
from thetis_kernel.gateway.settings import SettingsDoor
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.children import ChildLine
from thetis_kernel.protocol.merging import WorktreeLine
from thetis_kernel.protocol.models import ModelInfo
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.protocol.timemachine import Moment

from tests.support.fake_gateway import NOTICE, T0, FakeGateway
from tests.support.fake_scenes import PATCH, filled, played
from tests.support.fake_screen import Shown
from tests.support.fake_terminals import TerminalGateway
from thetis_tui.screens.dialog import Dialog
from thetis_tui.screens.reading import Page

Open = Callable[[Shown], Awaitable[None]]
ASKED = "The parser crashes on a closing bracket. Fix it and show that it holds."


def _kit(ask: c.DevKit) -> bytes:
    """A body with one tool of its own."""
    told = {"aspect": "tool/x", "previous": "shipped", "verdict": "pass", "by": "agent", "commit": "c", "ts_ms": T0}
    about = {"pinned": "", "description": "Does its work.", "version": "1"}
    guests = [{"aspect": name, "origin": origin, "revision": revision, **about}
              for name, origin, revision in (("agent", "shipped", "shipped"), ("gateway/tui", "shipped", "shipped"),
                                             ("tool/x", "own", "b" * 64))]
    history = {"incidents": [], "revisions": [
        {**told, "revision": "b" * 64, "summary": "Count words, too", "seq": 7, "serving": True},
        {**told, "revision": "a" * 64, "summary": "A tool that counts lines", "seq": 5, "serving": False}]}
    answers = {"list-code": {"guests": guests}, "history": history, "diff": {"patch": PATCH}}
    return json.dumps(answers[ask.name]).encode()


def everything(directory: Path) -> tuple[FakeGateway, str]:
    """A root in which every page has something to show; the conversation to look at. `directory` is for its settings."""
    models = [ModelInfo("rehearsal", "rehearsal", "Rehearsal", 100_000, notice=NOTICE), ModelInfo("m", "anthropic", "M", 200_000)]
    gateway = filled(TerminalGateway(models=models))
    for line in list(gateway.lines.values()):
        gateway.change(line.id, preview=f"{line.title}: what was said last.", spent=Spent(3, 40_000, 900, cost=Decimal("0.12")))
    session = gateway.make("Fix the parser", branch="conv/0a0b0c0d", preview="All tests pass now.",
                           spent=Spent(9, 120_000, 3_000, cost=Decimal("0.48")))
    played(gateway, session, ASKED)
    for read, written, fresh, model in ((0, 30_000, 2_000, "m"), (30_000, 4_000, 500, "m"), (0, 38_000, 1_200, "n")):
        usage = e.Usage(input=fresh, output=50, cache_read=read, cache_write=written)
        reply = [{"type": "text", "text": "Done."}]
        gateway.store(session, e.Assistant(reply, model, usage=usage, tools=[23, 24_000, 60, 60_000]))
    gateway.diff = c.DiffText(patch=PATCH, files=[("engine/parser.py", 5, 2), ("docs/a/long/way/down/to_the_file.md", 120, 0)])
    gateway.devkit = _kit
    gateway.children = [
        ChildLine("c" * 16, "reader", "running", last="read src/a.py", tokens=4_200, elapsed_ms=12_000),
        ChildLine("d" * 16, "writer", "failed", detail="The model did not answer.", tokens=900, elapsed_ms=3_000)]
    gateway.moments = [Moment(3, T0, "first words"), Moment(9, T0 + 60_000, "second words\nand more")]
    gateway.worktrees = [
        WorktreeLine("conv/0a0b0c0d", "/state/worktrees/0a0b0c0d", "ready", session, "Fix the parser", T0, 2, 5 << 20,
                     held_by=7, why="it has uncommitted changes"),
        WorktreeLine("conv/11111111", "/state/worktrees/11111111", "ready", "", "", T0, 0, 3 << 20, True, prunable=True)]
    gateway.terminal("t1", b"\x1b[32mready\x1b[0m\r\nlistening on :8080\r\n", name="server", running=True, command="npm run dev")
    (directory / "root").mkdir()
    (directory / "config.toml").write_text('[agent]\nmax_minutes = 30\n[screen.keys]\nlog = "f7"\n')
    gateway.settings = SettingsDoor(Layers(directory / "root", directory / "config.toml"))
    return gateway, session


def keys(*pressed: str) -> Open:
    """A page that keys open."""

    async def act(s: Shown) -> None:
        await s.pilot.press(*pressed)

    return act


def said(words: str) -> Open:
    """A page that words in the prompt open."""

    async def act(s: Shown) -> None:
        await s.send(words)

    return act


async def _palette(s: Shown) -> None:
    await s.pilot.press("ctrl+p", *"conversation")  # what has other words may come and go without a new picture
    await s.until(lambda: "New con" in s.text())
    for box in s.app.screen.query(Input):
        box.cursor_blink = False


async def _terminals(s: Shown) -> None:
    await s.pilot.press("alt+t")
    await s.until(lambda: "listening" in s.text() or s.app.size.height < 10)


async def _search(s: Shown) -> None:
    await s.pilot.press("f5", *"parser")
    await s.until(lambda: "hit" in s.text())


async def _found(s: Shown) -> None:
    await s.send("/find parser")  # at once: a search for each letter would leave the reader where its timing led
    await s.until(lambda: "1 of 3" in s.text())


async def _itself(s: Shown) -> None:
    await s.pilot.press("f9")
    await s.until(lambda: "what" in s.text())
    page = s.app.screen.query(Page).first()
    await s.until(lambda: "return Tree" in page.lines_at(60)[-1].content.plain, "its change")


async def _new_key(s: Shown) -> None:
    await s.send("/keys home")
    await s.until(lambda: "home" in s.text() and s.app.screen is not s.desk)
    await s.pilot.press("enter")


async def _question(s: Shown) -> None:
    question = {"id": "1", "question": "Which colour?", "options": ["red", "green", "blue"], "allow_multiple": True}
    s.gateway.store(s.app.state.current, e.Question(id="q1", questions=[question]))
    await _armed(s)


async def _consent(s: Shown) -> None:
    s.gateway.request(s.app.state.current, detail="cd engine && make test 2>&1 | tail -5")
    await _armed(s)


async def _armed(s: Shown) -> None:
    await s.until(lambda: isinstance(s.app.screen, Dialog) and s.app.screen.armed, "a form that takes answers")


PAGES: tuple[tuple[str, Open, tuple[str, ...]], ...] = (
    ("conversation", keys(), ()),
    ("commands", keys("/"), ("backspace",)),
    ("log", keys("f7"), ("f7",)),
    ("files", keys("alt+d"), ("alt+d",)),
    ("terminals", _terminals, ("escape", "alt+t")),
    ("diff", keys("f3"), ("escape",)),
    ("help", keys("f1"), ("escape",)),
    ("palette", _palette, ("escape",)),
    ("search", _search, ("escape",)),
    ("home", keys("f4"), ("escape",)),
    ("context", keys("f10"), ("escape",)),
    ("itself", _itself, ("escape",)),
    ("agents", keys("f6"), ("escape",)),
    ("settings", said("/settings agent"), ("escape", "escape")),
    ("new-key", _new_key, ("escape", "escape", "escape")),
    ("worktrees", said("/worktrees"), ("escape",)),
    ("model", said("/model"), ("escape",)),
    ("rewind", said("/rewind"), ("escape",)),
    ("rename", said("/title"), ("escape",)),
    ("question", _question, ("escape",)),
    ("consent", _consent, ("escape",)),
    ("found", _found, ("escape",)),  # the last one: it moves what is read
)
"""(name, how it is opened from the desk, the keys back). A pane of `PANES` is among them by its name."""
