"""`thetis`: the screen. Paints first, then reaches the gateway."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from thetis_kernel.cli.attach import Reached
from thetis_kernel.cli.reach import locate, reach
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import RootError, UsageError
from thetis_kernel.protocol.ids import short


def screen(arguments: argparse.Namespace) -> int:
    """Open the screen; its exit status."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("The screen needs a terminal.", hint='Without one, use: thetis run "..."')
    try:
        paths, loaded = locate(arguments)
    except RootError as error:
        from thetis_kernel.cli.offer import offer_repository

        here = Path(getattr(arguments, "root", None) or Path.cwd()).resolve()
        if error.kind != "not-a-repository" or not offer_repository(here):
            raise
        paths, loaded = locate(arguments)
    from thetis_tui.app import run

    opened: list[Reached] = []

    async def connect() -> GatewayClient:
        found = await reach(paths, loaded, unwalled=arguments.unwalled, can_ask=True, safe=arguments.safe)
        opened.append(found)
        return found.client

    async def leave() -> None:
        for found in opened:
            await found.close()

    return run(connect, leave=leave, left=_farewell, conversation=arguments.conversation, keep=paths.screen,
               theme=loaded.settings.screen.theme, notices=loaded.settings.screen.notices)


def _farewell(session: str) -> None:
    """The way back, on every way out: also when the screen failed or a signal ended it."""
    with contextlib.suppress(OSError):  # the terminal may be gone
        print(f"conversation {short(session)}; go on with: thetis --conversation {short(session)}", flush=True)
