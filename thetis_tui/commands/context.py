"""The command about what fills a model's window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_kernel.protocol.events import Event

    from thetis_tui.app import ThetisApp

MOST = 20_000
"""Events looked at, from the end: more stand in no window."""


class ContextMeter(Command):
    id = "context"
    title = "What fills the window"
    help = "How much of the model's window is used and by what, what its cache read, wrote and lost, and what it cost."
    keys = "f10"
    slash = "context"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current)

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        import asyncio

        from thetis_tui.context import fold
        from thetis_tui.screens.context import ContextScreen

        conversation = app.state.conversation
        if conversation is None:
            return
        events: list[Event] = []
        at = max(0, conversation.last_seq - MOST)
        while (page := await app.door.read(conversation.id, at, 500)).events:
            events += page.events
            at = page.events[-1].seq
        context = await asyncio.to_thread(fold, events)
        model = app.state.model()
        spent = await app.ask(app.client.spending(conversation.id)) or {}
        app.push_screen(ContextScreen(context, model.window if model else 0, spent))
