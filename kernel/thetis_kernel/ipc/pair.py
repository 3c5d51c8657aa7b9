"""Two `AsyncPeer`s on one loop that talk to each other: for the client that lives in the gateway's process, and tests.

A real socketpair lies between them, so limits, order and errors are those of two processes.
"""

from __future__ import annotations

import asyncio
import socket

from thetis_kernel.ipc.aio import AsyncPeer


async def join(left: AsyncPeer, right: AsyncPeer) -> None:
    """Connect two peers that are not attached yet; returns when each has heard the other's hello."""
    here, there = socket.socketpair()
    await left.attach(here)
    await right.attach(there)
    await asyncio.gather(left.greeted(), right.greeted())
