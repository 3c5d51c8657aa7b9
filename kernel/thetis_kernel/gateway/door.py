"""What clients may ask. One door for the screen, headless runs, bridges and tests; each request ends in one function here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from thetis_kernel.gateway.broadcast import Hearer
from thetis_kernel.gateway.examining import examine
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.blocks import RenderedEvent

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway

MAX_PAGE = 1 << 20
MAX_RENDER = 500
"""Events one render request may cover."""


def handlers(gateway: Gateway, hearer: Callable[[], Hearer]) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
    """The handlers of one client's channel; `hearer()` is that channel."""

    async def status(ask: c.GetStatus) -> c.Status:
        return await gateway.status(walls=ask.walls)

    async def conversations(_: c.ListConversations) -> list[c.Conversation]:
        return await gateway.conversations.all()

    async def conversation(ask: c.GetConversation) -> c.Conversation:
        return await gateway.conversations.get(await gateway.conversations.find(ask.id))

    async def create(ask: c.CreateConversation) -> c.Conversation:
        made = await gateway.conversations.create(ask.origin, ask.mode, ask.model)
        gateway.changed(made.id)
        gateway.expect_turn(made.id)
        return made

    async def submit(ask: c.Submit) -> c.Submitted:
        session = await gateway.conversations.find(ask.session)
        seq, how, turn = await asyncio.shield(
            gateway.turns.submit(session, ask.text, ask.event_id, ask.with_changes))
        return c.Submitted(seq=seq, how="nudge" if how == "nudge" else "turn", turn=turn)

    async def stop(ask: c.Stop) -> bool:
        return await gateway.turns.stop(await gateway.conversations.find(ask.session))

    async def resume(ask: c.Resume) -> bool:
        return await gateway.turns.resume(await gateway.conversations.find(ask.session))

    async def wait_idle(ask: c.WaitIdle) -> None:
        await gateway.turns.wait_idle(await gateway.conversations.find(ask.session))

    async def read(ask: c.ReadEvents) -> c.EventPage:
        session = await gateway.conversations.find(ask.session)
        store = gateway.log.store
        events = await asyncio.to_thread(store.read, session, ask.after, ask.limit, MAX_PAGE)
        return c.EventPage(events=events, last_seq=await asyncio.to_thread(store.last_seq, session))

    async def render(ask: c.RenderEvents) -> list[RenderedEvent]:
        session = await gateway.conversations.find(ask.session)
        count = max(0, min(ask.upto - ask.after, MAX_RENDER))
        events = await asyncio.to_thread(gateway.log.store.read, session, ask.after, count, MAX_PAGE)
        return await gateway.renderer.render([event for event in events if event.seq <= ask.upto])

    async def search(ask: c.Search) -> list[c.SearchHit]:
        hits = await asyncio.to_thread(gateway.log.store.search, ask.query, min(max(ask.limit, 1), 500))
        return [c.SearchHit(session=h.session, seq=h.seq, kind=h.kind, snippet=h.snippet) for h in hits]

    async def diff(ask: c.GetDiff) -> c.DiffText:
        return await gateway.repository.diff(await gateway.conversations.find(ask.session))

    async def change(ask: c.ChangeSetting) -> None:
        session = await gateway.conversations.find(ask.session)
        await gateway.conversations.set(session, ask.name, ask.value)
        gateway.changed(session)

    async def delete(ask: c.DeleteConversation) -> None:
        session = await gateway.conversations.find(ask.session)
        await gateway.conversations.delete(session)
        await gateway.workers.discard(session)

    async def examination(ask: c.Examine) -> c.Examination:
        return await examine(gateway, await gateway.conversations.find(ask.session))

    async def subscribe(ask: c.Subscribe) -> None:
        session = await gateway.conversations.find(ask.session) if ask.session else ""
        gateway.broadcast.subscribe(hearer(), session)

    async def consent(ask: c.Consent) -> None:
        await gateway.consent.answer(ask.allow)

    async def accept_offer(ask: c.AcceptOffer) -> c.Status:
        await gateway.repository.accept(ask.offer)
        return await gateway.status()

    async def shutdown(_: c.Shutdown) -> None:
        gateway.request_close()

    return {
        c.GetStatus: status,
        c.ListConversations: conversations,
        c.GetConversation: conversation,
        c.CreateConversation: create,
        c.Submit: submit,
        c.Stop: stop,
        c.Resume: resume,
        c.WaitIdle: wait_idle,
        c.ReadEvents: read,
        c.RenderEvents: render,
        c.Search: search,
        c.GetDiff: diff,
        c.ChangeSetting: change,
        c.DeleteConversation: delete,
        c.Examine: examination,
        c.Subscribe: subscribe,
        c.Consent: consent,
        c.AcceptOffer: accept_offer,
        c.Shutdown: shutdown,
    }
