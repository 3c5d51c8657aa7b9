"""One conversation of Discord: a person's words in, in their order; its answers out, as the log has them.

Everything is done again after the gateway or Discord went away: words carry an id that makes them one message, and what was
shown is written down behind each turn. Must not know the library.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from thetis_kernel.client import GatewayClient
from thetis_kernel.connectors.discord import forms
from thetis_kernel.connectors.discord.answer import Answer
from thetis_kernel.connectors.discord.heard import Pressed, Said
from thetis_kernel.connectors.discord.memory import Memory, Talk
from thetis_kernel.connectors.discord.pages import LIMIT
from thetis_kernel.connectors.discord.pause import Pause
from thetis_kernel.connectors.discord.poster import Post, Poster, Unsent
from thetis_kernel.errors import DeadlineExceeded, PeerGone, RemoteError, ThetisError
from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.asking import Given
from thetis_kernel.protocol.client import Delta
from thetis_kernel.protocol.events import Event, Question, TurnFinished, TurnStarted
from thetis_kernel.protocol.plaintext import clean_line, clean_text
from thetis_kernel.protocol.wire import Tell

MAX_WAITING = 200
"""Messages of one conversation that wait to be handed over; of more, the oldest stay."""
MAX_RESUMES = 2
FULL = "Too much waits here already, so I did not take this. Say it again in a while."
PASSING = frozenset({"closing", "store-full", "store-locked"})
"""Codes of a gateway that will take the same words later."""
_logger = logging.getLogger(__name__)


class Surroundings(Protocol):
    """What a conversation needs of the connector."""

    memory: Memory
    mode: str
    interval_s: float

    @property
    def post(self) -> Post:
        """How messages go out."""
        ...

    async def client(self) -> GatewayClient:
        """The gateway, once there is one."""
        ...

    def taken(self, said: Said) -> None:
        """The words are in the log, or will never be."""
        ...


class Talking:
    """The conversation of `key`. `shared`: several people write into it, so their words carry who said them."""

    def __init__(self, key: str, around: Surroundings, *, shared: bool) -> None:
        self.key = key
        self._around = around
        self._shared = shared
        self._waiting: asyncio.Queue[Said] = asyncio.Queue(MAX_WAITING)
        self._saying: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._again = False
        self._answer = Answer()
        self._poster: Poster | None = None
        self._pace: asyncio.Task[None] | None = None
        self._partly: dict[str, dict[int, Given]] = {}
        self._pressing = asyncio.Lock()
        self._resumes = 0
        self._telling: set[asyncio.Task[None]] = set()

    @property
    def session(self) -> str:
        """The conversation's id, "" before there is one."""
        talk = self._around.memory.talk(self.key)
        return talk.session if talk is not None else ""

    def hear(self, said: Said) -> bool:
        """Take words; False when too many wait, which whoever said them is told."""
        try:
            self._waiting.put_nowait(said)
        except asyncio.QueueFull:
            self._telling.add(telling := asyncio.create_task(self._tell(said, FULL)))
            telling.add_done_callback(self._telling.discard)
            return False
        if self._saying is None or self._saying.done():
            self._saying = asyncio.create_task(self._say_all())
        return True

    def close(self) -> None:
        """End what runs for it here; the conversation itself goes on."""
        for task in (self._saying, self._following, self._pace):
            if task is not None:
                task.cancel()

    # Words in

    async def _say_all(self) -> None:
        while not self._waiting.empty():
            said = self._waiting.get_nowait()
            try:
                await until_done(lambda said=said: self._say(said))  # type: ignore[misc]
            except ThetisError as error:
                await self._tell(said, f"This could not be said: {error}")
            self._around.taken(said)

    async def _say(self, said: Said) -> None:
        client = await self._around.client()
        talk = await self._talk(client, said)
        if said.id <= talk.last:
            return  # Discord sends again what came before a line was taken up
        text = f"{clean_line(said.person.name)} ({said.person.id}): {said.text}" if self._shared else said.text
        event_id = hashlib.sha256(f"{talk.session}:{said.id}".encode()).hexdigest()[:32]
        await client.submit(talk.session, clean_text(text), event_id=event_id)
        talk.last = said.id
        self._around.memory.keep(self.key, talk)
        self._resumes = 0
        self.follow()

    async def _talk(self, client: GatewayClient, said: Said) -> Talk:
        """The conversation of this place; a new one when there is none, or a person put it away or deleted it."""
        known = self._around.memory.talk(self.key)
        if known is not None:
            try:
                if not (await client.conversation(known.session)).archived:
                    return known
            except RemoteError as error:
                if error.code in PASSING:
                    raise
        made = await client.create(origin="discord", mode=self._around.mode)
        talk = Talk(session=made.id, channel=said.place.channel)
        self._around.memory.keep(self.key, talk)
        return talk

    async def _tell(self, said: Said, words: str) -> None:
        try:
            await self._around.post.send(said.place.channel, cutting.shortened(words, LIMIT), reply_to=said.id,
                                         nonce=hashlib.sha256(f"told:{said.id}".encode()).hexdigest()[:24])
        except Unsent as error:
            _logger.warning("Why words were not taken could not be told: %s.", error)

    # Answers out

    def follow(self) -> None:
        """Show what the log holds beyond what is shown, and what comes until nothing runs any more."""
        self._again = True
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        while self._again:
            self._again = False
            try:
                await until_done(self._read_on)
            except ThetisError as error:
                _logger.warning("%s is not followed any more: %s", self.key, error)

    async def _read_on(self) -> None:
        talk = self._around.memory.talk(self.key)
        if talk is None:
            return
        client = await self._around.client()
        session = talk.session

        def heard(tell: Tell) -> None:
            if (isinstance(tell, Delta) and tell.session == session and self._poster is not None and self._answer.delta(tell)):
                self._poster.want(self._answer.pages)

        unlisten = client.listen(heard)
        idle = asyncio.ensure_future(client.wait_idle(session))
        try:
            async with contextlib.aclosing(client.events(session, talk.shown, until=idle)) as events:
                async for stored in events:
                    await self._show(talk, stored.event)
            await idle
            if (await client.conversation(session)).state == "interrupted" and self._resumes < MAX_RESUMES:
                self._resumes += 1
                self._again = await client.resume(session)
        finally:
            unlisten()
            idle.cancel()
            await asyncio.gather(idle, return_exceptions=True)

    async def _show(self, talk: Talk, event: Event) -> None:
        """Take one event of the log; of a turn's last, return once all of it is in Discord."""
        body = event.body
        if isinstance(body, TurnStarted):
            self._begin(talk, body.turn)
        self._answer.event(event)
        if self._poster is None:
            return
        if isinstance(body, Question):
            await self._poster.settle()
            await self._ask(talk, body)
        elif isinstance(body, TurnFinished):
            await self._stop_pace()
            await self._poster.settle()
            self._poster = None
            talk.shown, talk.turn, talk.posts = event.seq, "", []
            self._keep(talk)
        else:
            self._poster.want(self._answer.pages)

    def _begin(self, talk: Talk, turn: str) -> None:
        """A turn's first event. One that was shown in part by an earlier connector is shown in the same messages."""
        if self._pace is not None:
            self._pace.cancel()
        if talk.turn != turn:
            talk.turn, talk.posts = turn, []

        def kept(posts: list[int]) -> None:
            talk.posts = posts
            self._keep(talk)

        self._answer = Answer(turn)
        self._poster = Poster(self._around.post, talk.channel, f"{talk.session}:{turn}", reply_to=talk.last,
                              interval_s=self._around.interval_s, posts=talk.posts, kept=kept)
        self._poster.want(self._answer.pages)
        self._pace = asyncio.create_task(self._poster.run())

    async def _stop_pace(self) -> None:
        """End the pace after the change it is at: what is under way must not be sent twice."""
        if self._pace is not None and self._poster is not None:
            self._poster.end()
            await self._pace
            self._pace = None

    def _keep(self, talk: Talk) -> None:
        """Write down how far it was shown, unless the place has another conversation by now."""
        if self._around.memory.talk(self.key) is talk:
            self._around.memory.keep(self.key, talk)

    # What it asks

    async def _ask(self, talk: Talk, question: Question) -> None:
        text, components = forms.message(talk.session, question)
        nonce = forms.mark(talk.session, question)
        pause = Pause()
        while True:
            try:
                await self._around.post.send(talk.channel, text, nonce=nonce, components=components)
                return
            except Unsent as error:
                if error.lasting:
                    _logger.warning("A question in channel %d was not taken: %s", talk.channel, error)
                    return
                await asyncio.sleep(pause.next_s())

    async def press(self, pressed: Pressed) -> str:
        """Take an answer, in the order they were given; words for whoever gave it. The first counts. Raises ThetisError."""
        async with self._pressing:
            return await self._press(pressed)

    async def _press(self, pressed: Pressed) -> str:
        client = await self._around.client()
        session = self.session
        open_ones = await client.questions(session) if session else []
        question = next((one for one in open_ones if forms.mark(session, one) == pressed.mark), None)
        if question is None:
            return "This is not asked any more, or not of you."
        answers = self._partly.setdefault(question.id, {})
        answers.update(forms.given(question, pressed))
        left = len(question.questions) - len(answers)
        if left:
            return f"Noted. {left} more to answer."
        event_id = hashlib.sha256(f"{session}:{question.id}:{pressed.id}".encode()).hexdigest()[:32]
        del self._partly[question.id]
        try:
            await client.answer_question(session, question.id, [answers[number] for number in sorted(answers)], event_id=event_id)
        except RemoteError:
            if question.id in {one.id for one in await client.questions(session)}:
                raise
            return "This was answered already."
        self.follow()
        return ""


async def until_done(work: Callable[[], Awaitable[None]]) -> None:
    """Do it again for as long as a gateway went away or cannot now. Raises the errors that last."""
    pause = Pause(0.2)
    while True:
        try:
            return await work()
        except (PeerGone, DeadlineExceeded):
            pass
        except RemoteError as error:
            if error.code not in PASSING:
                raise
        await asyncio.sleep(pause.next_s())
