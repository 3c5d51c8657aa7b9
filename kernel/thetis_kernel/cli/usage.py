"""`thetis usage`: what conversations used, by day, model, tool and sub-agent, and with `--tools` whether grouping tools pays.

Everything is read from the log. Must not know the agent.
"""

from __future__ import annotations

import argparse
import asyncio

import msgspec

from thetis_kernel.cli.disk import size
from thetis_kernel.cli.listing import plural
from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.client import GatewayClient
from thetis_kernel.protocol.client import Conversation
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.spending import Spent, spent_words
from thetis_kernel.protocol.toolusage import ToolUsage, verdict
from thetis_kernel.protocol.usage import Usages

PAGE = 500


def usage(arguments: argparse.Namespace) -> int:
    """Print it for one conversation, or for all of the root, sub-agents counted as their own."""
    paths, loaded = locate(arguments)
    whole, usages = ToolUsage(), Usages()
    lists = arguments.tools or arguments.by or arguments.json

    async def work() -> list[tuple[Conversation, ToolUsage]]:
        async with reached(paths, loaded, warm=False) as client:
            every = await client.conversations(children=True)
            if arguments.conversation:
                session = (await client.conversation(arguments.conversation)).id
                every = [line for line in every if session in (line.id, line.parent)]
            return [(line, await _counted(client, line, usages) if lists else ToolUsage()) for line in every]

    found = asyncio.run(work())
    for _, one in found:
        whole.add(one)
    if arguments.json:
        table = {short(line.id): {"spent": spent_words(line.spent), "tools": one} for line, one in found if not line.parent}
        tables = {name: getattr(usages, name) for name in ("day", "model", "tool", "child")}
        print(msgspec.json.encode({"conversations": table, "tools": whole, "by": tables}).decode())
        return 0
    if not arguments.by:
        for line, one in found:
            if line.parent:
                continue
            tools = f"  {one.offered} of {one.all} tools, {one.used} used" if one.replies else ""
            print(plain(f"{short(line.id)}  {spent_words(line.spent) or 'nothing spent'}{tools}"))
    for name in arguments.by:
        print("\n".join(_tools(usages) if name == "tool" else _table(name, getattr(usages, name))))
    if arguments.tools:
        print("\n".join(verdict(whole)))
    return 0


def _table(name: str, rows: dict[str, Spent]) -> list[str]:
    """Days in their order, everything else with what cost most first."""
    ordered = sorted(rows.items(), key=lambda row: row[0] if name == "day" else (-row[1].cost, -row[1].tokens, row[0]))
    wide = max((len(key) for key, _ in ordered), default=0)
    lines = [plain(f"{key:<{wide}}  {plural(spent.calls):>10}  {spent_words(spent)}") for key, spent in ordered]
    return [f"by {name}:", *lines] if lines else [f"by {name}: nothing was spent"]


def _tools(usages: Usages) -> list[str]:
    ordered = sorted(usages.tool.items(), key=lambda row: (-row[1].calls, row[0]))
    wide = max((len(name) for name, _ in ordered), default=0)
    lines = [plain(f"{name:<{wide}}  {plural(line.calls):>10}  {line.failed} failed  {line.ms / 1000:.1f} s  {size(line.bytes)}")
             for name, line in ordered]
    return ["by tool:", *lines] if lines else ["by tool: none was called"]


async def _counted(client: GatewayClient, line: Conversation, usages: Usages) -> ToolUsage:
    counted = ToolUsage()
    usages.begin((line.title or short(line.id)) if line.parent else "")
    after = 0
    while True:
        page = await client.read(line.id, after, PAGE)
        if not page.events:
            return counted
        for event in page.events:
            if line.parent == "":
                counted.feed(event)
            usages.feed(event)
        after = page.events[-1].seq
