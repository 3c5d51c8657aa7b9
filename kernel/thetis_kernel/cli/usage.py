"""`thetis usage`: what conversations used, and with `--tools` what their tools cost and whether grouping them pays here.

Everything is read from the log. Must not know the agent.
"""

from __future__ import annotations

import argparse
import asyncio

import msgspec

from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.client import GatewayClient
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.spending import spent_words
from thetis_kernel.protocol.toolusage import ToolUsage, verdict

PAGE = 500


def usage(arguments: argparse.Namespace) -> int:
    """Print it for one conversation, or for all of the root."""
    paths, loaded = locate(arguments)

    async def work() -> list[tuple[str, ToolUsage, str]]:
        async with reached(paths, loaded, warm=False) as client:
            if arguments.conversation:
                lines = [await client.conversation(arguments.conversation)]
            else:
                lines = await client.conversations()
            return [(line.id, await _counted(client, line.id) if arguments.tools else ToolUsage(), spent_words(line.spent))
                    for line in lines]

    found = asyncio.run(work())
    whole = ToolUsage()
    for _, one, _ in found:
        whole.add(one)
    if arguments.json:
        table = {short(session): {"spent": spent, "tools": one} for session, one, spent in found}
        print(msgspec.json.encode({"conversations": table, "tools": whole}).decode())
        return 0
    for session, one, spent in found:
        tools = f"  {one.offered} of {one.all} tools, {one.used} used" if one.replies else ""
        print(plain(f"{short(session)}  {spent or 'nothing spent'}{tools}"))
    if arguments.tools:
        print("\n".join(verdict(whole)))
    return 0


async def _counted(client: GatewayClient, session: str) -> ToolUsage:
    counted = ToolUsage()
    after = 0
    while True:
        page = await client.read(session, after, PAGE)
        if not page.events:
            return counted
        for event in page.events:
            counted.feed(event)
        after = page.events[-1].seq
