"""Pictures of the terminals of a conversation at two sizes and in two themes; look at them before accepting a change."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fake_scenes import played
from tests.support.fake_screen import Shown
from tests.support.fake_terminals import TerminalGateway
from tests.unit.tui.test_snapshots import picture, pytestmark

__all__ = ["pytestmark"]

LOG = b"""\x1b[2m$ npm run dev\x1b[0m\r
\r
  \x1b[1;32mVITE v6.0.1\x1b[0m  ready in \x1b[1m312\x1b[0m ms\r
\r
  \x1b[32m\xe2\x9e\x9c\x1b[0m  \x1b[1mLocal\x1b[0m:   \x1b[36mhttp://localhost:\x1b[1m5173\x1b[0;36m/\x1b[0m\r
\x1b[41;97m ERROR \x1b[0m src/parser.ts:14:7 \x1b[31munexpected `]`\x1b[0m\r
\x1b[38;2;255;135;0m14 |\x1b[0m   if (token === "]") {\r
\x1b[7m reversed \x1b[0m \x1b[4munderlined\x1b[0m \x1b[3mitalic\x1b[0m \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x99\x82\r
"""


@pytest.mark.parametrize("theme", ["thetis-dark", "thetis-light"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_terminals(snap_compare: Any, size: tuple[int, int], theme: str) -> None:
    gateway = TerminalGateway()
    session = gateway.make("Fix the parser", branch="conv/0a0b0c0d")
    played(gateway, session, "The parser crashes on a closing bracket.")
    gateway.terminal("t1", name="tests", command="pytest -q", exit_code=1)
    gateway.terminal("t2", LOG, name="server", command="npm run dev", running=True, typeable=True, since_ms=95_000)
    gateway.terminal(
        "p1",
        b"\x1b[36mengine\x1b[0m $ git status\r\nOn branch \x1b[32mconv/0a0b0c0d\x1b[0m\r\n\x1b[36mengine\x1b[0m $ ",
        own=True,
        running=True,
        typeable=True,
        since_ms=4_000,
    )

    async def act(s: Shown) -> None:
        await s.pilot.press("alt+t")
        await s.until(lambda: "git status" in s.text())
        await s.pilot.press("up")
        await s.until(lambda: "VITE" in s.text())
        if size[0] == 120:
            await s.pilot.press("enter")
            await s.until(lambda: "leaves" in s.text())
        asked = len(gateway.asks)
        await s.until(lambda: len(gateway.asks) > asked + 1)

    picture(snap_compare, gateway, size, theme, act, session)
