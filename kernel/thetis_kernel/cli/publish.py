"""`thetis publish`: a branch others may see, and the hook that keeps the rest here. Nothing is pushed by the kernel."""

from __future__ import annotations

import argparse
import asyncio

from thetis_kernel.cli.one import say
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.client import GatewayClient
from thetis_kernel.protocol.plaintext import clean_line
from thetis_kernel.protocol.publishing import Guarded, Published


def publish(arguments: argparse.Namespace) -> int:
    """Bring the public branch up to the trunk, or see to the guard; 1 when the guard could not be put there."""
    paths, loaded = locate(arguments)

    async def work(client: GatewayClient) -> Published | Guarded:
        if arguments.guard or arguments.unguard:
            return await client.guard_pushes(arguments.guard)
        return await client.publish(remake=arguments.remake)

    async def run() -> Published | Guarded:
        async with reached(paths, loaded, warm=False) as client:
            return await work(client)

    found = asyncio.run(run())
    if isinstance(found, Published):
        say(arguments, found, published(found))
        return 0
    say(arguments, found, guarded(found))
    return 1 if arguments.guard and found.how in ("foreign", "elsewhere") else 0


def published(found: Published) -> str:
    """What was done, for people."""
    if not found.tip:
        return f"Nothing of {found.trunk} is public.\n"
    lines = [f"{found.branch} mirrors {found.trunk}: {found.commits} commits, {found.made} of them new ({found.tip[:12]})."]
    if found.hidden_total:
        named = ", ".join(clean_line(path) for path in found.hidden[:10])
        lines.append(f"Private, in every commit: {named}" + (" and more." if found.hidden_total > 10 else "."))
    if found.left_out:
        lines.append("Left out besides: " + ", ".join(clean_line(path) for path in found.left_out[:10]) + ".")
    if found.remade:
        lines.append("It was made anew, so what was pushed before has to be replaced (git push --force-with-lease); whoever "
                     "fetched it keeps what they have.")
    lines.append(f"Nothing was pushed: git push REMOTE {found.branch}:main")
    return "\n".join(lines) + "\n"


def guarded(found: Guarded) -> str:
    """What became of the guard, for people."""
    return {
        "set": f"From now on only the branch public is pushed from here ({found.hook}). THETIS_ALLOW_PUSH=1 lets one push pass.",
        "there": f"The guard is there already ({found.hook}).",
        "foreign": f"{found.hook} is a hook of somebody else and was left as it is. Merge the two by hand, or move it away.",
        "elsewhere": f"git looks for hooks in {clean_line(found.hook)} (core.hooksPath), so one here would not be run.",
        "removed": f"The guard is gone ({found.hook}).",
        "none": "There was no guard.",
    }[found.how] + "\n"
