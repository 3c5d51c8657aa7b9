"""Waiting for a condition with a deadline, instead of sleeping and hoping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


async def until(condition: Callable[[], object], within: float = 10.0, what: str = "") -> float:
    """Seconds until `condition()` was true; AssertionError when it is not `within` seconds."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > within:
            raise AssertionError(what or f"not true within {within} s: {condition}")
        await asyncio.sleep(0.005)
    return time.monotonic() - started


def blocking_until(condition: Callable[[], object], within: float = 10.0, what: str = "") -> float:
    """`until` for tests without a loop."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > within:
            raise AssertionError(what or f"not true within {within} s: {condition}")
        time.sleep(0.005)
    return time.monotonic() - started
