"""Judging the shipped guests ahead of time, so that the first turn anywhere finds their artifacts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.guests import Guests
from thetis_kernel.gateway.runtimes import Runtimes
from thetis_kernel.paths import shipped_artifacts


async def prepare() -> int:
    """Make sure of every shipped guest's artifact; how many there are. Raises GateError when the agent does not pass."""
    problems: list[str] = []

    def incident(code: str, message: str, data: dict[str, Any]) -> None:
        problems.append(f"{code}: {message}")

    runtimes = Runtimes()
    with tempfile.TemporaryDirectory(prefix="thetis-prepare-") as scratch:
        fleet = Fleet(Path(scratch), runtimes, incident, worker_idle_s=60)
        guests = Guests(fleet, shipped_artifacts(), {})
        try:
            await guests.agent()
            tools = await guests.tools()
            await guests.renderer()
        finally:
            await fleet.supervisor.close()
            runtimes.close()
    if guests.failures():
        raise ThetisError("; ".join(guests.failures() + problems), code="gate", hint="Reinstall Thetis.")
    return 2 + len(tools)
