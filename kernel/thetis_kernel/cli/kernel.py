"""`thetis kernel`: what a conversation's branch would run its worker with, and a person's word for exactly that tree."""

from __future__ import annotations

import argparse
import asyncio
import sys

import msgspec

from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.protocol.kernels import KernelState
from thetis_kernel.protocol.plaintext import clean_line

MAX_NAMED = 30
RISK = ("A kernel runs as you, outside the walls: it is what puts commands into them. Through its channel it has this\n"
        "conversation's log and nothing of others. Read the change first (`thetis diff`).\n")


def kernel(arguments: argparse.Namespace) -> int:
    """Show, approve or take back; 0 when the branch's kernel is the one that runs, or approved."""
    paths, loaded = locate(arguments)

    async def work() -> KernelState:
        async with reached(paths, loaded, warm=False) as client:
            session = (await client.conversation(arguments.conversation)).id
            found = await client.kernel(session)
            if arguments.revoke:
                return await client.kernel(session, "")
            if arguments.approve and found.how in ("waiting", "abandoned"):
                return await client.kernel(session, found.tree)
            return found

    found = asyncio.run(work())
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n" if arguments.json else plain(_told(found)))
    return 0 if found.how in ("same", "approved") else 1


def _told(found: KernelState) -> str:
    if found.how == "off":
        return f"{found.why}\n"
    if found.how == "same":
        return "The branch has the kernel of its trunk; nothing is to be approved.\n"
    listed = "".join(f"  {each.status} {clean_line(each.path)}\n" for each in found.changed[:MAX_NAMED])
    head = f"The branch's kernel is {found.tree[:12]}:\n{listed}"
    if found.how == "approved":
        return f"{head}You approved it: this conversation's worker runs it. --revoke takes that back.\n"
    if found.how == "abandoned":
        return f"{head}It is not used any more: {clean_line(found.why)}. --approve tries it again.\n"
    return f"{head}{RISK}It waits for you: thetis kernel ID --approve\n"
