"""The way back in: --safe ignores what was changed; `thetis self` shows, pins and finds; no guest keeps Thetis shut."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from thetis_kernel.protocol.events import Modification, TurnFinished

from tests.support.gateways import Opened, gateway
from tests.support.thetis import World

LOOP = "aspects/agent_core/loop.py"
ENDS = 'return _ended("stop", detail or declined, history)'


async def rewritten(opened: Opened) -> str:
    """A conversation whose agent says of each turn that it is another."""
    session = await opened.start("list .")
    await opened.client.wait_idle(session)
    done = await opened.client.devkit(session, "patch-code", path=LOOP, old_text=ENDS,
                                      new_text=ENDS.replace("detail or declined", '"rewritten"'))  # fmt: skip
    assert done["ok"], done
    return session


def details(events: list[Any]) -> list[str]:
    return [event.detail for event in events if isinstance(event, TurnFinished)]


async def test_safe_mode_serves_what_ships_and_keeps_what_was_changed(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await rewritten(opened)
        await opened.client.submit(session, "list .")
        await opened.client.wait_idle(session)
        assert details(await opened.log(session))[-1] == "rewritten"
    world = World(tmp_path)
    done = world.run("run", "--safe", "--conversation", session, "list .")
    assert "Safe mode" in done.stderr
    async with gateway(tmp_path, safe=True) as opened:
        assert details(await opened.log(session))[-1] == "" and (await opened.client.status()).safe
        await opened.client.submit(session, "make yourself a tool")
        await opened.client.wait_idle(session)
        events = await opened.log(session)
        assert len([event for event in events if isinstance(event, Modification)]) == 1  # the agent changes nothing now
        assert (await opened.client.devkit(session, "history", aspect="agent"))["revisions"][0]["serving"]
    async with gateway(tmp_path) as opened:  # and it is there again
        await opened.client.submit(session, "list .")
        await opened.client.wait_idle(session)
        assert details(await opened.log(session))[-1] == "rewritten"
        # this kernel has the root, and serves the change
        refused = await asyncio.to_thread(world.run, "run", "--safe", "list .", check=False)
        assert refused.returncode == 2 and "Another Thetis" in refused.stderr


async def test_the_command_line_shows_pins_and_finds(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await rewritten(opened)
    world = World(tmp_path)
    listed = json.loads(world.run("self", "log", "--json").stdout)["revisions"]
    revision = listed[0]["revision"][:8]
    shown = world.run("self", "show", "agent", revision).stdout
    assert "(it serves)" in shown and "by      user" in shown and '"rewritten"' in shown and f"why     Edit {LOOP}" in shown
    assert "agent" in world.run("self", "log").stdout
    place = Path(world.run("self", "path", "agent").stdout.strip())
    assert '"rewritten"' in (place / "loop.py").read_text()
    assert "pinned at shipped" in world.run("self", "pin", "agent", "shipped").stdout
    assert "pinned, " in next(line for line in world.run("self", "ls").stdout.splitlines() if line.startswith("agent "))
    assert "again" in world.run("self", "pin", "agent", "none").stdout
    assert "pinned" not in world.run("self", "ls").stdout
    assert world.run("self", "packages").stdout == "No guest has taken in a package.\n"
    (place / "loop.py").parent.mkdir(exist_ok=True)
    assert world.run("self", "show", "agent", "123456", check=False).returncode == 2
    assert session
