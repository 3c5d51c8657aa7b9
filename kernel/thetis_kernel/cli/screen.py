"""`thetis`: the screen. Paints first, then reaches the gateway."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from thetis_kernel.cli.attach import Reached, attach_again
from thetis_kernel.cli.reach import locate, reach
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import DeadlineExceeded, PeerGone, RootError
from thetis_kernel.paths import user_config_file
from thetis_kernel.protocol.ids import short

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway


def screen(arguments: argparse.Namespace, let_go: Callable[[], None]) -> int:
    """Open the screen; its exit status. `let_go` leaves the terminal, for a gateway that goes on without it."""
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
        if opened and opened[-1].daemon:
            with contextlib.suppress(PeerGone, DeadlineExceeded):
                opened.append(await attach_again(paths, safe=arguments.safe))
                return opened[-1].client
        found = await reach(paths, loaded, unwalled=arguments.unwalled, can_ask=True, safe=arguments.safe, holder="screen")
        opened.append(found)
        return found.client

    async def leave(detach: bool) -> None:
        own = next((found.gateway for found in opened if found.gateway is not None), None)
        if detach and own is not None and own.turns.all_running():
            await _go_on(own, let_go)
        elif own is not None:
            await own.close()

    return run(connect, leave=leave, left=_farewell, conversation=arguments.conversation, keep=paths.screen,
               theme=loaded.settings.screen.theme, notices=loaded.settings.screen.notices,
               themes=user_config_file().parent / "themes")


async def _go_on(gateway: Gateway, let_go: Callable[[], None]) -> None:
    """The screen has gone, its gateway stays until nothing runs and nobody comes."""
    from thetis_kernel.gateway.headless import LINGER_S, LogFile, Staying

    count = len(gateway.turns.all_running())
    with contextlib.suppress(OSError):  # the terminal may be gone
        what = "A turn runs on; `thetis` shows it" if count == 1 else f"{count} turns run on; `thetis` shows them"
        print(f"{what}, `thetis daemon stop` ends this.", flush=True)
    gateway.holder = "detached"
    let_go()
    await Staying(gateway, LogFile(gateway.paths.daemon_log), linger_s=LINGER_S).until_over()


def _farewell(session: str) -> None:
    """The way back, on every way out: also when the screen failed or a signal ended it."""
    with contextlib.suppress(OSError):  # the terminal may be gone
        print(f"conversation {short(session)}; go on with: thetis --conversation {short(session)}", flush=True)
