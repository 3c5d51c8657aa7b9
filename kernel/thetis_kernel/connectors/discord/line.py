"""The line to Discord: the library on a thread and an event loop of its own, so that heartbeats wait for nothing of ours.

Our loop may stall over a long log; Discord still hears the heartbeat and does not take us for dead. Every event that counts
passes `_hear`, which judges it before anything else is done. A line that breaks is taken up again where it was, after a pause
of at most a minute that is short again once Discord said it is ready; a code that says it never will ends it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import aiohttp
import discord
from discord.gateway import DiscordWebSocket, ReconnectWebSocket

from thetis_kernel.connectors.discord import forms, reading, sending
from thetis_kernel.connectors.discord.admission import Verdict
from thetis_kernel.connectors.discord.commands import STRANGER, registered
from thetis_kernel.connectors.discord.heard import Heard, PlaceKind, Said
from thetis_kernel.connectors.discord.pause import Pause
from thetis_kernel.connectors.discord.poster import Unsent
from thetis_kernel.errors import ThetisError

R = TypeVar("R")
CONNECT_S = 60.0
FINAL = {
    4004: ("Discord does not know the bot's token.", "Make a new one in the developer portal and put it where discord.token is."),
    4010: ("Discord refused the shard.", "Report this: the connector uses none."),
    4011: ("The bot is in too many servers for one connection.", "Let it leave some."),
    4012: ("Discord does not speak this version of its protocol any more.", "Update discord.py and Thetis."),
    4013: ("Discord refused what the bot wants to hear of.", "Update discord.py and Thetis."),
    4014: ("The bot may not read messages.", "Switch the message content intent on for it in the developer portal."),
}
"""Codes Discord closes a line with for good: a sentence, and the way out."""
DEFERRED, DEFERRED_UPDATE, MESSAGE, MODAL = 5, 6, 4, 9
"""Types of answers to an interaction."""
MAX_MISSED = 500
"""Messages of one channel that are caught up with."""
_BROKEN = (OSError, discord.HTTPException, discord.GatewayNotFound, discord.ConnectionClosed, aiohttp.ClientError, TimeoutError)
_UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RecursionError,
               discord.InvalidData)
"""What the library raises over an event that is not as it expects."""
EVENTS = frozenset({
    "READY", "RESUMED", "MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE", "GUILD_DELETE", "CHANNEL_CREATE",
    "CHANNEL_UPDATE", "CHANNEL_DELETE", "THREAD_CREATE", "THREAD_UPDATE", "THREAD_DELETE", "THREAD_LIST_SYNC",
})
"""Events that are read at all: words, interactions, and what says which channel is a thread. No other is looked at."""
_logger = logging.getLogger(__name__)


class LineEnded(ThetisError):
    """Discord will not have us any more."""

    code = "discord"


class Missed:
    """What to look for after a line that could not be taken up: `after`, the last id that counts, and the channels we know."""

    def __init__(self, after: int, places: dict[int, PlaceKind], people: Sequence[int]) -> None:
        self.after = after
        self.places = places
        self.people = people


class Line:
    """`judge`, on the library's thread; there, too, `deliver` what is taken and `passed(message)` what is not. `missed()`: what
    to look for."""

    def __init__(self, token: str, judge: Callable[[Heard], Verdict], deliver: Callable[[Heard], None],
                 missed: Callable[[], Missed], passed: Callable[[int], None] = lambda message: None) -> None:
        self._token = token
        self._client = _Client(judge, deliver, missed, passed)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self.ended: Future[ThetisError | None] = Future()
        """Resolved when the line is over: with an error, or None after `close`."""

    def start(self) -> None:
        """Begin on a thread of its own."""
        threading.Thread(target=self._run, name="discord", daemon=True).start()
        self._started.wait()

    def _run(self) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            self._started.set()
            await self._client.keep(self._token)

        try:
            asyncio.run(main())
            self.ended.set_result(None)
        except LineEnded as error:
            self.ended.set_result(error)
        except BaseException as error:
            self.ended.set_result(LineEnded(f"The line to Discord broke: {type(error).__name__}."))
            raise

    async def close(self) -> None:
        """End it."""
        if self._loop is not None and not self.ended.done():
            asyncio.run_coroutine_threadsafe(self._client.close(), self._loop)
            await asyncio.wrap_future(self.ended)

    async def send(self, channel: int, content: str, *, reply_to: int = 0, nonce: str = "",
                   components: Sequence[dict[str, Any]] = ()) -> int:
        """See sending.send."""
        return await self._there(
            lambda: sending.send(self._client.http, channel, content, reply_to=reply_to, nonce=nonce, components=components))

    async def edit(self, channel: int, message: int, content: str, *, components: Sequence[dict[str, Any]] | None = None) -> None:
        """See sending.edit."""
        await self._there(lambda: sending.edit(self._client.http, channel, message, content, components=components))

    async def delete(self, channel: int, message: int) -> None:
        """See sending.delete."""
        await self._there(lambda: sending.delete(self._client.http, channel, message))

    async def respond(self, token: str, content: str, *, deferred: bool) -> None:
        """See sending.respond."""
        await self._there(lambda: sending.respond(self._client.http, self._client.application_id or 0, token, content,
                                                  deferred=deferred))

    async def _there(self, work: Callable[[], Awaitable[R]]) -> R:
        async def run() -> R:
            return await work()

        if self._loop is None or self._loop.is_closed():
            raise Unsent("the line is closed", lasting=False)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), self._loop))


class _Client(discord.Client):
    """The library's client, with a way of coming back that has an end and a measure, and one ingress."""

    def __init__(self, judge: Callable[[Heard], Verdict], deliver: Callable[[Heard], None], missed: Callable[[], Missed],
                 passed: Callable[[int], None]) -> None:
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = intents.message_content = True
        super().__init__(intents=intents, max_messages=None, chunk_guilds_at_startup=False, guild_ready_timeout=1.0,
                         allowed_mentions=discord.AllowedMentions.none())
        self._judge = judge
        self._deliver = deliver
        self._missed = missed
        self._passed = passed
        self._pause = Pause()
        self._holding: list[Said] | None = None
        self._told = False
        self._catching = asyncio.Lock()
        self._connection.parsers = {name: read for name, read in self._connection.parsers.items() if name in EVENTS}
        self._connection.parsers["INTERACTION_CREATE"] = self._interaction
        self._acknowledging: set[asyncio.Task[None]] = set()

    # Coming and staying

    async def keep(self, token: str) -> None:
        """Log in and stay connected until closed. Raises LineEnded."""
        async with self:
            while not self.is_closed():
                try:
                    await self.login(token)
                    break
                except discord.LoginFailure:
                    raise LineEnded(FINAL[4004][0], hint=FINAL[4004][1]) from None
                except (*_BROKEN, *_UNREADABLE) as error:  # something between us and Discord may answer for it
                    await self._wait(error)
            await self.connect()

    async def connect(self, *, reconnect: bool = True) -> None:
        """Stay connected, taking the line up where it broke where Discord lets us."""
        session: dict[str, Any] = {}
        while not self.is_closed():
            broke: BaseException | None = None
            try:
                self.ws = await asyncio.wait_for(DiscordWebSocket.from_client(self, initial=not session, **session), CONNECT_S)
                while True:
                    await self._one_event()
            except ReconnectWebSocket as error:
                resume = error.resume
            except _BROKEN as error:
                code = error.code if isinstance(error, discord.ConnectionClosed) else 0
                if code in FINAL:
                    raise LineEnded(FINAL[code][0], hint=FINAL[code][1], close_code=code) from None
                resume, broke = True, error
            if self.is_closed():
                return
            known = self.ws if self.ws is not None else None
            session = ({"resume": True, "session": known.session_id, "sequence": known.sequence, "gateway": known.gateway}
                       if known is not None and resume and known.session_id else {})
            await self._wait(broke)

    async def _one_event(self) -> None:
        try:
            await self.ws.poll_event()
        except _BROKEN:
            raise
        except _UNREADABLE as error:
            _logger.warning("An event of Discord was not as it should be and is left out (%s).", type(error).__name__)

    async def _wait(self, broke: BaseException | None) -> None:
        pause = self._pause.next_s()
        _logger.warning("The line to Discord broke%s; again in %.0f s.", f" ({type(broke).__name__})" if broke else "", pause)
        await asyncio.sleep(pause)

    async def on_connect(self) -> None:
        """A new line, which knows nothing of what was missed: hold what comes until that is caught up with."""
        self._pause.reset()
        if self._holding is None:
            self._holding = []

    async def on_resumed(self) -> None:
        """Taken up where it broke; Discord sends what was missed."""
        self._pause.reset()

    async def on_ready(self) -> None:
        """Everything is known: register the commands once, and catch up."""
        _logger.warning("Connected to Discord as %s.", self.user.id if self.user else "nobody")
        while not self._told:
            try:
                await self.http.bulk_upsert_global_commands(self.application_id or 0, registered())
                self._told = True
            except discord.HTTPException as error:
                _logger.warning("Discord did not take the commands (HTTP %d).", error.status)
                break
            except _BROKEN:
                await asyncio.sleep(Pause().next_s())
        async with self._catching:
            await self._catch_up()

    async def _catch_up(self) -> None:
        missed = self._missed()
        found: dict[int, Said] = {}
        if missed.after and self.user is not None:
            for channel, kind in (await self._places(missed)).items():
                for message in await self._history(channel, missed.after):
                    one = reading.said(message, self.user.id, kind)
                    if one is not None:
                        found[one.id] = one
        held, self._holding = self._holding or [], None
        found.update((one.id, one) for one in held)
        for identifier in sorted(found):
            self._hear(found[identifier])

    async def _places(self, missed: Missed) -> dict[int, PlaceKind]:
        places = dict(missed.places)
        for guild in self.guilds:
            written: list[discord.TextChannel | discord.Thread] = [*guild.text_channels, *guild.threads]
            for channel in written:
                if (channel.last_message_id or 0) > missed.after:
                    places.setdefault(channel.id, "thread" if isinstance(channel, discord.Thread) else "channel")
        for person in missed.people:
            try:
                private = await self.http.start_private_message(person)
                if int(private.get("last_message_id") or 0) > missed.after:
                    places.setdefault(int(private["id"]), "private")
            except (*_BROKEN, *_UNREADABLE) as error:
                _logger.warning("Whether %d wrote meanwhile is not known (%s).", person, type(error).__name__)
        return places

    async def _history(self, channel: int, after: int) -> list[discord.Message]:
        there = self.get_channel(channel)
        messageable = there if isinstance(there, discord.abc.Messageable) else self.get_partial_messageable(channel)
        pause = Pause()
        while True:
            try:
                found = messageable.history(limit=MAX_MISSED, after=discord.Object(after), oldest_first=True)
                return [one async for one in found]
            except (discord.Forbidden, discord.NotFound):
                return []
            except _BROKEN as error:
                _logger.warning("Channel %d cannot be caught up with yet (%s).", channel, type(error).__name__)
                await asyncio.sleep(pause.next_s())

    # What comes in

    async def on_message(self, message: discord.Message) -> None:
        """Words; the only event of the library that anything follows from."""
        one = reading.said(message, self.user.id) if self.user is not None else None
        if one is None:
            return
        if self._holding is not None:
            self._holding.append(one)
        else:
            self._hear(one)

    def _interaction(self, data: Any) -> None:
        """A command or a press, as Discord sent it."""
        task = asyncio.get_running_loop().create_task(self._interacted(data if isinstance(data, dict) else {}))
        self._acknowledging.add(task)
        task.add_done_callback(self._acknowledging.discard)

    async def _interacted(self, data: dict[str, Any]) -> None:
        one = reading.interaction(data)
        try:
            if isinstance(one, str):
                if one and isinstance(data.get("id"), str) and data["id"].isdecimal():
                    await self._tell(int(data["id"]), str(data.get("token", "")), one)
                return
            verdict = self._judge(one)
            if verdict == "stranger":
                await self._tell(one.id, getattr(one, "token", ""), STRANGER)
            if verdict != "take" or isinstance(one, Said):
                return
            if (words := reading.asks_for_words(data)) is not None:
                await sending.acknowledge(self.http, one.id, one.token, MODAL, forms.modal(*words))
                return
            command = data.get("type") == reading.COMMAND
            await sending.acknowledge(self.http, one.id, one.token, DEFERRED if command else DEFERRED_UPDATE,
                                      {"flags": sending.FOR_ONE} if command else None)
            self._deliver(one)
        except Unsent as error:
            _logger.warning("An interaction could not be answered: %s.", error)

    async def _tell(self, interaction: int, token: str, words: str) -> None:
        await sending.acknowledge(self.http, interaction, token, MESSAGE, {
            "content": words, "flags": sending.FOR_ONE, "allowed_mentions": sending.QUIET})

    def _hear(self, one: Said) -> None:
        """The ingress of words: judged, then handed on."""
        if self._judge(one) == "take":
            self._deliver(one)
        else:
            self._passed(one.id)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """Something of ours went wrong over an event: its kind is told, never what it holds."""
        _logger.error("An event of Discord could not be taken (%s).", event_method, exc_info=True)
