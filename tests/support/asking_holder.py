"""A gateway in a process of its own in which a command waits for a person.

Run as `python -m tests.support.asking_holder BASE COMMAND`; prints the conversation's id once it is asked, then waits to be
killed.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.support.gateways import gateway


async def main(base: Path, command: str) -> None:
    """Ask and wait."""
    async with gateway(base) as g:
        await g.client.attend("screen")
        made = await g.client.create(origin="tui", mode="ask")
        await g.client.submit(made.id, f"run {command}")
        while not await g.client.approvals(made.id):
            await asyncio.sleep(0.02)
        print(made.id, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
