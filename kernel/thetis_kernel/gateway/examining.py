"""A conversation looked at from outside: its chain, and what the agent would make of it, without a model being asked.

Owns the order: the chain first, because nothing is projected from a log that does not verify. Must not change the log.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.client import Examination
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.worker import CheckHistory

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway

CHECK_S = 600.0
"""For the agent to read a long log twice: 82 MB take it 4 s each time (measured.md), on a busy machine longer."""


async def examine(gateway: Gateway, session: str) -> Examination:
    """Look at one conversation (its full id). What is wrong is in the answer, never an error."""
    store = gateway.log.store
    chain: list[str] = []
    line = session
    while True:  # a fork's log begins with its parents'
        verdict = await asyncio.to_thread(store.verify, line)
        if not verdict.sound:
            whose = "" if line == session else f" of {short(line)}, which it was forked from,"
            chain.append(f"The log{whose} is good up to event {verdict.good_seq} of {verdict.last_seq}: {verdict.detail}.")
        row = await asyncio.to_thread(store.session, line)
        if row.relation != "fork":
            break
        line = row.parent
    conversation = await gateway.conversations.get(session)
    if chain:
        return Examination(conversation=conversation, chain=chain, unseen="No turn runs on a damaged log.")
    try:
        worker, agent = await asyncio.gather(gateway.workers.ensure(session), gateway.guests.agent(session))
        turn, turn_json = await gateway.turns.working.unstarted(session)
        checked = await worker.peer.call(CheckHistory(turn=turn, turn_json=turn_json, agent=agent), timeout=CHECK_S)
    except ThetisError as error:
        return Examination(conversation=conversation, unseen=str(error))
    return Examination(conversation=conversation, history=checked.findings, messages=checked.messages, size=checked.size,
                       said=checked.said)
