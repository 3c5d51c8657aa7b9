"""`python -m tests.support.fake_tui [PACE]`: the screen on a fake gateway, to try it by hand.

Anything typed is answered by the same scene, at PACE seconds a piece; "walls" asks the walls question, "long" has a
conversation of 5,000 events, "slow" takes three seconds to connect, "fail" fails to.
"""

from __future__ import annotations

import asyncio
import sys

from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import RootError
from thetis_kernel.protocol import client as c

from tests.support.fake_gateway import FakeTurn
from tests.support.fake_scenes import PATCH, fix_parser, furnished, played
from thetis_tui.app import run


def main(words: list[str]) -> int:
    """Open the screen."""
    pace = next((float(word) for word in words if word.replace(".", "").isdigit()), 0.02)
    gateway = furnished(uncommitted=3)
    gateway.diff = c.DiffText(patch=PATCH, files=[("engine/parser.py", 5, 2)])

    async def script(turn: FakeTurn) -> None:
        if "walls" in turn.text:
            gateway.tell(c.WallsQuestion(hint="sudo apt install bubblewrap"))
            await asyncio.sleep(5)
        await fix_parser(turn, pace)

    async def connect() -> GatewayClient:
        if "slow" in words:
            await asyncio.sleep(3)
        if "fail" in words:
            raise RootError("This directory is not in a git repository.", kind="none", hint="git init makes it one.")
        rounds = 400 if "long" in words else 3
        session = gateway.make("A conversation of many turns", branch="conv/0a0b0c0d")
        for number in range(rounds):
            played(gateway, session, f"Question {number}: does the parser hold?")
        return gateway.client

    gateway.script = script
    return run(connect)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
