"""Saying one thing in a conversation and following it to the end of its turn, through kernels that come and go.

What was done is remembered, so that `follow` may be called again with another client: the conversation is made once, the
words are one message by their event id, and reading goes on behind the last event seen.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from thetis_kernel.cli.printing import Answer
from thetis_kernel.client import GatewayClient
from thetis_kernel.protocol.asking import Given
from thetis_kernel.protocol.events import BlobRef, ChildSettled, ChildStarted, Event, TurnFinished, TurnStarted
from thetis_kernel.protocol.ids import new_event_id

STOP_SECONDS = 20.0
MAX_RESUMES = 2
"""Times one turn is asked for again after kernels that died with it (DESIGN 6: at most twice). What a live gateway has
given up after as many attempts of its own is not asked for."""


class Followed:
    """One message; `files` are absolute paths of what is shown with it.

    `session` is known once the conversation is; `detail` is the end's sentence.
    """

    def __init__(self, prompt: str, answer: Answer, *, conversation: str, mode: str, model: str, with_changes: bool,
                 files: Sequence[str] = ()) -> None:
        self._prompt = prompt
        self._files = files
        self._attached: list[BlobRef] | None = None
        self._answer = answer
        self._conversation = conversation
        self._mode = mode
        self._model = model
        self._with_changes = with_changes
        self._event_id = new_event_id()
        self._seen = 0
        self._said_at = 0
        self._resumes = 0
        self._attempt = 0
        self._end: TurnFinished | None = None
        self._children: set[str] = set()
        self._more = False
        """Sub-agents outlived a turn: when they settle, another one tells of them."""
        self.session = ""
        self.detail = "No turn was begun for these words."

    async def follow(self, client: GatewayClient) -> str:
        """What ended the turn (`TurnFinished.stopped_by`). Raises what the client raises."""
        if self._attached is None:  # first of all: a file that does not do leaves no conversation behind
            self._attached = [await client.attach(file) for file in self._files]
        if not self.session:
            if self._conversation:
                found = await client.conversation(self._conversation)
                self._seen = found.last_seq
            else:
                found = await client.create(origin="headless", mode=self._mode, model=self._model)
            self.session = self._answer.session = found.id
        self._said_at = await self._say(client)
        await self._read_on(client)
        while self._is_cut() and max(self._resumes, self._attempt) < MAX_RESUMES and await client.resume(self.session):
            self._resumes += 1
            await self._read_on(client)
        return self._end.stopped_by if self._end is not None else "error"

    async def _say(self, client: GatewayClient) -> int:
        """Hand the words over; the number of their event. Saying them again is no second message."""
        said = await client.submit(self.session, self._prompt, event_id=self._event_id, with_changes=self._with_changes,
                                   alone=True, attachments=self._attached or ())
        return said.seq

    async def stop(self, client: GatewayClient) -> None:
        """Stop the turn and wait for its end in the log."""
        if self._said_at:
            await client.stop(self.session)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await client.wait_idle(self.session)
            for event in (await client.read(self.session, self._seen)).events:
                self._take(event)

    async def _read_on(self, client: GatewayClient) -> None:
        """Read until our turn has its end, or nothing runs any more. A live gateway goes on by itself with a turn its
        worker did not survive; one that was never begun, or that a kernel's death cut, is for us to ask for."""
        idle = asyncio.ensure_future(client.wait_idle(self.session))
        try:
            async with contextlib.aclosing(client.events(self.session, self._seen, until=idle)) as events:
                async for stored in events:
                    self._take(stored.event)
                    if isinstance(stored.event.body, ChildStarted):
                        await client.subscribe(stored.event.body.child)
                    if not self._is_cut() and not self._more:
                        return
            await idle  # whose failure is not the turn's end
        finally:
            idle.cancel()
            await asyncio.gather(idle, return_exceptions=True)

    def _is_cut(self) -> bool:
        return self._end is None or self._end.stopped_by == "restarted"

    def _take(self, event: Event) -> None:
        """Print the event, and note the end of a turn when it is one that came after our words."""
        self._seen = event.seq
        self._answer.event(event)
        body = event.body
        if isinstance(body, TurnStarted):
            self._end, self._attempt = None, body.attempt
        elif isinstance(body, TurnFinished) and event.seq > self._said_at:
            self._end, self.detail = body, body.detail
            self._more = self._more or (bool(self._children) and body.stopped_by == "stop")
        elif isinstance(body, ChildStarted):
            self._children.add(body.child)
        elif isinstance(body, ChildSettled):
            self._children.discard(body.child)


class FollowedAnswer(Followed):
    """The same for an answer to what the agent asked: `question` is its id, `given` one answer to each part of it."""

    def __init__(self, question: str, given: Sequence[Given], answer: Answer, *, conversation: str) -> None:
        super().__init__("", answer, conversation=conversation, mode="", model="", with_changes=False)
        self._question = question
        self._given = given

    async def _say(self, client: GatewayClient) -> int:
        return await client.answer_question(self.session, self._question, self._given, event_id=self._event_id)
