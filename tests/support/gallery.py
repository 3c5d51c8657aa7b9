"""`python -m tests.support.gallery` (`make pictures`): draws the main screens into docs/pictures, on a gateway that is played.

The README shows them. Look at them after a change of the screen: they are what people see first.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path

from textual.widgets import Input
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.spending import Spent

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import PATCH, furnished, played
from tests.support.fake_screen import Shown
from thetis_tui.app import ThetisApp
from thetis_tui.screens.home import HomeScreen

PICTURES = Path(__file__).parents[2] / "docs/pictures"
NOW = 1_700_000_000_000 + 3 * 3_600_000
Act = Callable[[Shown], Awaitable[None]]


def lively() -> tuple[FakeGateway, str]:
    """A root in the middle of a day's work; the conversation to look at."""
    gateway = furnished()
    for line in list(gateway.lines.values()):
        gateway.change(line.id, preview=f"{line.title}: what was said last in it.",
                       spent=Spent(3, 40_000, 900, cost=Decimal("0.12")))
    session = gateway.make("Fix the parser", branch="conv/0a0b0c0d", preview="All tests pass now.",
                           spent=Spent(9, 120_000, 3_000, cost=Decimal("0.48")))
    played(gateway, session, "The parser crashes on a closing bracket. Fix it and show that it holds.")
    gateway.diff = c.DiffText(patch=PATCH, files=[("engine/parser.py", 5, 2)])
    return gateway, session


async def nothing(s: Shown) -> None:
    """As it opens."""


async def home(s: Shown) -> None:
    """All conversations, one that runs and one that asks."""
    running, asking = (next(x.id for x in s.gateway.lines.values() if x.title.startswith(word)) for word in ("Why", "Rename"))
    s.gateway.store(running, e.ToolInvocation("c1", "run", {"command": "make check"}, "tool:run", True, "t"))
    s.gateway.request(asking, detail="git push origin main")
    await s.pilot.press("f4")
    await s.until(lambda: isinstance(s.app.screen, HomeScreen) and "make check" in s.text() and "needs you" in s.text())


async def changes(s: Shown) -> None:
    """The diff, side by side."""
    await s.pilot.press("f3")
    await s.until(lambda: "engine/parser.py" in s.text() and s.app.screen is not s.desk)


async def log(s: Shown) -> None:
    """The log beside the transcript, filtered."""
    await s.pilot.press("shift+f2", *"tool")
    await s.until(lambda: s.desk.pane.lines.rows == 8)
    await s.calm()


async def files(s: Shown) -> None:
    """What has changed, beside the transcript."""
    s.gateway.diff = c.DiffText(patch=PATCH, files=[
        ("engine/parser.py", 5, 2), ("engine/errors.py", 38, 0), ("tests/unit/test_parser.py", 24, 3), ("docs/parser.md", 6, 6)])
    await s.pilot.press("alt+d")
    await s.until(lambda: "engine/errors.py" in s.text())
    s.desk.to_prompt()
    await s.calm()


async def palette(s: Shown) -> None:
    """Everything by name."""
    await s.pilot.press("ctrl+p")
    await s.until(lambda: "New conversation" in s.text())
    for box in s.app.screen.query(Input):
        box.cursor_blink = False


SCENES: dict[str, tuple[tuple[int, int], Act]] = {
    "conversation": ((120, 36), nothing), "home": ((120, 20), home), "diff": ((160, 30), changes), "log": ((160, 36), log),
    "files": ((160, 36), files), "palette": ((120, 30), palette),
}


async def draw(name: str) -> str:
    """One picture, as SVG."""
    size, act = SCENES[name]
    gateway, session = lively()
    app = ThetisApp(gateway.connect, conversation=session)
    app.state.now, app.state.wall_ms = (lambda: 1000.0), (lambda: NOW)
    async with app.run_test(size=size) as pilot:
        shown = Shown(app, pilot, gateway, [])
        await shown.ready()
        await act(shown)
        app.state.now = lambda: 1012.0
        await pilot.pause()
        svg = app.export_screenshot(title="thetis")
        gateway.gates.clear()
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # a picture in a README fetches nothing
    return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)


def main() -> int:
    """Draw all of them."""
    PICTURES.mkdir(exist_ok=True)
    for name in SCENES:
        (PICTURES / f"{name}.svg").write_text(asyncio.run(draw(name)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
