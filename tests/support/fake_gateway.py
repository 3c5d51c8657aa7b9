"""An in-memory gateway for the screen: conversations with scripted turns behind the real `GatewayClient`.

Every request is kept in `asks`; `errors` makes a kind of request fail, `gates` makes it wait. A turn is played by the
`script` (an async function of a `FakeTurn`) or, without one, driven by the test through `turns[session]`. Tells can be
swallowed (`mute`) to make gaps; the log is whole all the same.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import IpcError, PeerGone, RemoteError, ThetisError
from thetis_kernel.gateway.settings import SettingsDoor
from thetis_kernel.protocol import asking as a
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol import queueing as q
from thetis_kernel.protocol.approvals import shown
from thetis_kernel.protocol.children import ChildLine, ListChildren
from thetis_kernel.protocol.merging import ListWorktreeLines, PruneWorktrees, WorktreeLine
from thetis_kernel.protocol.models import ModelInfo
from thetis_kernel.protocol.settings import ListSettings, SettingList, WriteSetting
from thetis_kernel.protocol.timemachine import ListMoments, Moment
from thetis_kernel.protocol.wire import Ask, Tell

from tests.support.fake_render import render
from thetis_tui.summary import gist

NOTICE = "rehearsal: no language model connected"
T0 = 1_700_000_000_000
"""The first event's time; each later one is a second on, so that pictures of logs stand still."""

Script = Callable[["FakeTurn"], Awaitable[None]]


def status(**changes: Any) -> c.Status:
    """What a fresh gateway says of a small root."""
    facts: dict[str, Any] = {
        "version": "0.1.0", "root": "/home/ada/engine", "root_kind": "repository", "trunk": "main",
        "walls": "bubblewrap", "walls_sentence": "Commands run inside bubblewrap.", "walls_hint": "", "consent": "",
        "models": [ModelInfo("rehearsal", "rehearsal", "Rehearsal", 100_000, notice=NOTICE)],
        "modes": [c.ModeInfo("agent", "agent", False), c.ModeInfo("plan", "plan", True)],
        "default_model": "rehearsal", "default_mode": "agent", "notices": [], "uncommitted": 0,
    }
    return c.Status(**{**facts, **changes})


class FakeGateway:
    """`client` is what the screen gets; everything else is for the test."""

    def __init__(self, **changes: Any) -> None:
        self.status = status(**changes)
        self.client = GatewayClient(self)
        self.asks: list[Ask[Any]] = []
        self.errors: dict[type[Ask[Any]], ThetisError] = {}
        self.gates: dict[type[Ask[Any]], asyncio.Event] = {}
        self.mute: set[type[Tell]] = set()
        self.script: Script | None = None
        self.logs: dict[str, list[e.Event]] = {}
        self.lines: dict[str, c.Conversation] = {}
        self.turns: dict[str, FakeTurn] = {}
        self.queues: dict[str, list[q.QueuedWords]] = {}
        self.in_hand: set[str] = set()
        self.diff = c.DiffText(patch="", files=[])
        self.devkit: Callable[[c.DevKit], bytes] = lambda _: b'{"guests": [], "revisions": [], "incidents": []}'
        self.requests: dict[str, dict[str, e.Approval]] = {}
        self.questions: dict[str, list[Any]] = {}
        self.worktrees: list[WorktreeLine] = []
        self.children: list[ChildLine] = []
        self.moments: list[Moment] = []
        self.settings: SettingsDoor | None = None
        """The settings of a real directory; None: there are none."""
        self.gone = False
        self._closed: asyncio.Future[IpcError] | None = None
        self._ids: set[str] = set()
        self._made = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def connect(self) -> GatewayClient:
        """What the screen is given as `connect`."""
        return self.client

    # --- the peer of the client

    @property
    def closed(self) -> asyncio.Future[IpcError]:
        """The end of the channel of whoever asks now."""
        if self._closed is None:
            self._closed = asyncio.get_running_loop().create_future()
        return self._closed

    def vanish(self) -> None:
        """The gateway dies, and its channels say so. With `gone` alone it only stops to answer."""
        self.gone = True
        closed, self._closed = self.closed, None
        closed.set_result(PeerGone("the gateway is gone"))

    async def call(self, ask: Any, *, timeout: float | None = 60.0) -> Any:
        if self.gone:
            raise PeerGone("The gateway is gone.", hint="Start thetis again.")
        self.asks.append(ask)
        gate = self.gates.get(type(ask))
        if gate is not None:
            await gate.wait()
        await asyncio.sleep(0)
        error = self.errors.get(type(ask))
        if error is not None:
            raise error
        return self._answer(ask)

    def asked(self, kind: type[Any]) -> list[Any]:
        """The requests of one kind, in order."""
        return [ask for ask in self.asks if isinstance(ask, kind)]

    def asked_anything(self) -> bool:
        """Whether something was said or made."""
        return bool(self.asked(c.Submit) or self.asked(c.CreateConversation))

    def _answer(self, ask: Any) -> Any:
        match ask:
            case c.GetStatus():
                return self.status
            case c.ListConversations():
                return sorted(self.lines.values(), key=lambda line: -line.updated_ms)
            case c.GetConversation(id=prefix):
                found = [line for line in self.lines.values() if line.id.startswith(prefix)]
                if len(found) != 1:
                    raise RemoteError(f"There is no conversation {prefix}.", hint="`thetis ls` lists them.")
                return found[0]
            case c.CreateConversation():
                return self.lines[self.make(mode=ask.mode)]
            case c.AttachFile(path=path):
                return e.BlobRef(hashlib.sha256(path.encode()).hexdigest(), 70, "image/png", path.rpartition("/")[2])
            case c.Submit():
                return self._submit(ask)
            case c.Stop(session=session):
                return self._stop(session)
            case q.GetQueue(session=session):
                return [words for words in self.queues.get(session, []) if words.id not in self.in_hand]
            case q.EditQueued() | q.RecallQueued() | q.SayQueued():
                return self._queue(ask)
            case c.Resume(session=session):
                return self._resume(session)
            case c.ReadEvents():
                log = self.logs[ask.session]
                return c.EventPage(events=log[ask.after : ask.after + ask.limit], last_seq=len(log))
            case c.RenderEvents():
                return render(self.logs[ask.session][ask.after : ask.upto])
            case c.Search():
                return self._search(ask)
            case c.GetDiff():
                return self.diff
            case c.DevKit():
                return self.devkit(ask)
            case ListSettings(prefix=prefix):
                return self.settings.all(prefix) if self.settings is not None else SettingList([])
            case ListChildren():
                return list(self.children)
            case ListMoments():
                return list(self.moments)
            case ListWorktreeLines():
                return list(self.worktrees)
            case PruneWorktrees():
                gone = [line for line in self.worktrees if line.prunable]
                self.worktrees = [line for line in self.worktrees if not line.prunable]
                return gone
            case WriteSetting() if self.settings is not None:
                return self.settings.write(ask)
            case a.ListQuestions(session=session):
                return list(self.questions.get(session, []))
            case c.ListApprovals(session=session):
                return list(self.requests.get(session, {}).values())
            case c.AnswerApproval():
                self._decide(ask)
            case c.ChangeSetting():
                self._set(ask)
            case _:
                pass
        return None

    def _decide(self, ask: c.AnswerApproval) -> None:
        request = self.requests.get(ask.session, {}).pop(ask.id, None)
        if request is None or ask.shown != shown(request):
            raise RemoteError("This request is not open any more.", hint="Look again.")
        self.store(ask.session, msgspec.structs.replace(request, decision=ask.decision, by="user"))

    def request(self, session: str, **fields: Any) -> e.Approval:
        """Ask for consent in a conversation."""
        request = e.Approval(**{"id": f"q{len(self.asks)}", "capability": "exec", "what": "Run a command",
                                "detail": "make test", "offers": ["allow-once", "deny"], **fields})
        self.requests.setdefault(session, {})[request.id] = request
        self.store(session, request)
        return request

    # --- conversations

    def make(self, title: str = "", *, mode: str = "", **fields: Any) -> str:
        """A conversation without events; its id."""
        self._made += 1
        session = hashlib.sha256(str(self._made).encode()).hexdigest()[:16]
        now = T0 + self._made * 60_000
        facts: dict[str, Any] = {
            "id": session, "title": title, "mode": mode or "agent", "model": "rehearsal", "state": "idle",
            "branch": "", "worktree": "", "created_ms": now, "updated_ms": now, "last_seq": 0,
        }
        self.lines[session] = c.Conversation(**{**facts, **fields})
        self.logs[session] = []
        return session

    def change(self, session: str, **fields: Any) -> None:
        """Change a conversation's line and tell of it."""
        old = self.lines[session]
        values = {name: getattr(old, name) for name in old.__struct_fields__}
        self.lines[session] = c.Conversation(**{**values, **fields})
        self.tell(c.StateChanged(conversation=self.lines[session]))

    def store(self, session: str, body: e.Body, event_id: str = "") -> e.Event:
        """Append a durable event and tell of it (unless muted)."""
        log = self.logs[session]
        seq = len(log) + 1
        made = event_id or hashlib.sha256(f"{session}{seq}".encode()).hexdigest()[:32]
        event = e.Event(session, seq, made, T0 + seq * 1000, e.kind_of(body), 1, e.encode_body(body), "c0ffee" * 4)
        log.append(event)
        line = self.lines[session]
        values = {name: getattr(line, name) for name in line.__struct_fields__}
        self.lines[session] = c.Conversation(**{**values, "last_seq": seq})
        self.tell(c.EventStored(event=event))
        return event

    def tell(self, tell: Tell) -> None:
        """Say something to the screen."""
        if type(tell) not in self.mute:
            self.client.heard(tell)

    # --- turns

    def _submit(self, ask: c.Submit) -> c.Submitted:
        if ask.event_id in self._ids:
            return c.Submitted(seq=0, how="turn", turn="")
        self._ids.add(ask.event_id)
        running = self.turns.get(ask.session)
        if ask.later and (running is not None or self.queues.get(ask.session)):
            self.queues.setdefault(ask.session, []).append(q.QueuedWords(ask.event_id, ask.text))
            seq = self.store(ask.session, e.Queued(ask.event_id, ask.text), ask.event_id).seq
            return c.Submitted(seq=seq, how="queue", turn="")
        if running is not None:
            seq = self.store(ask.session, e.Nudge(ask.text, turn=running.id), ask.event_id).seq
            return c.Submitted(seq=seq, how="nudge", turn=running.id)
        line = self.lines[ask.session]
        self.change(
            ask.session, title=line.title or ask.text[:60], branch=f"conv/{ask.session[:8]}",
        )
        event = self.store(ask.session, e.User(ask.text, with_changes=ask.with_changes), ask.event_id)
        turn = self.begin(ask.session, text=ask.text)
        return c.Submitted(seq=event.seq, how="turn", turn=turn.id)

    def _queue(self, ask: Any) -> Any:
        waiting = self.queues.get(ask.session, [])
        if isinstance(ask, q.SayQueued):
            if not waiting or ask.session in self.turns:
                return False
            self.say_next(ask.session)
            return True
        found = next((words for words in waiting if words.id == ask.id), None)
        if found is None:
            raise RemoteError("This message is not in the queue any more.", code="not-queued")
        if isinstance(ask, q.RecallQueued):
            self.in_hand.add(ask.id)
            self.store(ask.session, e.QueueRecalled(ask.id))
            return found.text
        self.in_hand.discard(ask.id)
        waiting[waiting.index(found)] = q.QueuedWords(ask.id, ask.text)
        self.store(ask.session, e.QueueEdited(ask.id, ask.text))
        return None

    def say_next(self, session: str) -> None:
        """Begin a turn with the next words of the queue."""
        words = self.queues[session].pop(0)
        self.store(session, e.User(words.text, queued=words.id))
        self.begin(session, text=words.text)

    def begin(self, session: str, text: str = "") -> FakeTurn:
        """Start a turn; the script, if there is one, plays it."""
        turn = self.turns[session] = FakeTurn(self, session, text)
        self.change(session, state="running")
        self.store(session, e.TurnStarted(turn.id, self.lines[session].mode, "rehearsal"))
        if self.script is not None:
            task = asyncio.get_running_loop().create_task(self._play(self.script, turn))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return turn

    async def _play(self, script: Script, turn: FakeTurn) -> None:
        await script(turn)
        if self.turns.get(turn.session) is turn:
            turn.finish()

    def _stop(self, session: str) -> bool:
        turn = self.turns.get(session)
        if turn is None:
            return False
        turn.stopped = True
        turn.finish("cancelled", "Stopped by you.")
        return True

    def _resume(self, session: str) -> bool:
        if self.lines[session].state != "interrupted":
            return False
        self.begin(session)
        return True

    def _set(self, ask: c.ChangeSetting) -> None:
        value: Any = ask.value == "true" if ask.name == "archived" else ask.value
        self.store(ask.session, e.SettingChanged(ask.name, ask.value))
        self.change(ask.session, **{ask.name: value})

    def _search(self, ask: c.Search) -> list[c.SearchHit]:
        hits = [
            c.SearchHit(session, event.seq, event.kind, gist(event))
            for session, log in self.logs.items()
            for event in log
            if not ask.session or session == ask.session
            if event.kind in ("user", "assistant") and ask.query.lower() in event.raw.decode().lower()
        ]
        return hits[: ask.limit]


class FakeTurn:
    """One running turn: says what models and tools say."""

    def __init__(self, gateway: FakeGateway, session: str, text: str) -> None:
        self.gateway = gateway
        self.session = session
        self.text = text
        self.id = hashlib.sha256(f"{session}{len(gateway.logs[session])}".encode()).hexdigest()[:12]
        self.stopped = False
        self.pause = 0.0
        self._replies = 0
        self._calls = 0
        self._said: dict[str, str] = defaultdict(str)

    @property
    def stream(self) -> str:
        return f"{self.id}.{self._replies}"

    def delta(self, kind: str, text: str, call: str = "") -> None:
        """One delta."""
        if kind in ("text", "thinking"):
            self._said[kind] += text
        stream = "" if kind == "output" else self.stream
        self.gateway.tell(c.Delta(session=self.session, kind=kind, text=text, call=call, stream=stream))

    async def say(self, text: str, kind: str = "text", size: int = 6) -> None:
        """Stream `text` in pieces."""
        for at in range(0, len(text), size):
            if self.stopped:
                return
            self.delta(kind, text[at : at + size])
            await asyncio.sleep(self.pause)

    def reply(self, text: str | None = None, *, calls: tuple[str, ...] = (), tokens: int = 0) -> e.Event:
        """Store what was said (or `text`) as the durable reply."""
        blocks: list[dict[str, Any]] = []
        if self._said["thinking"]:
            blocks.append({"type": "thinking", "thinking": self._said["thinking"]})
        words = self._said["text"] if text is None else text
        if words:
            blocks.append({"type": "text", "text": words})
        blocks += [{"type": "tool_use", "id": name, "name": name, "input": {}} for name in calls]
        usage = e.Usage(input=1200 * (self._replies + 1), output=tokens or len(words) // 4)
        event = self.gateway.store(self.session, e.Assistant(blocks, "rehearsal", usage=usage, turn=self.id))
        self._replies += 1
        self._said.clear()
        return event

    def call(self, name: str, mutating: bool = False, **args: Any) -> str:
        """A call is about to run; its id."""
        self._calls += 1
        call = f"call_{self.id}_{self._calls}"
        self.gateway.store(self.session, e.ToolInvocation(call, name, args, f"tool:{name}", mutating, self.id))
        return call

    def result(self, call: str, content: str = "", outcome: Any = "ok", duration_ms: int = 400, **data: Any) -> None:
        """How a call ended."""
        self.gateway.store(
            self.session, e.ToolResult(call, outcome, content, data, duration_ms=duration_ms, turn=self.id)
        )

    def finish(self, stopped_by: str = "stop", detail: str = "") -> None:
        """The turn is over."""
        self.gateway.turns.pop(self.session, None)
        usage = e.Usage(input=1200 * self._replies, output=300)
        self.gateway.store(
            self.session,
            e.TurnFinished(self.id, stopped_by, detail, tool_calls=self._calls, usage=usage, duration_ms=4200),
        )
        self.gateway.change(self.session, state="idle")
        if stopped_by == "stop" and self.gateway.queues.get(self.session):
            self.gateway.say_next(self.session)
