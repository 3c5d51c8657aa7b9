"""A directory that is no repository yet: offered to be made one, done only after a person said yes."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.runtimes import Runtimes
from thetis_kernel.protocol.git import AcceptOffer, Offer


def offer_repository(directory: Path) -> bool:
    """Ask on the terminal; True when `directory` is a repository with a first commit now."""
    print(f"{directory} is not a git repository. Thetis gives every conversation a branch of its own, so it needs one.")
    answer = input("Make it one now, with an empty first commit? Your files stay as they are. [y/N] ")
    if answer.strip().lower() not in ("y", "yes"):
        return False
    asyncio.run(_accept(directory, ("init", "first-commit")))
    return True


async def _accept(directory: Path, offers: tuple[Offer, ...]) -> None:
    with tempfile.TemporaryDirectory(prefix="thetis-offer-") as scratch:
        runtimes = Runtimes()
        fleet = Fleet(Path(scratch), runtimes, lambda *_: None, worker_idle_s=60)
        try:
            host = await fleet.git()
            for offer in offers:
                await host.peer.call(AcceptOffer(path=str(directory), offer=offer))
        finally:
            await fleet.supervisor.close()
            runtimes.close()
