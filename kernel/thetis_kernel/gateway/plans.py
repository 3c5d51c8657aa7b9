"""A plan on its way from a read-only mode to one that carries it out: what it is, and the events that hand it over."""

from __future__ import annotations

import asyncio
import json

from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.events import Assistant, Body, SettingChanged, StateChanged, User
from thetis_kernel.store.store import Store

LOOK_BACK = 400
"""Events from the end of the log among which the plan is looked for: a plan is the last thing that was said."""
MAX_PLAN = 256 * 1024
WORDS = "Carry out the plan above, step by step. Say where you have to differ from it."


def last_reply(store: Store, session: str, seq: int) -> str:
    """The text of the conversation's last reply that has one; "" when there is none."""
    for event in reversed(store.read(session, max(0, seq - LOOK_BACK))):
        body = event.body
        if isinstance(body, Assistant):
            texts = [block.get("text") for block in body.blocks if block.get("type") == "text"]
            if text := "\n\n".join(part for part in texts if isinstance(part, str) and part.strip()):
                return text[:MAX_PLAN]
    return ""


def handing_over(mode: str, plan: str) -> list[Body]:
    """The events: the mode, the plan kept as state (it outlives a compaction), and the words that begin the turn."""
    kept = json.dumps({"text": plan}, ensure_ascii=False)
    return [SettingChanged(name="mode", value=mode), StateChanged(scope="plan", key="approved", value=kept), User(text=WORDS)]


async def handed(log: Log, modes: Modes, session: str, mode: str) -> list[Body]:
    """`handing_over` for the conversation's plan. Raises UsageError where there is none to carry out, or no mode to do it in."""
    state = await log.state(session)
    if not modes.get(state.mode).read_only or modes.get(mode).read_only:
        raise UsageError("A plan goes from a read-only mode to one that carries it out.", hint="Choose another mode.")
    plan = await asyncio.to_thread(last_reply, log.store, session, state.seq)
    if not plan:
        raise UsageError("There is no plan in this conversation yet.", hint="Ask for one first.")
    return handing_over(mode, plan)
