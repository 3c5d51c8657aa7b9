"""Completions for turns, relayed from the model host: deltas go straight to the clients, the reply into the log.

The stream never raises: whatever happens, there is a Finished saying how it ended, with what was received until then.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import IpcError, ThetisError
from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.gateway.choosing import model_now
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.providers import Providers
from thetis_kernel.gateway.spending import Spending as Prices
from thetis_kernel.protocol.client import Delta, Notice
from thetis_kernel.protocol.events import Assistant, Body, Spending, Usage
from thetis_kernel.protocol.ids import new_call_id, new_event_id
from thetis_kernel.protocol.model import Complete, PrintKeys, Streamed
from thetis_kernel.protocol.models import (
    GOOD_ENDS,
    Counted,
    Finished,
    ModelInfo,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Waiting,
)
from thetis_kernel.protocol.plaintext import clean_line
from thetis_kernel.store import scrub
from thetis_kernel.store.folds import SessionState
from thetis_kernel.supervise.handle import Child

STARTS_OVER = "\n\n[The reply broke off here and starts over.]\n\n"
CHARACTERS_A_TOKEN = 4
"""For the tokens of a reply that was stopped before its provider told them."""
MAX_ABOUT = 120
"""Characters of what a guest says a silent reply is for."""
MAX_REQUEST = 7 * 1024 * 1024
"""Bytes of one request; a frame holds 8 MiB."""


class _Stream:
    """One running completion: where its deltas go, and what has come so far in case the host dies."""

    def __init__(self, session: str, name: str, about: str = "") -> None:
        self.session = session
        self.about = about
        """What a reply that nobody reads along is for; "" for one whose words are shown as they come."""
        self.name = name
        self.text: list[str] = []
        self.calls: dict[str, str] = {}
        self.written = 0
        self.counted = Counted(Usage())
        self.abandoned: list[Counted] = []
        self.void = False
        """Whether the next thing that comes starts the reply over."""

    def give_up(self) -> None:
        """The try is over: what it used is spent, whatever comes of the next one."""
        if self.counted.usage.total:
            self.abandoned.append(self.counted)
        self.counted = Counted(Usage())
        self.written = 0

    def usage(self, finished: Finished) -> Usage:
        """Of the last try: what its end says, else what was counted while it ran, with what was seen of the reply."""
        counted = self.counted.usage
        if finished.usage.total or not counted.total:
            return finished.usage
        written = max(counted.output, self.written // CHARACTERS_A_TOKEN)
        return msgspec.structs.replace(counted, output=written, estimated=True)

    def call_id(self, provider_id: str) -> str:
        """The host's own id for a call; providers reuse theirs."""
        return self.calls.setdefault(provider_id, new_call_id())


class ModelRelay:
    """The gateway's side of the model host."""

    def __init__(self, fleet: Fleet, log: Log, broadcast: Broadcast, providers: Providers, prices: Prices,
                 changed: Callable[[str], None], summary_model: str = "", by_mode: Mapping[str, str] | None = None) -> None:
        self._summary_model = summary_model
        self._by_mode = by_mode or {}
        self._fleet = fleet
        fleet.model_tells = {Streamed: self.streamed}
        self._log = log
        self._broadcast = broadcast
        self._streams: dict[str, _Stream] = {}
        self._providers = providers
        self._prices = prices
        self._changed = changed
        self.limit: Callable[[str, SessionState, str], Awaitable[str]] | None = None
        """(conversation, its state, model) -> the limit that stands before its next call; set by the gateway."""
        self.paid: Callable[[str], Awaitable[None]] | None = None
        """(conversation): what a call used is in its log; set by the gateway."""
        self._configured: Child | None = None
        self._configuring = asyncio.Lock()

    async def models(self) -> list[ModelInfo]:
        """The models a person can pick, the default first. The table is data: no host is started for it."""
        return self._providers.models

    async def model_of(self, state: SessionState) -> str:
        """The id of the model that answers in a conversation now."""
        return model_now(state, self._by_mode, [info.id for info in await self.models()])

    async def warm(self) -> None:
        """Have the host ready; what will not work is told."""
        await self._host()

    async def complete(self, session: str, turn: str, request: bytes, record: bool, stop: asyncio.Event) -> bytes:
        """Run one completion; the JSON of the contract's llm.complete. Raises ThetisError for a request that does not fit."""
        wanted = _wanted(request)
        stream = _Stream(session, new_event_id(), "" if record else clean_line(wanted.about[:MAX_ABOUT]) or "Thinking aside")
        state = await self._log.state(session)
        models = [info.id for info in await self.models()]
        aside = not record and wanted.purpose == "summary" and self._summary_model in models
        model = self._summary_model if aside else model_now(state, self._by_mode, models)
        encoded = await asyncio.to_thread(lambda: self._log.scrubber.growing(_request(request, model, session)))
        if reached := await self._limit(session, state, model):
            return _told(0, Finished(end="limit", blocks=[], detail=reached))
        if stream.about:
            self._publish(stream, "waiting", stream.about)
        finished = self._own_ids(stream, await self._run(stream, encoded, stop))
        finished = msgspec.structs.replace(
            finished, usage=stream.usage(finished), model=finished.model or stream.counted.model or model)
        bodies: list[Body] = [self._spent(counted, "abandoned", turn) for counted in stream.abandoned]
        recorded = record and bool(finished.blocks)
        if recorded:
            bodies.append(Assistant(
                blocks=finished.blocks, model=finished.model, end=finished.end, detail=finished.detail,
                partial=finished.end not in GOOD_ENDS, usage=finished.usage, turn=turn, seen=wanted.covered, tools=wanted.offered,
                cost=self._prices.cost(finished.model, finished.usage)))
        elif finished.usage.total:
            bodies.append(self._spent(Counted(finished.usage, finished.model), "abandoned" if record else "unrecorded", turn))
        crash.point("stream.received")
        events = await self._log.append_many(session, bodies) if bodies else []
        crash.point("stream.logged")
        if self.paid is not None:
            await self.paid(session)
        self._changed(session)
        return _told(events[-1].seq if recorded else 0, finished)

    async def remember(self, session: str) -> None:
        """Keep what the conversation has used where lists find it."""
        await self._prices.remember(session, await self._log.state(session))

    async def _limit(self, session: str, state: SessionState, model: str) -> str:
        return await self.limit(session, state, model) if self.limit is not None else self._prices.reached(state, model)

    def _spent(self, counted: Counted, why: Literal["abandoned", "unrecorded"], turn: str) -> Spending:
        cost = self._prices.cost(counted.model, counted.usage)
        return Spending(model=counted.model, usage=counted.usage, why=why, turn=turn, cost=cost)

    async def _host(self) -> Child:
        """The model host, told of the providers once in its life."""
        async with self._configuring:
            host = await self._fleet.model()
            setup = self._providers.setup()
            if setup is not None and host is not self._configured:
                setup = msgspec.structs.replace(setup, blobs=str(self._log.store.data_dir / "blobs"))
                for problem in await host.peer.call(setup):
                    self._broadcast.publish(Notice(level="warn", message=problem))
                self._log.scrubber.take(await host.peer.call(PrintKeys(salt=self._log.scrubber.salt)))
                self._configured = host
            return host

    async def _run(self, stream: _Stream, request: bytes, stop: asyncio.Event) -> Finished:
        self._streams[stream.name] = stream
        try:
            host = await self._host()
            asked = asyncio.ensure_future(host.peer.call(Complete(stream=stream.name, request=request), timeout=None))
            stopped = asyncio.ensure_future(stop.wait())
            await asyncio.wait((asked, stopped), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if asked.done():
                return asked.result()
            asked.cancel()
            return self._partial(stream, "cancelled", "Stopped.")
        except IpcError:
            return self._partial(stream, "transport", "The model host died in the middle of the reply.")
        except ThetisError as error:
            return self._partial(stream, "bad-request", str(error))
        finally:
            del self._streams[stream.name]

    def _partial(self, stream: _Stream, end: Any, detail: str) -> Finished:
        text = "".join(stream.text)
        return Finished(end=end, blocks=[{"type": "text", "text": text}] if text.strip() else [], detail=detail)

    def _own_ids(self, stream: _Stream, finished: Finished) -> Finished:
        blocks = [{**block, "id": stream.call_id(str(block.get("id", "")))} if block.get("type") == "tool_use" else block
                  for block in scrub.value(finished.blocks, 1)]  # as the log will hold them: the agent acts on the same
        return msgspec.structs.replace(finished, blocks=blocks)

    def streamed(self, tell: Streamed) -> None:
        """Deltas arrived from the model host."""
        stream = self._streams.get(tell.stream)
        if stream is None:
            return  # withdrawn meanwhile
        for item in tell.items:
            if stream.void and isinstance(item, TextDelta | ThinkingDelta | ToolCallDelta):
                self._start_over(stream)
            match item:
                case TextDelta():
                    stream.written += len(item.text)
                    stream.text.append(item.text)
                    self._delta(stream, "text", item.text)
                case ThinkingDelta():
                    stream.written += len(item.text)
                    self._delta(stream, "thinking", item.text)
                case ToolCallDelta():
                    stream.written += len(item.json)
                    self._delta(stream, "tool-call", item.name, stream.call_id(item.call))
                case Counted():
                    stream.counted = item
                case Waiting():
                    crash.point("retry.told")
                    stream.give_up()
                    stream.void = True
                    again = f" (trying again in {math.ceil(item.delay_ms / 1000)} s)" if item.delay_ms else ""
                    self._delta(stream, "waiting", f"{item.reason}{again}")
                case Finished():
                    pass  # the answer to Complete says it

    def _start_over(self, stream: _Stream) -> None:
        """The reply begins again. A screen cannot take back what it shows, so it is marked; the log gets the whole one."""
        stream.void = False
        if "".join(stream.text).strip():
            self._delta(stream, "text", STARTS_OVER)
        stream.text.clear()
        stream.calls.clear()

    def _delta(self, stream: _Stream, kind: str, text: str, call: str = "") -> None:
        if kind == "waiting" or not stream.about:
            self._publish(stream, kind, text, call)

    def _publish(self, stream: _Stream, kind: str, text: str, call: str = "") -> None:
        self._broadcast.publish(
            Delta(session=stream.session, kind=kind, text=text, call=call, stream=stream.name), stream.session)


def _told(seq: int, finished: Finished) -> bytes:
    """The answer of the contract's llm.complete."""
    return msgspec.json.encode({"seq": seq, "end": finished.end, "blocks": finished.blocks, "detail": finished.detail,
                                "usage": msgspec.to_builtins(finished.usage)})


class _Wanted(msgspec.Struct):
    """Of an agent's request what the gateway itself looks at; a guest wrote it. `covered`: the newest event it covers, or 0."""

    seen: Any = 0
    purpose: Any = ""
    about: Any = ""
    tools: msgspec.Raw = msgspec.Raw(b"[]")
    tools_all: Any = None

    @property
    def covered(self) -> int:
        seen = self.seen
        return seen if isinstance(seen, int) and not isinstance(seen, bool) and 0 <= seen < 2**53 else 0

    @property
    def offered(self) -> list[int]:
        """Tools and their bytes in the request, and as many as the agent says there are."""
        every = self.tools_all if isinstance(self.tools_all, list) else []
        told = [number for number in every[:2] if type(number) is int and 0 <= number < 2**31]
        try:
            count = len(msgspec.json.decode(self.tools, type=list[msgspec.Raw]))
        except msgspec.MsgspecError:
            return []
        return [count, len(bytes(self.tools)), *told] if count and len(told) == 2 else []


def _wanted(raw: bytes) -> _Wanted:
    """Those fields; the rest, the whole history, is passed over. What is no JSON is refused later, where it is converted."""
    try:
        found = msgspec.json.decode(raw, type=_Wanted)
    except msgspec.MsgspecError:
        return _Wanted()
    return msgspec.structs.replace(found, about=found.about if isinstance(found.about, str) else "")


def _request(raw: bytes, model: str, session: str) -> bytes:
    """The guest's request as a ModelRequest: it cannot choose the model, the conversation's setting does."""
    if len(raw) > MAX_REQUEST:
        raise ThetisError(f"The request has {len(raw)} bytes, more than the {MAX_REQUEST} that can be sent.",
                          code="request-too-large", hint="Compact the conversation.")
    try:
        table = msgspec.json.decode(raw, type=dict[str, Any])
        wanted: dict[str, Any] = {key: table[key] for key in ("system", "messages", "tools", "max_tokens") if key in table}
        return msgspec.json.encode(msgspec.convert({**wanted, "model": model, "session": session}, ModelRequest))
    except msgspec.MsgspecError as error:
        raise ThetisError(f"The model request does not fit: {error}.", code="bad-arguments") from error
