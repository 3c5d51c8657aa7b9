"""Discord on a port of its own, as far as a bot meets it: the gateway's WebSocket and the REST API, on a thread of their own.

It keeps what it is sent and is as strict as the real one about it: a token, 2,000 characters, nothing empty, white space taken
from both ends, one message a nonce. What it shows is `shown(channel)`. `down()` refuses everybody until `up()`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from aiohttp import WSMsgType, web

R = TypeVar("R")
TOKEN = "MTAw.fake.token-of-the-bot-that-nobody-may-see"
BOT, APPLICATION, GUILD = 100, 101, 500
CHANNEL, THREAD, PRIVATE = 600, 601, 602
EPOCH_MS = 1_420_070_400_000
FLAGS_EPHEMERAL = 64


class Discord:
    """`base` and `gateway` are its addresses; `calls` every request: (method, path, body)."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any]] = []
        self.messages: dict[str, dict[str, Any]] = {}
        self.order: list[str] = []
        self.answers: list[tuple[str, dict[str, Any]]] = []
        self.heartbeats: list[float] = []
        self.identified = 0
        self.resumed = 0
        self.closed_with: list[int] = []
        self.refuse_resume = False
        self.fail_next: list[int] = []
        """Statuses with which the next requests for messages are answered."""
        self.lose_next = 0
        """How many posts are done and then not answered."""
        self.token = TOKEN
        self.interval_ms = 40_000
        self.direct: dict[int, str] = {}
        self._ids = itertools.count(1)
        self._seq = 0
        self._sent: list[dict[str, Any]] = []
        self._nonces: dict[str, str] = {}
        self._socket: web.WebSocketResponse | None = None
        self._down = False
        self._rang = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._runner: web.AppRunner | None = None
        self.port = 0
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._do(self._open())

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v10"

    @property
    def gateway(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    def close(self) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def id(self) -> int:
        """A fresh snowflake of now."""
        return (int(time.time() * 1000) - EPOCH_MS << 22) | (next(self._ids) & 0x3FFFFF)

    def until(self, found: Callable[[], Any], seconds: float = 30) -> Any:
        """Wait until `found()` is true; what it said."""
        deadline = time.monotonic() + seconds
        with self._rang:
            while not (answer := found()):
                if not self._rang.wait(min(0.2, max(0.0, deadline - time.monotonic()))) and time.monotonic() > deadline:
                    raise AssertionError(f"not in {seconds} s; shown: {[m['content'][:60] for m in self.messages.values()]}")
        return answer

    # What people do

    def dispatch(self, kind: str, data: dict[str, Any]) -> None:
        """An event, sent now or, to a client that takes its session up again, later."""
        self._do(self._dispatch(kind, data))

    def say(self, author: int, text: str, *, channel: int = PRIVATE, **fields: Any) -> int:
        """A message of somebody; it stands in its channel whether anybody is told or not. `told=False`: nobody is."""
        told = fields.pop("told", True)
        identifier = self.id()
        message = message_of(identifier, author, text, channel) | fields
        self.messages[str(identifier)] = message
        self.order.append(str(identifier))
        if told:
            self.dispatch("MESSAGE_CREATE", message)
        return identifier

    def command(self, author: int, name: str, value: str = "", *, channel: int = PRIVATE) -> str:
        """A command; the token of its interaction."""
        options = [{"name": "value", "type": 3, "value": value}] if value else []
        return self.interact(author, 2, {"id": "1", "name": name, "type": 1, "options": options}, channel=channel)

    def press(self, author: int, custom_id: str, values: list[str] | None = None, *, channel: int = PRIVATE) -> str:
        """A component is pressed."""
        data = {"custom_id": custom_id, "component_type": 3 if values is not None else 2, "values": values or []}
        return self.interact(author, 3, data, channel=channel)

    def write(self, author: int, custom_id: str, texts: list[str], *, channel: int = PRIVATE) -> str:
        """A form is sent."""
        rows = [{"type": 1, "components": [{"type": 4, "custom_id": str(n), "value": text}]} for n, text in enumerate(texts)]
        return self.interact(author, 5, {"custom_id": custom_id, "components": rows}, channel=channel)

    def interact(self, author: int, kind: int, data: dict[str, Any], *, channel: int = PRIVATE,
                 forged: dict[str, Any] | None = None) -> str:
        """Any interaction, with fields as forged; its token."""
        identifier = self.id()
        token = f"interaction-{identifier}"
        types = {PRIVATE: 1, THREAD: 11}
        payload = {"id": str(identifier), "token": token, "type": kind, "version": 1, "application_id": str(APPLICATION),
                   "channel_id": str(channel), "channel": {"id": str(channel), "type": types.get(channel, 0)}, "data": data,
                   "context": 1 if channel == PRIVATE else 0}
        if channel == PRIVATE:
            payload["user"] = user_of(author)
        else:
            payload |= {"guild_id": str(GUILD), "member": {"user": user_of(author), "roles": [], "joined_at": None}}
        self.dispatch("INTERACTION_CREATE", payload | (forged or {}))
        return token

    def told(self, token: str) -> str:
        """What an interaction was answered with, once it was."""
        return str(self.until(lambda: next((body.get("content") for path, body in self.answers
                                            if token in path and body.get("content")), None)))

    def shown(self, channel: int = PRIVATE) -> list[str]:
        """What the bot's messages in a channel say now, in order."""
        return [self.messages[i]["content"] for i in list(self.order) if i in self.messages
                and self.messages[i]["channel_id"] == str(channel) and self.messages[i]["author"]["id"] == str(BOT)]

    # What happens to the line

    def down(self) -> None:
        """Nobody is answered from now on, and who is connected is cut off."""
        self._down = True
        self._do(self._cut(1006))

    def up(self) -> None:
        self._down = False

    def cut(self, code: int) -> None:
        """Close the line with a code."""
        self._do(self._cut(code))

    # The server

    def _do(self, work: Coroutine[Any, Any, R]) -> R:
        future: Future[R] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(30)

    def _ring(self) -> None:
        with self._rang:
            self._rang.notify_all()

    async def _open(self) -> None:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_get("/", self._gateway)
        app.router.add_route("*", "/api/v10/{path:.*}", self._rest)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        await self._cut(1001)
        if self._runner is not None:
            await self._runner.cleanup()

    async def _cut(self, code: int) -> None:
        socket, self._socket = self._socket, None
        if socket is not None and not socket.closed:
            if code == 1006 and socket._req is not None and socket._req.transport is not None:
                socket._req.transport.abort()
            else:
                await socket.close(code=code)

    async def _dispatch(self, kind: str, data: dict[str, Any]) -> None:
        self._seq += 1
        event = {"op": 0, "t": kind, "s": self._seq, "d": data}
        self._sent.append(event)
        if self._socket is not None and not self._socket.closed:
            try:
                await self._socket.send_str(json.dumps(event))
            except ConnectionError:
                self._socket = None

    async def _gateway(self, request: web.Request) -> web.StreamResponse:
        if self._down:
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse(autoclose=False)
        await socket.prepare(request)
        await socket.send_str(json.dumps({"op": 10, "d": {"heartbeat_interval": self.interval_ms}}))
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            told = json.loads(message.data)
            if told["op"] == 1:
                self.heartbeats.append(time.monotonic())
                await socket.send_str(json.dumps({"op": 11, "d": None}))
            elif told["op"] == 2:
                if told["d"]["token"] != self.token:
                    self.closed_with.append(4004)
                    await socket.close(code=4004)
                    break
                self.identified += 1
                self._socket = socket
                await self._ready()
            elif told["op"] == 6:
                if self.refuse_resume or told["d"]["token"] != self.token:
                    await socket.send_str(json.dumps({"op": 9, "d": False}))
                    continue
                self.resumed += 1
                for event in list(self._sent):
                    if event["s"] > told["d"]["seq"]:
                        await socket.send_str(json.dumps(event))
                self._socket = socket
                await self._dispatch("RESUMED", {})
            self._ring()
        return socket

    async def _ready(self) -> None:
        await self._dispatch("READY", {
            "v": 10, "user": user_of(BOT, bot=True), "guilds": [{"id": str(GUILD), "unavailable": True}],
            "session_id": f"session-{self.identified}", "resume_gateway_url": self.gateway,
            "application": {"id": str(APPLICATION), "flags": 0}, "private_channels": []})
        last = {channel: max((int(i) for i in self.order if self.messages[i]["channel_id"] == str(channel)), default=None)
                for channel in (CHANNEL, THREAD)}
        await self._dispatch("GUILD_CREATE", guild_of(last))

    async def _rest(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = json.loads(raw) if raw else None
        path = request.match_info["path"]
        if self._down:
            if request.transport is not None:
                request.transport.abort()
            raise web.HTTPServiceUnavailable
        self.calls.append((request.method, path, body))
        parts = path.split("/")
        if parts[0] not in ("interactions", "webhooks") and request.headers.get("Authorization") != f"Bot {self.token}":
            return _json({"code": 0, "message": "401: Unauthorized"}, status=401)
        try:
            return await self._answer(request, parts, body)
        finally:
            self._ring()

    async def _answer(self, request: web.Request, parts: list[str], body: Any) -> web.StreamResponse:
        match request.method, parts:
            case "GET", ["users", "@me"]:
                return _json(user_of(BOT, bot=True))
            case "GET", ["applications" | "oauth2", *_]:
                return _json({"id": str(APPLICATION), "name": "bot", "description": "", "icon": None, "rpc_origins": [],
                                          "bot_public": False, "bot_require_code_grant": False, "summary": "", "verify_key": "0",
                                          "flags": 0, "owner": user_of(1)})
            case "PUT", ["applications", _, "commands"]:
                return _json([])
            case "POST", ["users", "@me", "channels"]:
                person = int(body["recipient_id"])
                channel = PRIVATE if person == 1 else PRIVATE + person
                last = [i for i in self.order if self.messages[i]["channel_id"] == str(channel)]
                return _json({"id": str(channel), "type": 1, "last_message_id": last[-1] if last else None,
                                          "recipients": [user_of(person)]})
            case "GET", ["channels", channel, "messages"]:
                after, limit = int(request.query.get("after", 0)), int(request.query.get("limit", 50))
                found = [self.messages[i] for i in self.order if self.messages[i]["channel_id"] == channel and int(i) > after]
                return _json(list(reversed(found[:limit])))
            case "POST", ["channels", channel, "messages"]:
                return await self._post(request, channel, body)
            case "PATCH", ["channels", channel, "messages", identifier]:
                if (refused := _refusal(body, edit=True)) is not None:
                    return refused
                if self.fail_next:
                    return _json({"code": 0, "message": "no"}, status=self.fail_next.pop(0))
                if identifier not in self.messages:
                    return _json({"code": 10008, "message": "Unknown Message"}, status=404)
                self.messages[identifier]["content"] = body["content"].strip()
                return _json(self.messages[identifier])
            case "DELETE", ["channels", channel, "messages", identifier]:
                self.messages.pop(identifier, None)
                return web.Response(status=204)
            case "POST", ["interactions", _, token, "callback"]:
                self.answers.append((token, {"type": body["type"], **(body.get("data") or {})}))
                return web.Response(status=204)
            case "PATCH" | "POST", ["webhooks", _, token, *_]:
                if (refused := _refusal(body, edit=False)) is not None:
                    return refused
                self.answers.append((token, body))
                return _json(message_of(self.id(), BOT, body["content"], PRIVATE))
        return _json({"code": 0, "message": "404: Not Found"}, status=404)

    async def _post(self, request: web.Request, channel: str, body: Any) -> web.StreamResponse:
        if (refused := _refusal(body, edit=False)) is not None:
            return refused
        if self.fail_next:
            return _json({"code": 0, "message": "no"}, status=self.fail_next.pop(0))
        nonce = body.get("nonce") if body.get("enforce_nonce") else None
        if nonce in self._nonces:
            return _json(self.messages[self._nonces[nonce]])
        identifier = str(self.id())
        message = message_of(int(identifier), BOT, body["content"].strip(), int(channel)) | {
            "components": body.get("components", []), "message_reference": body.get("message_reference")}
        self.messages[identifier] = message
        self.order.append(identifier)
        if nonce:
            self._nonces[nonce] = identifier
        if self.lose_next:
            self.lose_next -= 1
            if request.transport is not None:
                request.transport.abort()
        return _json({**message, "message_reference": None})


def _json(told: Any, *, status: int = 200) -> web.Response:
    """The library looks for exactly this content type."""
    return web.Response(body=json.dumps(told).encode(), status=status, headers={"Content-Type": "application/json"})


def _refusal(body: Any, *, edit: bool) -> web.Response | None:
    content = body.get("content", "")
    if len(content) > 2000 or not content.strip():
        return _json({"code": 50035, "message": "Invalid Form Body"}, status=400)
    if body.get("allowed_mentions", {}).get("parse") != []:
        return _json({"code": 1, "message": "would mention somebody"}, status=400)
    return None


def user_of(identifier: int, *, bot: bool = False, name: str = "") -> dict[str, Any]:
    return {"id": str(identifier), "username": name or f"user{identifier}", "discriminator": "0", "avatar": None, "bot": bot,
            "global_name": None, "public_flags": 0}


def message_of(identifier: int, author: int, text: str, channel: int) -> dict[str, Any]:
    """A message as the gateway sends it."""
    mentions = [user_of(BOT, bot=True)] if f"<@{BOT}>" in text else []
    message = {"id": str(identifier), "channel_id": str(channel), "author": user_of(author, bot=author == BOT), "content": text,
               "timestamp": "2026-11-30T00:00:00+00:00", "edited_timestamp": None, "tts": False, "mention_everyone": False,
               "mentions": mentions, "mention_roles": [], "attachments": [], "embeds": [], "pinned": False, "type": 0,
               "components": []}
    if channel in (CHANNEL, THREAD):
        message |= {"guild_id": str(GUILD), "member": {"roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "deaf": False,
                                                       "mute": False, "flags": 0}}
    else:
        message["channel_type"] = 1
    return message


def guild_of(last: dict[int, int | None]) -> dict[str, Any]:
    """A server with one channel and one thread in it."""
    common = {"guild_id": str(GUILD), "flags": 0}
    channel = {**common, "id": str(CHANNEL), "type": 0, "name": "general", "position": 0, "permission_overwrites": [],
               "nsfw": False, "parent_id": None, "topic": None, "rate_limit_per_user": 0,
               "last_message_id": str(last[CHANNEL]) if last[CHANNEL] else None}
    thread = {**common, "id": str(THREAD), "type": 11, "name": "a thread", "parent_id": str(CHANNEL), "owner_id": "1",
              "message_count": 0, "member_count": 1, "rate_limit_per_user": 0, "applied_tags": [],
              "last_message_id": str(last[THREAD]) if last[THREAD] else None,
              "thread_metadata": {"archived": False, "auto_archive_duration": 60, "locked": False,
                                  "archive_timestamp": "2026-11-30T00:00:00+00:00"}}
    return {"id": str(GUILD), "name": "server", "icon": None, "splash": None, "owner_id": "1", "afk_channel_id": None,
            "afk_timeout": 0, "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0,
            "roles": [{"id": str(GUILD), "name": "@everyone", "color": 0, "hoist": False, "position": 0, "permissions": "0",
                       "managed": False, "mentionable": False, "flags": 0}],
            "emojis": [], "features": [], "mfa_level": 0, "application_id": None, "system_channel_id": None,
            "system_channel_flags": 0, "rules_channel_id": None, "max_members": 100, "vanity_url_code": None, "description": None,
            "banner": None, "premium_tier": 0, "preferred_locale": "en-US", "public_updates_channel_id": None, "nsfw_level": 0,
            "premium_progress_bar_enabled": False, "stickers": [], "large": False, "unavailable": False, "member_count": 2,
            "members": [], "channels": [channel], "threads": [thread], "presences": [], "voice_states": [],
            "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [],
            "joined_at": "2026-01-01T00:00:00+00:00"}
