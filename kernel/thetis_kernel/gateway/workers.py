"""A conversation's own process, and what it may ask: its log, completions, consent. Whose it is, the channel says."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.gateway.approvals import Approvals
from thetis_kernel.gateway.attachments import Attachments
from thetis_kernel.gateway.body.door import DevKitDoor
from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.gateway.fleet import Fleet, worker_name
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.models import ModelRelay
from thetis_kernel.gateway.net import Net
from thetis_kernel.gateway.spills import Spills
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.protocol.client import Delta
from thetis_kernel.protocol.events import BlobRef, Compaction, ToolInvocation, ToolResult, Unknown, decode_body
from thetis_kernel.protocol.media import MAX_PDF
from thetis_kernel.protocol.net import Fetched
from thetis_kernel.protocol.worker import (
    WORKER_MAY_APPEND,
    AppendEvent,
    AskApproval,
    AskDevKit,
    CompleteModel,
    ConsentUnwalled,
    DevKitAnswer,
    FetchHttp,
    KeepMedia,
    LogPage,
    Notice,
    Output,
    ReadLog,
    ReadState,
    SetUp,
    SetUpDone,
    Verdict,
)
from thetis_kernel.supervise.handle import Child

MAX_PAGE = 1 << 20
MAX_NOTICE = 2000
"""Characters: a worker's words are an agent's."""


class Workers:
    """Spawns and finds workers; answers what they ask."""

    def __init__(self, fleet: Fleet, log: Log, models: ModelRelay, broadcast: Broadcast,
                 at_work: Callable[[str], Sequence[Turn]], consent: Callable[[], Awaitable[bool]],
                 approvals: Approvals, net: Net, devkit: DevKitDoor, spills: Spills) -> None:
        self._fleet = fleet
        self._log = log
        self._attachments = Attachments(log.store.blobs)
        self._models = models
        self._broadcast = broadcast
        self._at_work = at_work
        self._consent = consent
        self._approvals = approvals
        self._net = net
        self._devkit = devkit
        self.spills = spills
        self._notices: set[asyncio.Task[None]] = set()
        self.more: list[Callable[[str], dict[type[Any], Any]]] = []
        """(conversation) -> handlers of parts that answer workers by themselves; set by the gateway."""
        self.notice: Callable[[str, str], Awaitable[None]] | None = None
        """(conversation, text): set by the gateway right after both exist, as turns and workers need each other."""
        self.answered: Callable[[str], None] | None = None
        """(conversation): a call of its own agent has its result; set by the gateway."""
        self.moved: Callable[[str], None] | None = None
        """(sub-agent): it calls a tool; set by the gateway."""
        self.before_effect: Callable[[str, str, int, ToolInvocation], Awaitable[None]] | None = None
        """(conversation, whose log, seq, intention): done before the worker may begin the effect; set by the gateway."""

    async def ensure(self, session: str) -> Child:
        """The conversation's worker, spawned if it is not there. Raises ThetisError (parked) after too many deaths."""
        return await self._fleet.worker(session, *self._handlers(session))

    def keep_spare(self) -> None:
        """Have a worker ready for the next conversation."""
        self._fleet.keep_spare(lambda: self._handlers(""))

    def _handlers(self, session: str) -> tuple[dict[type[Any], Any], dict[type[Any], Any]]:
        tells: dict[type[Any], Any] = {
            Output: lambda tell: self._output(session, tell), Notice: lambda tell: self._heard(session, tell)}
        return self._asks(session), tells

    async def set_up(self, session: str, ask: SetUp) -> SetUpDone:
        """Have the conversation's worker run the setup command of its worktree."""
        worker = await self.ensure(session)
        done = await worker.peer.call(ask, timeout=None)
        await self.spills.look_through(session)
        return done

    async def discard(self, session: str) -> None:
        """End a worker that is stuck or no longer wanted; the next turn gets a new one."""
        await self._fleet.stop(worker_name(session))

    def _asks(self, session: str) -> dict[type[Any], Any]:
        async def read_log(ask: ReadLog) -> LogPage:
            events, end = await asyncio.to_thread(
                self._log.store.read_projected, self._member(session, ask.child), ask.after, min(ask.max_bytes, MAX_PAGE))
            return LogPage(events=events, end=end)

        async def append(ask: AppendEvent) -> int:
            return await self._append(session, ask)

        async def read_state(ask: ReadState) -> dict[str, str]:
            return (await self._log.state(self._member(session, ask.child))).values.get(ask.scope, {})

        async def complete(ask: CompleteModel) -> bytes:
            turn = self.turn(session, ask.turn)
            with turn.writing():
                return await self._models.complete(turn.session, turn.id, ask.request, ask.record, turn.stop)

        async def consent(ask: ConsentUnwalled) -> bool:
            return await self._consent()

        async def approve(ask: AskApproval) -> Verdict:
            turn = self.turn(session, ask.turn)
            if turn.child:  # a person is asked where they look, and what they allow there holds for what belongs to it
                where = " · ".join(part for part in (ask.where, f"by the sub-agent {turn.label!r}") if part)
                ask = msgspec.structs.replace(ask, where=where)
            return await self._approvals.ask(session, turn, ask)

        async def fetch_http(ask: FetchHttp) -> Fetched:
            return await self._net.fetch(self._running(session, ask.child).session, ask)

        async def devkit(ask: AskDevKit) -> DevKitAnswer:
            turn = self.turn(session, ask.turn)
            if turn.child:
                await self._devkit.check(turn.session, ask)
            return await self._devkit.answer(session, ask)

        uploads: dict[str, bytearray] = {}

        async def keep(ask: KeepMedia) -> BlobRef | None:
            self._running(session, ask.child)
            upload = uploads.setdefault(ask.child, bytearray())
            if len(upload) + len(ask.part) > MAX_PDF:
                upload.clear()
                raise ThetisError(f"{ask.name[:120]} is larger than a model takes.", code="too-large")
            upload.extend(ask.part)
            if not ask.last:
                return None
            content = bytes(upload)
            upload.clear()
            return await self._attachments.keep(content, ask.name)

        others = {kind: handler for more in self.more for kind, handler in more(session).items()}
        return {**others, KeepMedia: keep, AskDevKit: devkit, AskApproval: approve, FetchHttp: fetch_http, ReadLog: read_log,
                AppendEvent: append, ReadState: read_state, CompleteModel: complete, ConsentUnwalled: consent}

    def turn(self, session: str, turn: str) -> Turn:
        """The running turn of that id, the conversation's own or a sub-agent's: whose worker it is, the channel says."""
        for running in self._at_work(session):
            if running.id == turn:
                return running
        raise ThetisError("This turn is over.", code="turn-over")

    def _running(self, session: str, child: str) -> Turn:
        """The running turn of the sub-agent, "" for the conversation's own."""
        for running in self._at_work(session):
            if running.child == child:
                return running
        raise ThetisError("This turn is over.", code="turn-over")

    def _member(self, session: str, child: str) -> str:
        """Whose log it is: the conversation's, or that of a sub-agent of it which is at work. No other is within reach."""
        return self._running(session, child).session if child else session

    async def _append(self, session: str, ask: AppendEvent) -> int:
        if ask.kind not in WORKER_MAY_APPEND:
            raise Refused(f"A worker cannot write {ask.kind[:40]!r} events.", capability="state")
        turn = self._running(session, ask.child)
        try:
            body = decode_body(ask.kind, ask.body)
        except msgspec.ValidationError as error:
            raise ThetisError(f"The {ask.kind} event does not fit: {error}.", code="bad-arguments") from error
        if isinstance(body, Unknown):
            raise ThetisError(f"There is no kind {ask.kind[:40]!r}.", code="bad-arguments")
        if isinstance(body, ToolResult) and (body.spill or "/spill/" in body.content):
            await self.spills.look_through(session)
        with turn.writing():
            seq = (await self._log.append(turn.session, body, event_id=ask.event_id)).seq
        if isinstance(body, Compaction):
            crash.point("compaction.logged")
        if isinstance(body, ToolResult) and not turn.child and self.answered is not None:
            self.answered(session)
        elif isinstance(body, ToolInvocation):
            if turn.child and self.moved is not None:
                self.moved(turn.child)
            if self.before_effect is not None:
                await self.before_effect(session, turn.session, seq, body)
        return seq

    def _heard(self, session: str, tell: Notice) -> None:
        async def pass_on() -> None:
            await self.spills.look_through(session)  # what a command in the background wrote
            # A conversation deleted meanwhile, a full disk: the agent finds out when it looks.
            with contextlib.suppress(ThetisError):
                if self.notice is not None:
                    await self.notice(self._member(session, tell.child), tell.text[:MAX_NOTICE])

        task = asyncio.create_task(pass_on(), name=f"notice-{session}")
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    def _output(self, session: str, tell: Output) -> None:
        with contextlib.suppress(ThetisError):  # of a sub-agent whose turn is over
            member = self._member(session, tell.child)
            self._broadcast.publish(Delta(session=member, kind="output", text=tell.text, call=tell.call), member)
