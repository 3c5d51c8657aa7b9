"""A conversation's body is changed by one at a time: the watchdog waits for a person's or the agent's change."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from thetis_kernel.gateway.body.looking import Looking
from thetis_kernel.gateway.body.service import Bodies


async def test_going_back_waits_for_a_change_that_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    order: list[str] = []
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def listing(self: Looking, session: str, directory: str) -> dict[str, Any]:
        entered.set()
        await go_on.wait()
        order.append("change")
        return {}

    async def back(self: Bodies, *args: Any) -> dict[str, Any]:
        order.append("back")
        return {"ok": True}

    monkeypatch.setattr(Looking, "list_code", listing)
    monkeypatch.setattr(Bodies, "_roll_back", back)
    bodies = Bodies(SimpleNamespace(directory=tmp_path), None, None, lambda world: None, None)  # type: ignore[arg-type]
    changing = asyncio.create_task(bodies.perform("s", "list-code", {"directory": ""}, by="user"))
    await entered.wait()
    going_back = asyncio.create_task(bodies.roll_back("s", "agent", "", "kernel"))
    for _ in range(3):
        await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(changing, going_back)
    assert order == ["change", "back"]
