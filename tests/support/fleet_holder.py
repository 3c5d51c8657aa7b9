"""A gateway-like process with N children in one state: `python -m tests.support.fleet_holder N STATE [MARK]`.

Says their pids on one line once all are in it, then waits to be killed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from thetis_kernel.supervise.fleet import Supervisor
from thetis_kernel.supervise.record import Record
from thetis_kernel.supervise.spawn import Plan, RoleSource

from tests.support.roles.states import Enter

ROLES = RoleSource("tests.support.roles", Path(__file__).parents[2])


async def main(count: int, state: str, record: str) -> None:
    fleet = Supervisor(
        on_incident=lambda code, message, data: print(message, file=sys.stderr),
        source=ROLES,
        record=Record(Path(record)) if record else None,
    )
    children = [await fleet.ensure(f"child {n}", Plan("states")) for n in range(count)]
    for child in children:
        await child.peer.call(Enter(state))
    print(json.dumps([child.pid for child in children]), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""))
