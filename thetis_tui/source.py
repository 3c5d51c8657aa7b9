"""Reads a conversation for the screen: pages of events and their blocks, whatever a request's limits leave out.

Must not know about widgets. A page the gateway cut short is asked on; one it cannot render is halved until the event
at fault stands alone and is shown as an incident.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from thetis_kernel.errors import IpcError, ThetisError
from thetis_kernel.protocol.blocks import Block, RenderedEvent
from thetis_kernel.protocol.client import EventPage

from thetis_tui.window import Span


class Log(Protocol):
    """What of the client is needed to read."""

    def read(self, session: str, after: int = 0, limit: int = 500) -> Awaitable[EventPage]: ...

    def render(self, session: str, after: int, upto: int) -> Awaitable[list[RenderedEvent]]: ...


async def rendered(log: Log, session: str, span: Span) -> list[RenderedEvent]:
    """The blocks of the events of `span`, ascending.

    Raises errors of the channel; an error of rendering becomes an incident in the place of its event.
    """
    out: list[RenderedEvent] = []
    at = span.after
    while at < span.upto:
        try:
            page = await log.render(session, at, span.upto)
        except IpcError:
            raise
        except ThetisError as error:
            if span.upto - at > 1:
                middle = at + (span.upto - at) // 2
                out += await rendered(log, session, Span(at, middle))
                at = middle
                continue
            block = Block(kind="incident", seq=span.upto, title="This event could not be shown.", body=error.message)
            return [*out, RenderedEvent(span.upto, [block])]
        fresh = [event for event in page if at < event.seq <= span.upto]
        if not fresh:
            break
        out += fresh
        at = fresh[-1].seq
    return out
