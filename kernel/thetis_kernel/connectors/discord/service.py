"""The connector: Discord on one side, a gateway on the other, each of which may go away and come back.

It starts only when its mode exists and is read-only. Words and presses come in through `hear`, judged already. Must not know
the library.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from thetis_kernel.client import GatewayClient
from thetis_kernel.clock import SYSTEM
from thetis_kernel.config.discord import Discord
from thetis_kernel.connectors.discord.admission import Admission
from thetis_kernel.connectors.discord.commands import Commands
from thetis_kernel.connectors.discord.heard import Commanded, Heard, PlaceKind, Pressed, Said, snowflake_at
from thetis_kernel.connectors.discord.memory import Memory
from thetis_kernel.connectors.discord.pages import LIMIT
from thetis_kernel.connectors.discord.pairing import Pairing
from thetis_kernel.connectors.discord.pause import Pause
from thetis_kernel.connectors.discord.poster import Post, Unsent
from thetis_kernel.connectors.discord.talks import Talking
from thetis_kernel.errors import DeadlineExceeded, IpcError, PeerGone, RemoteError, ThetisError, UsageError
from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.client import StateChanged
from thetis_kernel.protocol.wire import Tell

MAX_PEOPLE = 50
"""People whose private messages are looked through after an outage."""
MISSED_MS = 24 * 3600 * 1000
"""What was said longer ago than this while the connector was away is not answered any more."""
Attach = Callable[[], Awaitable[GatewayClient]]
_logger = logging.getLogger(__name__)


class Sender(Post, Protocol):
    """How messages and answers to interactions go out."""

    async def respond(self, token: str, content: str, *, deferred: bool) -> None: ...


class Connector:
    """`attach()`: a client of the gateway; raises PeerGone while there is none."""

    def __init__(self, settings: Discord, attach: Attach, memory: Memory) -> None:
        self.memory = memory
        self.mode = settings.mode
        self.interval_s = settings.edit_interval_ms / 1000
        self._settings = settings
        self._attach = attach
        pairing = Pairing(settings.pairing_seconds, SYSTEM)
        self.admission = Admission(settings, pairing, lambda key: key in memory)
        self._commands = Commands(self, self.admission, pairing)
        self._client: GatewayClient | None = None
        self._reached = asyncio.Event()
        self._gone = asyncio.Event()
        self._talking: dict[str, Talking] = {}
        self._pending: dict[int, None] = {}
        self._newest = memory.seen
        self._tasks: set[asyncio.Task[None]] = set()
        self._post: Sender | None = None
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[ThetisError] = self._loop.create_future()
        """Resolved when a gateway came back whose mode will not do."""

    @property
    def post(self) -> Sender:
        """How messages go out."""
        if self._post is None:
            raise PeerGone("Discord is not connected")
        return self._post

    async def open(self) -> None:
        """Reach the gateway and look at the mode. Raises UsageError when it does not exist or may change things, PeerGone when no
        gateway answers."""
        await self._meet(await self._attach())
        if not self.memory.seen:
            self.memory.have_seen(snowflake_at(SYSTEM.now_ms()))
            self.memory.save()

    def begin(self, post: Sender) -> None:
        """From now on messages go out through `post`; what an earlier connector did not show any more is shown."""
        self._post = post
        self._keep(self._stay())

    async def close(self) -> None:
        """Stop; conversations go on in the gateway."""
        for talking in self._talking.values():
            talking.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def client(self) -> GatewayClient:
        """The gateway, once there is one."""
        while self._client is None:
            await self._reached.wait()
        return self._client

    async def _meet(self, client: GatewayClient) -> None:
        await client.attend("bridge")
        status = await client.status(walls=False)
        found = next((mode for mode in status.modes if mode.id == self.mode), None)
        if found is None:
            raise UsageError(f"There is no mode {self.mode[:40]!r}, so nothing is opened to Discord.",
                             hint="Set discord.mode to a read-only one: "
                             + ", ".join(mode.id for mode in status.modes if mode.read_only) + ".")
        if not found.read_only:
            raise UsageError(f"The mode {found.id} may change things, so nothing is opened to Discord.",
                             hint="Set discord.mode to a read-only one, such as chat.")
        client.listen(self._told)
        client.lost(lambda _: self._lost(client))
        self._client = client
        self._gone.clear()
        self._reached.set()

    def _lost(self, client: GatewayClient) -> None:
        if self._client is client:
            self._client = None
            self._reached.clear()
            self._gone.set()

    async def _stay(self) -> None:
        """Reach a gateway again whenever it is gone."""
        pause = Pause(0.2, 10.0)
        while True:
            if self._client is not None:
                pause.reset()
                for key in self.memory.all():
                    self._of(key).follow()
                await self._gone.wait()
                _logger.warning("Thetis has gone; what is said meanwhile waits.")
            try:
                await self._meet(await self._attach())
            except UsageError as error:
                self.ended.set_result(error)
                return
            except (IpcError, RemoteError):
                await asyncio.sleep(pause.next_s())

    def _told(self, tell: Tell) -> None:
        """A conversation moved without words of ours: a sub-agent settled, or a person spoke on a screen."""
        if isinstance(tell, StateChanged):
            for key, talk in self.memory.all().items():
                if talk.session == tell.conversation.id and tell.conversation.last_seq > talk.shown:
                    self._of(key).follow()

    # What comes in

    def hear_from_there(self, heard: Heard) -> None:
        """`hear`, from the library's thread."""
        self._loop.call_soon_threadsafe(self.hear, heard)

    def passed_there(self, message: int) -> None:
        """A message was not for us; from the library's thread."""
        self._loop.call_soon_threadsafe(self._passed, message)

    def _passed(self, message: int) -> None:
        self._newest = max(self._newest, message)
        self._have_seen()

    def hear(self, heard: Heard) -> None:
        """Something judged to be for us."""
        if isinstance(heard, Said):
            self._pending[heard.id] = None
            self._newest = max(self._newest, heard.id)
            if not self._of(self.admission.key(heard.place, heard.person), self.admission.shared(heard.place)).hear(heard):
                _logger.warning("Too much waits in channel %d; a message is left out.", heard.place.channel)
                self.taken(heard)
        else:
            self._keep(self._answer(heard))

    def taken(self, said: Said) -> None:
        """Words are in the log, or will never be: an outage from now on does not bring them back."""
        self._pending.pop(said.id, None)
        self._have_seen()

    def _have_seen(self) -> None:
        self.memory.have_seen(min(self._pending) - 1 if self._pending else self._newest)

    def forget(self, key: str) -> None:
        """The next words of a place begin another conversation."""
        talking = self._talking.pop(key, None)
        if talking is not None:
            talking.close()
        self.memory.forget(key)

    def missed(self) -> tuple[int, dict[int, PlaceKind], list[int]]:
        """After a line that could not be taken up: the id after which messages count, the channels we know, the people we let in.
        Called on the library's thread; what it reads is replaced whole."""
        kinds: dict[str, PlaceKind] = {"private": "private", "channel": "channel", "thread": "thread"}
        places = {talk.channel: kinds[key.split(":")[1]] for key, talk in self.memory.all().items()}
        people = [*self._settings.admin_users, *self._settings.allowed_users]
        return max(self.memory.seen, snowflake_at(SYSTEM.now_ms() - MISSED_MS)), places, people[:MAX_PEOPLE]

    async def _answer(self, heard: Commanded | Pressed) -> None:
        try:
            if isinstance(heard, Commanded):
                words = await self._commands.answer(heard)
            else:
                words = await self._of(self.admission.key(heard.place, heard.person)).press(heard)
        except (PeerGone, DeadlineExceeded):
            words = "Thetis does not answer right now. Try again in a minute."
        except ThetisError as error:
            words = str(error)
        if words:
            try:
                await self.post.respond(heard.token, cutting.shortened(words, LIMIT), deferred=isinstance(heard, Commanded))
            except Unsent as error:
                _logger.warning("An answer to %s could not be given: %s.", type(heard).__name__.lower(), error)

    def _of(self, key: str, shared: bool = False) -> Talking:
        if key not in self._talking:
            self._talking[key] = Talking(key, self, shared=shared)
        return self._talking[key]

    def _keep(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
