"""Pictures of every screen and page in four sizes and two themes, and what holds of all of them.

One app a size and theme draws all pages. Drawn on one Python only, as widths of
emoji and the order of style spans differ between versions.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.album import KEPT, Album, still
from tests.support.fake_screen import Shown
from tests.support.pages import PAGES, everything
from thetis_tui import questions
from thetis_tui.app import ThetisApp
from thetis_tui.screens import dialog
from thetis_tui.screens.docking import PANES

SIZES = ((80, 24), (120, 40), (20, 5), (200, 60))
"""The last one, the dearest, in the long run only."""
THEMES = ("thetis-dark", "thetis-light")
NOW = 1_700_000_000_000 + 3 * 3_600_000
AT_WORK = frozenset({"settings", "itself", "story", "files", "worktrees", "look", "find", "log", "search"})
"""Groups of workers whose end is what is looked at."""
on_pictures_python = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pictures are drawn on Python 3.11")


def named(size: tuple[int, int]) -> str:
    """80x24."""
    return f"{size[0]}x{size[1]}"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialog, "GUARD", 0.05)
    monkeypatch.setattr(questions, "QUIET", 0.05)


async def settled(s: Shown) -> None:
    """Until nothing is at work and three pictures in a row are the same."""
    before, same = "", 0
    for _ in range(400):
        await s.pilot.pause()
        now = still(s.app.export_screenshot())
        busy = any(worker.is_running for worker in s.app.workers if worker.group in AT_WORK)
        before, same = now, same + 1 if now == before and not busy else 0
        if same == 2:
            return
    raise AssertionError(f"it never stands still:\n{s.text()}")


@on_pictures_python
@pytest.mark.timeout(400)  # many pages in one app, on a machine that may be busy
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", [*SIZES[:-1], pytest.param(SIZES[-1], marks=pytest.mark.slow)], ids=named)
async def test_every_page_looks_as_it_was_looked_at(
    size: tuple[int, int], theme: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    gateway, session = everything(tmp_path)
    album = Album(tmp_path / "differing", update=bool(request.config.getoption("update_snapshots")))
    app = ThetisApp(gateway.connect, conversation=session, theme=theme)
    app.state.now, app.state.wall_ms = (lambda: 1000.0), (lambda: NOW)
    async with app.run_test(size=size) as pilot:
        s = Shown(app, pilot, gateway, [])
        await s.ready()
        await s.until(lambda: app.appearance.keys == {"log": "f7"})
        for name, open_, back in PAGES:
            await open_(s)
            await settled(s)
            album.put(f"{name}-{named(size)}-{theme}", app.export_screenshot())
            await pilot.press(*back)
            await s.until(lambda: app.screen is app.desk, f"{name} leads back to the desk")
            app.clear_notifications()
            app.desk.prompt.put("")
            app.desk.prompt.focus()
    assert not album.problem(), album.problem()


def test_every_pane_and_every_picture_has_its_page() -> None:
    names = {name for name, _, _ in PAGES}
    assert set(PANES) <= names, "a pane without a picture"
    kept = {file.name.removesuffix(".svgz") for file in KEPT.glob("*.svgz")}
    wanted = {f"{name}-{named(size)}-{theme}" for name in names for size in SIZES for theme in THEMES}
    assert kept == wanted
