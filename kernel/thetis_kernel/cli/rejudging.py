"""`thetis setup`, its last part: what conversations of this root changed, judged again when the contract changed.

Every other root does the same by itself when Thetis is next opened there.
"""

from __future__ import annotations

import argparse
import asyncio

import msgspec

from thetis_kernel.cli.printing import plain, say
from thetis_kernel.cli.reach import locate
from thetis_kernel.config.loading import Loaded
from thetis_kernel.errors import RootError, StoreLocked
from thetis_kernel.gateway.body.revalidation import Failure
from thetis_kernel.paths import RootPaths


def rejudge(arguments: argparse.Namespace) -> None:
    """List the guests that pass no longer. They are no failure of the set-up: something serves in their place."""
    try:
        paths, loaded = locate(arguments)
    except RootError:
        return
    if not paths.bodies.is_dir():
        return
    try:
        failures = asyncio.run(_judge(paths, loaded, quiet=arguments.json))
    except StoreLocked:
        say("Another Thetis has this root open; it judges its guests when it is next started.")
        return
    for failure in failures:
        print(msgspec.json.encode(failure).decode() if arguments.json else plain(failure.sentence))


async def _judge(paths: RootPaths, loaded: Loaded, *, quiet: bool) -> list[Failure]:
    from thetis_kernel.gateway.gateway import Gateway

    def progress(done: int, total: int) -> None:
        if not quiet:
            say(f"Judging the guests of conversations again: {done}/{total}")

    gateway = await Gateway.open(paths, loaded, warm=False)
    try:
        failures = await gateway.revalidation.run(progress)
        for failure in failures:
            await gateway.guests.own_again(failure.session, failure.aspect)
    finally:
        await gateway.close()
    return failures
