"""Saying one thing in a conversation and following it to the end of its turn, through kernels that come and go.

What was done is remembered, so that `follow` may be called again with another client: the conversation is made once, the
words are one message by their event id, and reading goes on behind the last event seen.
"""

from __future__ import annotations

import asyncio
import contextlib

from thetis_kernel.cli.printing import Answer
from thetis_kernel.client import GatewayClient
from thetis_kernel.protocol.events import Event, TurnFinished
from thetis_kernel.protocol.ids import new_event_id

STOP_SECONDS = 20.0


class Followed:
    """One message. `session` is known once the conversation is; `detail` is the end's sentence."""

    def __init__(self, prompt: str, answer: Answer, *, conversation: str, mode: str, model: str, with_changes: bool) -> None:
        self._prompt = prompt
        self._answer = answer
        self._conversation = conversation
        self._mode = mode
        self._model = model
        self._with_changes = with_changes
        self._event_id = new_event_id()
        self._seen = 0
        self._said_at = 0
        self._resumed = False
        self.session = ""
        self.detail = ""

    async def follow(self, client: GatewayClient) -> str:
        """What ended the turn (`TurnFinished.stopped_by`). Raises what the client raises."""
        if not self.session:
            if self._conversation:
                found = await client.conversation(self._conversation)
                self._seen = found.last_seq
            else:
                found = await client.create(origin="headless", mode=self._mode, model=self._model)
            self.session = self._answer.session = found.id
        said = await client.submit(self.session, self._prompt, event_id=self._event_id, with_changes=self._with_changes)
        self._said_at = said.seq
        async with contextlib.aclosing(client.events(self.session, self._seen)) as events:
            async for stored in events:
                end = self._take(stored.event)
                if end is not None and end.stopped_by == "restarted":
                    return await self._after_restarts(client)
                if end is not None:
                    return end.stopped_by
        return "error"

    async def stop(self, client: GatewayClient) -> None:
        """Stop the turn and wait for its end in the log."""
        if self._said_at:
            await client.stop(self.session)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await client.wait_idle(self.session)
            for event in (await client.read(self.session, self._seen)).events:
                self._take(event)

    async def _after_restarts(self, client: GatewayClient) -> str:
        """The turn was cut. A live gateway goes on with it by itself; after a kernel's death we ask for it, once."""
        await client.wait_idle(self.session)
        stopped_by = await self._catch_up(client)
        if stopped_by == "restarted" and not self._resumed:
            self._resumed = True
            if await client.resume(self.session):
                await client.wait_idle(self.session)
                stopped_by = await self._catch_up(client)
        return stopped_by

    async def _catch_up(self, client: GatewayClient) -> str:
        stopped_by = "restarted"
        while page := (await client.read(self.session, self._seen)).events:
            for event in page:
                end = self._take(event)
                stopped_by = end.stopped_by if end is not None else stopped_by
        return stopped_by

    def _take(self, event: Event) -> TurnFinished | None:
        """Print the event; the end of a turn when it is one that came after our words."""
        self._seen = event.seq
        self._answer.event(event)
        body = event.body
        if isinstance(body, TurnFinished) and event.seq > self._said_at:
            self.detail = body.detail
            return body
        return None
