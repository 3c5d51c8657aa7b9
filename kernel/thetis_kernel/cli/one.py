"""What commands about one conversation share: reaching it, and saying what came of it in words or as JSON."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.client import GatewayClient


def asked(arguments: argparse.Namespace, work: Callable[[GatewayClient, str], Awaitable[Any]], *, warm: bool = False) -> Any:
    """What `work(client, session)` answers for the conversation the person named; `warm` as for `reached`."""
    paths, loaded = locate(arguments)

    async def run() -> Any:
        async with reached(paths, loaded, warm=warm) as client:
            return await work(client, (await client.conversation(arguments.conversation)).id)

    return asyncio.run(run())


def say(arguments: argparse.Namespace, found: Any, text: str) -> None:
    """Print `found` as JSON where that was asked for, else `text`."""
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n" if arguments.json else plain(text))
