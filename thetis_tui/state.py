"""Everything the screen knows, in one place: folded from what the gateway tells, read by widgets.

Must not know about widgets. Widgets never change it; they send messages, and the app calls the methods here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.client import (
    Conversation,
    Delta,
    EventStored,
    ModeInfo,
    Progress,
    StateChanged,
    Status,
)
from thetis_kernel.protocol.cutting import head
from thetis_kernel.protocol.models import ModelInfo
from thetis_kernel.protocol.wire import Tell

from thetis_tui.agents import Agent, agents_of
from thetis_tui.drafts import Drafts, History
from thetis_tui.queues import Queues
from thetis_tui.sanitise import one_line

Link = Literal["connecting", "ready", "failed", "reconnecting"]
"""`failed`: it never was there, and a person tries again; `reconnecting`: it went away, and the program does."""
NEW = ""
"""The id of the conversation that does not exist yet: it is created by its first message."""


@dataclass(slots=True)
class Turn:
    """A running turn as far as the screen knows it. `started` is on the monotonic clock, in seconds."""

    started: float
    doing: str = "working"
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class StatusView:
    """What the status line shows, as safe one-line texts."""

    link: Link = "connecting"
    model: str = ""
    notice: str = ""
    mode: str = ""
    read_only: bool = False
    asks: bool = False
    branch: str = ""
    walls: str = ""
    walled: bool = True
    network: bool = False
    safe: bool = False
    state: str = ""
    filled: int = -1
    """Percent of the model's window the last request took, -1 when nobody knows."""


@dataclass(slots=True)
class State:
    """The fold. `now` and `wall_ms` are the clocks (monotonic seconds, milliseconds of the day)."""

    now: Callable[[], float] = time.monotonic
    wall_ms: Callable[[], int] = field(default=lambda: int(time.time() * 1000))
    link: Link = "connecting"
    trouble: ThetisError | None = None
    status: Status | None = None
    conversations: dict[str, Conversation] = field(default_factory=dict)
    current: str = NEW
    turns: dict[str, Turn] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    ended: dict[str, str] = field(default_factory=dict)
    """How the last turn of a conversation ended, where that was heard: stop, cancelled, error, ..."""
    progress: dict[str, Progress] = field(default_factory=dict)
    drafts: Drafts = field(default_factory=Drafts)
    history: History = field(default_factory=History)
    queues: Queues = field(default_factory=Queues)
    new_mode: str = ""
    new_model: str = ""
    requests: dict[str, dict[str, e.Approval]] = field(default_factory=dict)
    with_changes: bool = False
    prompts: dict[str, int] = field(default_factory=dict)
    """Tokens of the last request of a conversation, where it was heard."""
    told_at: dict[str, float] = field(default_factory=dict)
    """When a conversation's line was told last, on the monotonic clock."""
    _before: str = NEW

    # --- what the gateway tells

    def hear(self, tell: Tell) -> None:
        """Fold one tell in; tells without state (notices, questions) change nothing."""
        match tell:
            case StateChanged(conversation=conversation):
                self.put(conversation)
            case EventStored(event=event):
                self._event(event, self.now())
            case Delta():
                self._delta(tell)
            case Progress():
                if tell.total > 0 and tell.done >= tell.total:
                    self.progress.pop(tell.what, None)
                else:
                    self.progress[tell.what] = tell
            case _:
                pass

    def put(self, conversation: Conversation) -> None:
        """A conversation's line is news."""
        before = self.conversations.get(conversation.id)
        self.conversations[conversation.id] = conversation
        self.told_at[conversation.id] = self.now()
        if conversation.state == "running":
            self.turns.setdefault(conversation.id, Turn(self.now()))
        else:
            self.turns.pop(conversation.id, None)
        ended = before is not None and before.state == "running" and conversation.state != "running"
        if ended and conversation.id != self.current:
            self.unread.add(conversation.id)

    def replace(self, conversations: list[Conversation]) -> None:
        """The whole list, as the gateway has it."""
        there = {conversation.id for conversation in conversations}  # of sub-agents only those that were opened are known
        self.conversations = {c.id: c for c in self.conversations.values() if c.id in there or c.parent in there}
        for conversation in conversations:
            self.put(conversation)
        self.turns = {key: turn for key, turn in self.turns.items() if key in self.conversations}

    def _event(self, event: e.Event, began: float) -> None:
        self._size(event)
        body = event.body if event.kind in _FOLDED else None
        turn = self.turns.get(event.session)
        match body:
            case e.TurnStarted():
                self.turns[event.session] = Turn(began)
                self.ended.pop(event.session, None)
            case e.TurnFinished(stopped_by=stopped_by):
                self.turns.pop(event.session, None)
                self.ended[event.session] = stopped_by
                if stopped_by == "cancelled":
                    self.requests.pop(event.session, None)
            case e.User():
                self.requests.pop(event.session, None)
            case e.Approval(id=request, decision=""):
                self.requests.setdefault(event.session, {})[request] = body
            case e.Approval(id=request):
                self.requests.get(event.session, {}).pop(request, None)
            case e.Assistant(usage=usage) if turn is not None:
                turn.tokens_in = usage.input + usage.cache_read + usage.cache_write
                turn.tokens_out += usage.output
                turn.doing = "working"
            case e.ToolInvocation(name=name, args=args) if turn is not None:
                turn.calls += 1
                first = next((value for value in args.values() if isinstance(value, str)), "")
                turn.doing = one_line(f"{head(name, 40)} {head(first, 60)}")
            case e.ToolResult() if turn is not None:
                turn.doing = "working"
            case _:
                pass

    def _size(self, event: e.Event) -> None:
        if event.kind == "assistant" and isinstance(event.body, e.Assistant):
            used = event.body.usage
            if tokens := used.input + used.cache_read + used.cache_write:
                self.prompts[event.session] = tokens

    def _delta(self, delta: Delta) -> None:
        turn = self.turns.get(delta.session)
        if turn is None:
            return
        match delta.kind:
            case "text":
                turn.doing = "writing"
            case "thinking":
                turn.doing = "thinking"
            case "tool-call":
                turn.doing = "preparing a call"
            case "waiting":
                turn.doing = head(one_line(delta.text), 80) or "waiting"
            case _:
                pass

    def recall(self, tail: list[e.Event]) -> None:
        """The last events of an opened conversation: how its running turn stands, and what was said before."""
        for event in tail:
            self._size(event)
            if event.session in self.turns and event.kind in _FOLDED and event.kind not in ("approval", "user"):
                self._event(event, self.now() - max(0, self.wall_ms() - event.ts_ms) / 1000)
        bodies = [event.body for event in tail if event.kind == "user"]
        said = [body.text for body in bodies if isinstance(body, e.User)]
        self.history.seed(said)

    def queues_apply(self) -> bool:
        """Whether words of the conversation being looked at would wait."""
        return self.turn is not None or bool(self.queues.of(self.current)) or self.queues.in_hand(self.current)

    # --- what the person does

    def opened(self, session: str) -> None:
        """The person looks at `session` now."""
        if session != self.current:
            self._before = self.current
        self.current = session
        self.unread.discard(session)

    def before(self) -> str | None:
        """The conversation looked at before this one; None when there is none any more."""
        known = self._before in self.conversations or (self._before == NEW and self.current != NEW)
        return self._before if known and self._before != self.current else None

    def forget(self, session: str) -> None:
        """A conversation was deleted."""
        self.conversations.pop(session, None)
        self.turns.pop(session, None)
        self.requests.pop(session, None)
        self.ended.pop(session, None)
        self.unread.discard(session)
        self.drafts.keep(session, "")

    # --- what widgets read

    @property
    def conversation(self) -> Conversation | None:
        """The conversation being looked at; None when it does not exist yet."""
        return self.conversations.get(self.current)

    @property
    def turn(self) -> Turn | None:
        """The running turn of the conversation being looked at."""
        return self.turns.get(self.current)

    def listed(self) -> list[Conversation]:
        """The list beside the transcript: not archived, newest first; the open one always."""
        own = [c for c in self.conversations.values() if not c.parent]
        shown = [c for c in own if not c.archived or c.id == self.current]
        return sorted(shown, key=lambda c: (c.updated_ms, c.created_ms, c.id), reverse=True)

    def running(self) -> list[Conversation]:
        """Conversations with a live turn."""
        return [c for c in self.conversations.values() if (c.id in self.turns or c.children) and not c.parent]

    def agents(self) -> tuple[Agent, ...]:
        """The sub-agents at work in the conversation being looked at."""
        conversation = self.conversation
        return agents_of(conversation.children, self.told_at.get(conversation.id, self.now())) if conversation else ()

    def mode(self) -> ModeInfo | None:
        """The mode of the conversation being looked at (or the one a new one gets)."""
        if self.status is None:
            return None
        wanted = self.conversation.mode if self.conversation else self.new_mode or self.status.default_mode
        for mode in self.status.modes:
            if mode.id == wanted:
                return mode
        return ModeInfo(id=wanted, label=wanted, read_only=True) if wanted else None

    def asking(self) -> int:
        """Requests for consent that are open in the conversation being looked at."""
        return len(self.requests.get(self.current, {}))

    def carrying_mode(self) -> ModeInfo | None:
        """The mode a plan of this conversation would be carried out in: the default if it may change things, else the first."""
        able = [mode for mode in self.status.modes if not mode.read_only] if self.status else []
        default = self.status.default_mode if self.status else ""
        return next((mode for mode in able if mode.id == default), able[0] if able else None)

    def may_hand_over(self) -> bool:
        """Whether there may be a plan to carry out: a read-only conversation in which something was said."""
        mode, conversation = self.mode(), self.conversation
        begun = conversation is not None and bool(conversation.branch) and self.turn is None
        return begun and mode is not None and mode.read_only and self.carrying_mode() is not None

    def next_mode(self) -> ModeInfo | None:
        """The mode after the present one; None when there is no other."""
        modes, now = (self.status.modes if self.status else []), self.mode()
        if len(modes) < 2 or now is None:
            return None
        ids = [mode.id for mode in modes]
        return modes[(ids.index(now.id) + 1) % len(ids)] if now.id in ids else modes[0]

    def model(self) -> ModelInfo | None:
        """The model in use."""
        if self.status is None:
            return None
        wanted = self.conversation.model if self.conversation else self.new_model or self.status.default_model
        return next((model for model in self.status.models if model.id == wanted), None)

    def filled(self) -> int:
        """Percent of the model's window that the last request took; -1 when nobody knows."""
        model, tokens = self.model(), self.prompts.get(self.current, 0)
        return min(100, round(100 * tokens / model.window)) if model and model.window and tokens else -1

    def may_include_changes(self) -> bool:
        """Whether the next message would start a branch while the root has uncommitted changes."""
        conversation = self.conversation
        fresh = conversation is None or not conversation.branch
        return fresh and self.status is not None and self.status.uncommitted > 0

    def view(self) -> StatusView:
        """The status line."""
        mode, model, conversation = self.mode(), self.model(), self.conversation
        named = one_line(model.label or model.id) if model else one_line(conversation.model if conversation else "")
        state = "" if conversation is None or conversation.state in ("idle", "running") else conversation.state
        return StatusView(
            link=self.link,
            model=named,
            notice=one_line(model.notice) if model else "",
            mode=one_line(mode.label or mode.id) if mode else "",
            read_only=mode.read_only if mode else False,
            asks=mode.asks if mode else False,
            branch=one_line(conversation.branch) if conversation else "",
            walls=one_line(self.status.walls) if self.status else "",
            walled=self.status is None or self.status.walls != "none",
            network=conversation is not None and conversation.network,
            safe=self.status is not None and self.status.safe,
            state=state,
            filled=self.filled(),
        )


_FOLDED = frozenset({"turn-started", "turn-finished", "assistant", "tool-invocation", "tool-result", "approval", "user"})
