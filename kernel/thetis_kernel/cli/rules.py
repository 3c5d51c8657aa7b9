"""`thetis rules`: what you allowed for good in this root, listed, added to, taken back."""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime

import msgspec

from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.protocol.approvals import Rule


def rules(arguments: argparse.Namespace) -> int:
    """List the rules, or do what `action` says. Raises UsageError for a rule that cannot be, or is not there."""
    paths, loaded = locate(arguments)

    async def work() -> list[Rule]:
        async with reached(paths, loaded, warm=False) as client:
            if arguments.action == "add":
                return [await client.add_rule(arguments.effect, arguments.pattern)]
            if arguments.action == "revoke":
                return [await client.revoke_rule(arguments.id)]
            return await client.rules()

    found = asyncio.run(work())
    if arguments.json:
        print(msgspec.json.encode(found).decode())
        return 0
    if not found:
        print("Nothing is allowed for good here. In mode ask, `a` on the form makes a rule of an answer.")
    did = {"add": "allowed from now on", "revoke": "asked about again"}.get(arguments.action, "")
    for rule in found:
        when = did or (datetime.fromtimestamp(rule.created_ms / 1000).strftime("%Y-%m-%d %H:%M") if rule.created_ms else "")
        print(f"{rule.id:<5} {rule.capability:<7} {plain(rule.pattern)}  {when}".rstrip())
    return 0
