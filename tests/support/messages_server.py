"""The Messages API on a port of its own, scripted: real HTTP and server-sent events, every request kept.

An `Answer` is a status, headers and what is written, piece by piece; `CUT` breaks the connection there, `SILENCE` says
nothing more until the client has gone. Answers are given in the order they were said, then `otherwise` for ever.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

CUT = "cut"
SILENCE = "silence"
Piece = bytes | str
"""Bytes to write, CUT, SILENCE, or `pause:SECONDS`."""


@dataclass(frozen=True)
class Answer:
    """What one request is answered with."""

    pieces: tuple[Piece, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream; charset=utf-8"})


@dataclass(frozen=True)
class Request:
    """A request as it came: `raw` is its body, `told` that body as JSON."""

    path: str
    headers: dict[str, str]
    raw: bytes
    told: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The history it carries, without cache marks: what the rules are about and what a prefix is a prefix of."""
        return [{**message, "content": [{k: v for k, v in block.items() if k != "cache_control"}
                                        for block in message["content"]]} for message in self.told["messages"]]


# -- what a stream says

def event(name: str, **fields: Any) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields}, ensure_ascii=False)}\n\n".encode()


PING = event("ping")
UNKNOWN = event("galaxy_collision", when="soon", deep={"er": [1, None]})


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def thinking(words: str, signature: str) -> dict[str, Any]:
    """A thinking block."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def call(identifier: str, name: str, **args: Any) -> dict[str, Any]:
    """A tool call."""
    return {"type": "tool_use", "id": identifier, "name": name, "input": args}


USAGE = {"input_tokens": 11, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 5, "output_tokens": 1}


def message(*blocks: dict[str, Any], stop: str = "", size: int = 5, usage: dict[str, Any] | None = None,
            output: int = 23) -> list[bytes]:
    """The events of a whole reply; texts and arguments in deltas of `size` characters."""
    first = USAGE if usage is None else usage
    reason = stop or ("tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn")
    told = [event("message_start", message={"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m",
                                            "stop_reason": None, "stop_sequence": None, "usage": first}), PING]
    for index, block in enumerate(blocks):
        told += _block(index, block, size)
    last: dict[str, Any] = {"delta": {"stop_reason": reason, "stop_sequence": None}}
    if first:
        last["usage"] = {"output_tokens": output}
    return [*told, event("message_delta", **last), event("message_stop")]


def _block(index: int, block: dict[str, Any], size: int) -> list[bytes]:
    kind = block["type"]
    empty = {"text": {"type": "text", "text": ""}, "thinking": {"type": "thinking", "thinking": "", "signature": ""},
             "tool_use": {**block, "input": {}}}.get(kind, block)
    deltas: list[dict[str, Any]] = []
    if kind == "text":
        deltas = [{"type": "text_delta", "text": part} for part in _cut(block["text"], size)]
    elif kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": part} for part in _cut(block["thinking"], size)]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        raw = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in ["", *_cut(raw, size)]]
    return [event("content_block_start", index=index, content_block=empty),
            *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
            event("content_block_stop", index=index)]


def _cut(words: str, size: int) -> list[str]:
    return [words[at:at + size] for at in range(0, len(words), size)]


# -- answers

def reply(*blocks: dict[str, Any], **options: Any) -> Answer:
    """A whole reply, one event a chunk."""
    return Answer(tuple(message(*blocks, **options)))


def cut(answer: Answer, at: int) -> Answer:
    """The connection breaks before piece `at`."""
    return replace(answer, pieces=(*answer.pieces[:at], CUT))


def silent(answer: Answer, at: int) -> Answer:
    """Nothing comes any more from piece `at` on."""
    return replace(answer, pieces=(*answer.pieces[:at], SILENCE))


def failing(answer: Answer, at: int, kind: str, words: str = "") -> Answer:
    """The stream says that it failed, before piece `at`."""
    told = event("error", error={"type": kind, "message": words or kind})
    return replace(answer, pieces=(*answer.pieces[:at], told))


def chopped(answer: Answer, size: int = 1) -> Answer:
    """The same bytes in chunks of `size`, through the middle of characters."""
    whole = b"".join(piece for piece in answer.pieces if isinstance(piece, bytes))
    return replace(answer, pieces=tuple(whole[at:at + size] for at in range(0, len(whole), size)))


def spaced(answer: Answer, seconds: float, between: bytes = b"") -> Answer:
    """A pause and `between` (pings, for example) before each piece."""
    return replace(answer, pieces=tuple(p for piece in answer.pieces for p in (f"pause:{seconds}", between, piece)))


def mixed(answer: Answer, extra: bytes) -> Answer:
    """`extra` before every piece."""
    return replace(answer, pieces=tuple(p for piece in answer.pieces for p in (extra, piece)))


def error(status: int, kind: str = "", words: str = "", **headers: str) -> Answer:
    """An error as the API words one; `retry_after="3"` and the like become headers."""
    kind = kind or {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
                    413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
    body = json.dumps({"type": "error", "error": {"type": kind, "message": words or kind}}).encode()
    return Answer((body,), status, {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}})


def page(status: int, html: str, **headers: str) -> Answer:
    """Something that is not the Messages API."""
    return Answer((html.encode(),), status, {"content-type": "text/html", **headers})


Choose = Callable[[Request], Answer]


class MessagesServer:
    """`with MessagesServer() as server:` it listens on `server.url`; `say` queues answers, `requests` are all that came."""

    def __init__(self, otherwise: Answer | Choose | None = None) -> None:
        self.requests: list[Request] = []
        self.otherwise: Answer | Choose = otherwise or reply(text("All right."))
        self._queue: deque[Answer] = deque()
        self._lock = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        """The base_url of a provider."""
        return f"http://127.0.0.1:{self.port}"

    def say(self, *answers: Answer) -> None:
        """Answer the next requests with these, in order."""
        with self._lock:
            self._queue.extend(answers)

    def wait_for(self, count: int, seconds: float = 20) -> list[Request]:
        """All requests once there are `count`."""
        with self._lock:
            if not self._lock.wait_for(lambda: len(self.requests) >= count, seconds):
                raise AssertionError(f"{len(self.requests)} requests after {seconds} s, {count} expected")
            return list(self.requests)

    def __enter__(self) -> MessagesServer:
        self._thread.start()
        if not self._ready.wait(20):
            raise AssertionError("the server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(20)
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, shutdown_timeout=0.2)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._end.wait()
        await runner.cleanup()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        try:
            told = json.loads(raw or b"{}")
        except ValueError:
            told = {}
        request = Request(http.path, {k.lower(): v for k, v in http.headers.items()}, raw, told)
        with self._lock:
            self.requests.append(request)
            answer = self._queue.popleft() if self._queue else self.otherwise
            self._lock.notify_all()
        if not isinstance(answer, Answer):
            answer = answer(request)
        return await self._write(http, answer)

    async def _write(self, http: web.Request, answer: Answer) -> web.StreamResponse:
        if answer.pieces[:1] == (CUT,):
            _abort(http)
            return web.Response()
        response = web.StreamResponse(status=answer.status, headers=dict(answer.headers))
        if answer.pieces[:1] != (SILENCE,):
            await response.prepare(http)
        try:
            for piece in answer.pieces:
                if isinstance(piece, bytes):
                    if piece:
                        await response.write(piece)
                elif piece == CUT:
                    _abort(http)
                    return response
                elif piece == SILENCE:
                    await self._until_gone(http)
                    return response
                else:
                    await asyncio.sleep(float(piece.removeprefix("pause:")))
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client went away, which is what some tests are about
        return response

    async def _until_gone(self, http: web.Request) -> None:
        while http.transport is not None and not http.transport.is_closing() and not self._end.is_set():
            await asyncio.sleep(0.02)


def _abort(http: web.Request) -> None:
    if http.transport is not None:
        http.transport.abort()


