"""The one door to the gateway, for screens, headless runs, bridges and tests.

`GatewayClient` speaks protocol.client over any peer: an in-memory pair when the gateway lives in this process, the
control socket when another process holds the root.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from thetis_kernel.errors import DeadlineExceeded, IpcError
from thetis_kernel.protocol import asking as a
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import queueing as q
from thetis_kernel.protocol.approvals import Decision, Rule, shown
from thetis_kernel.protocol.blocks import RenderedEvent
from thetis_kernel.protocol.branches import Applied, Landed
from thetis_kernel.protocol.care import CheckStore, ListOld, OldLine, PruneOld, ReadClean, StoreReport
from thetis_kernel.protocol.children import ChildLine, ListChildren, StopChild
from thetis_kernel.protocol.events import Approval, BlobRef, Event, Question
from thetis_kernel.protocol.ids import new_event_id
from thetis_kernel.protocol.kernels import ApproveKernel, KernelState, LookAtKernel
from thetis_kernel.protocol.merging import (
    ApplyChanges,
    ListWorktreeLines,
    Merge,
    MergePlan,
    PlanMerge,
    PruneWorktrees,
    Resolve,
    WorktreeLine,
)
from thetis_kernel.protocol.publishing import Guarded, Publish, Published, SetGuard
from thetis_kernel.protocol.rules import AddRule, ListRules, RevokeRule
from thetis_kernel.protocol.settings import ListSettings, SettingList, SettingWritten, Where, WriteSetting
from thetis_kernel.protocol.skills import AttachSkill, Card, ListSkills, ShowSkill, SkillList, SkillText
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.protocol.terminals import CloseTerminal, OpenTerminal, TerminalLine, TypeKeys, Watched, WatchTerminal
from thetis_kernel.protocol.timemachine import Fork, Forked, ListMoments, Moment, RewindTo, Rewound, UndoRewind, What
from thetis_kernel.protocol.wire import Ask, Tell

if TYPE_CHECKING:
    from typing import Protocol

    class Peer(Protocol):
        """What a client needs of a channel."""

        @property
        def closed(self) -> asyncio.Future[IpcError]: ...

        async def call(self, ask: Ask[R], *, timeout: float | None = 60.0) -> R: ...

R = TypeVar("R")
BACKSTOP_S = 2.0
"""A missed notice costs at most this long, never an event: the log is read anyway."""
SUBMIT_S = 10.0
"""After so long without an answer the words are sent again; they are one message by their event id."""
DEVKIT_S = 180.0
"""For an operation on guests: the gate has 60 s for each, and a few may wait for each other."""
MERGE_S = 600.0
"""For a merge, which writes files: it is not to be reported failed while it lands."""
Listener = Callable[[Tell], None]


class GatewayClient:
    """Typed calls to a gateway. Every method may raise errors of the tree (RemoteError, PeerGone, DeadlineExceeded)."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every Tell from the gateway, on the event loop; returns how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def lost(self, listener: Callable[[IpcError], None]) -> Callable[[], None]:
        """Call `listener` with the reason once the gateway is no longer there, on the event loop; returns how to stop."""

        def ended(closed: asyncio.Future[IpcError]) -> None:
            listener(closed.result())

        def stop() -> None:
            closed.remove_done_callback(ended)

        closed = self._peer.closed
        closed.add_done_callback(ended)
        return stop

    def heard(self, tell: Tell) -> None:
        """The channel delivers here."""
        for listener in list(self._listeners):
            listener(tell)

    async def devkit(self, session: str, name: str, /, **arguments: str) -> dict[str, Any]:
        """An operation on the conversation's guests (`list-code`, `history`, `diff`, `roll-back`, ...), as a person."""
        asked = c.DevKit(session=session, name=name, arguments=msgspec.json.encode(arguments))
        told: bytes = await self._peer.call(asked, timeout=DEVKIT_S)
        answer: dict[str, Any] = msgspec.json.decode(told)
        return answer

    async def status(self, *, walls: bool = True) -> c.Status:
        return await self._peer.call(c.GetStatus(walls=walls))

    async def conversations(self, *, children: bool = False) -> list[c.Conversation]:
        """All conversations; with `children` those of sub-agents too."""
        return await self._peer.call(c.ListConversations(children=children))

    async def children(self, session: str) -> list[ChildLine]:
        """The sub-agents of a conversation, oldest first, with the answers of those that have settled."""
        return await self._peer.call(ListChildren(session=session))

    async def stop_child(self, session: str, child: str) -> bool:
        """Stop one sub-agent; False when it has settled already."""
        return await self._peer.call(StopChild(session=session, child=child))

    async def watch_terminal(self, ask: WatchTerminal) -> Watched:
        """The terminals of a conversation and the screen of one, at once or when it changes."""
        return await self._peer.call(ask)

    async def open_terminal(self, session: str, terminal: str = "", *, columns: int = 0, rows: int = 0) -> TerminalLine:
        """Open a terminal of the person's own, or a shell for them in an idle one."""
        return await self._peer.call(OpenTerminal(session=session, terminal=terminal, columns=columns, rows=rows))

    async def type_keys(self, session: str, terminal: str, data: bytes) -> None:
        """Keys for the program in a terminal, as a terminal sends them."""
        await self._peer.call(TypeKeys(session=session, terminal=terminal, data=data))

    async def close_terminal(self, session: str, terminal: str) -> None:
        """End a terminal and everything in it."""
        await self._peer.call(CloseTerminal(session=session, terminal=terminal))

    async def conversation(self, id_or_prefix: str) -> c.Conversation:
        return await self._peer.call(c.GetConversation(id=id_or_prefix))

    async def create(self, *, origin: str, mode: str = "", model: str = "") -> c.Conversation:
        """A new conversation; `origin` is tui, discord or headless."""
        known: Literal["tui", "headless", "discord"] = origin if origin in ("tui", "discord") else "headless"  # type: ignore[assignment]
        return await self._peer.call(c.CreateConversation(origin=known, mode=mode, model=model))

    async def attach(self, path: str) -> BlobRef:
        """Keep a picture or PDF at an absolute path, to be sent with words."""
        return await self._peer.call(c.AttachFile(path=path))

    async def submit(
        self, session: str, text: str, *, event_id: str = "", with_changes: bool = False, later: bool = False,
        alone: bool = False, attachments: Sequence[BlobRef] = ()
    ) -> c.Submitted:
        """Say something; returns once it is durable. The first message also makes the branch and worktree.

        `later`: into the queue while a turn runs or words wait. `alone`: the queue does not go on after the words' turn.
        """
        ask = c.Submit(session=session, text=text, event_id=event_id or new_event_id(), with_changes=with_changes,
                       later=later, alone=alone, attachments=list(attachments))
        while True:
            try:
                return await self._peer.call(ask, timeout=SUBMIT_S)
            except DeadlineExceeded:
                continue  # the same event id is the same message, so asking again is safe

    async def queue(self, session: str) -> list[q.QueuedWords]:
        """The words that wait, in order."""
        return await self._peer.call(q.GetQueue(session=session))

    async def edit_queued(self, session: str, identifier: str, text: str) -> None:
        """Change words of the queue; recalled ones go back to their place."""
        await self._peer.call(q.EditQueued(session=session, id=identifier, text=text))

    async def recall_queued(self, session: str, identifier: str) -> str:
        """Take words out of the queue."""
        return await self._peer.call(q.RecallQueued(session=session, id=identifier))

    async def questions(self, session: str) -> list[Question]:
        """What the agent asks and nobody answered yet."""
        return await self._peer.call(a.ListQuestions(session=session))

    async def answer_question(self, session: str, identifier: str, answers: Sequence[a.Given], *, event_id: str = "") -> int:
        """Answer all of one question event; a turn goes on with it."""
        return await self._peer.call(a.AnswerQuestion(
            session=session, id=identifier, answers=list(answers), event_id=event_id or new_event_id()))

    async def settings(self, prefix: str = "") -> SettingList:
        """The settings as the files say them now. Raises ConfigError's remote kind when a file cannot be used."""
        return await self._peer.call(ListSettings(prefix=prefix))

    async def write_setting(self, key: str, value: str, *, where: Where = "user", unset: bool = False) -> SettingWritten:
        """Set one setting (a TOML value; words of a text without quotes), or take it out of the file. As a person."""
        return await self._peer.call(WriteSetting(key=key, value=value, where=where, unset=unset))

    async def compact(self, session: str, hint: str = "") -> str:
        """Have the conversation's middle summed up; the id of the turn that does it."""
        return await self._peer.call(a.Compact(session=session, hint=hint))

    async def say_queued(self, session: str) -> bool:
        """Begin a turn with the next words of the queue."""
        return await self._peer.call(q.SayQueued(session=session))

    async def stop(self, session: str) -> bool:
        return await self._peer.call(c.Stop(session=session))

    async def resume(self, session: str) -> bool:
        return await self._peer.call(c.Resume(session=session))

    async def wait_idle(self, session: str) -> None:
        await self._peer.call(c.WaitIdle(session=session), timeout=None)

    async def read(self, session: str, after: int = 0, limit: int = 500) -> c.EventPage:
        return await self._peer.call(c.ReadEvents(session=session, after=after, limit=limit))

    async def render(self, session: str, after: int, upto: int) -> list[RenderedEvent]:
        return await self._peer.call(c.RenderEvents(session=session, after=after, upto=upto))

    async def search(self, query: str, limit: int = 50, session: str = "") -> list[c.SearchHit]:
        """Places where all words stand, newest first, in every conversation or in `session` alone."""
        return await self._peer.call(c.Search(query=query, limit=limit, session=session))

    async def diff(self, session: str) -> c.DiffText:
        return await self._peer.call(c.GetDiff(session=session))

    async def plan_merge(self, session: str, into: str = "") -> MergePlan:
        """What merging the conversation would do."""
        return await self._peer.call(PlanMerge(session=session, into=into), timeout=MERGE_S)

    async def merge(self, plan: MergePlan, into: str = "", message: str = "") -> Landed:
        """Merge exactly what the plan showed."""
        return await self._peer.call(
            Merge(session=plan.session, tip=plan.plan.tip, onto=plan.plan.onto, into=into, message=message), timeout=MERGE_S)

    async def resolve(self, session: str) -> bool:
        """Have the conversation resolve what conflicts with its trunk."""
        return await self._peer.call(Resolve(session=session, event_id=new_event_id()), timeout=MERGE_S)

    async def apply(self, session: str) -> Applied:
        """Write what the conversation changed into the checkout."""
        return await self._peer.call(ApplyChanges(session=session), timeout=MERGE_S)

    async def moments(self, session: str) -> list[Moment]:
        """Where a conversation can go back to."""
        return await self._peer.call(ListMoments(session=session))

    async def rewind(self, session: str, seq: int, what: What = "both") -> Rewound:
        """Go back to right before the words at `seq`."""
        return await self._peer.call(RewindTo(session=session, seq=seq, what=what), timeout=MERGE_S)

    async def undo_rewind(self, session: str) -> Rewound:
        """Take the last rewind back."""
        return await self._peer.call(UndoRewind(session=session), timeout=MERGE_S)

    async def fork(self, session: str, seq: int = 0) -> Forked:
        """A conversation of its own from right before the words at `seq`, 0 = from where this one stands."""
        return await self._peer.call(Fork(session=session, seq=seq), timeout=MERGE_S)

    async def worktrees(self, *, prune: bool = False) -> list[WorktreeLine]:
        """The worktrees of this root's conversations; with `prune` those that were removed."""
        return await self._peer.call(PruneWorktrees() if prune else ListWorktreeLines(), timeout=MERGE_S)

    async def publish(self, *, remake: bool = False) -> Published:
        """Bring the public branch up to the trunk."""
        return await self._peer.call(Publish(remake=remake), timeout=MERGE_S)

    async def guard_pushes(self, wanted: bool) -> Guarded:
        """Have a hook let nothing but the public branch be pushed, or take it away."""
        return await self._peer.call(SetGuard(wanted=wanted), timeout=MERGE_S)

    async def kernel(self, session: str, approve: str | None = None) -> KernelState:
        """How it stands with the kernel of a conversation's branch; `approve`: a tree to run from now on, "" for none."""
        ask = LookAtKernel(session=session) if approve is None else ApproveKernel(session=session, tree=approve)
        return await self._peer.call(ask, timeout=MERGE_S)

    async def set(self, session: str, name: str, value: str) -> None:
        await self._peer.call(c.ChangeSetting(session=session, name=name, value=value))

    async def delete(self, session: str) -> None:
        await self._peer.call(c.DeleteConversation(session=session))

    async def spending(self, session: str) -> dict[str, Spent]:
        """What a conversation used and cost, by model."""
        return await self._peer.call(c.GetSpending(session=session))

    async def examine(self, session: str) -> c.Examination:
        """Check a conversation's log and the request its agent would make next."""
        return await self._peer.call(c.Examine(session=session), timeout=None)

    async def subscribe(self, session: str = "") -> None:
        await self._peer.call(c.Subscribe(session=session))

    async def skills(self, session: str = "") -> SkillList:
        """Every skill by name, a conversation's own among them when one is named, and what is wrong with others."""
        return await self._peer.call(ListSkills(session=session))

    async def skill(self, name: str, session: str = "") -> SkillText:
        """A skill's text."""
        return await self._peer.call(ShowSkill(name=name, session=session))

    async def attach_skill(self, session: str, name: str) -> Card:
        """Give a skill to the agent of a conversation."""
        return await self._peer.call(AttachSkill(session=session, name=name))

    async def attend(self, kind: Literal["screen", "run", "bridge"]) -> None:
        await self._peer.call(c.Attend(kind=kind))

    async def approvals(self, session: str) -> list[Approval]:
        return await self._peer.call(c.ListApprovals(session=session))

    async def decide(self, request: Approval, session: str, decision: Decision) -> None:
        """Answer a request as it was shown, every field of it."""
        await self._peer.call(c.AnswerApproval(session=session, id=request.id, shown=shown(request), decision=decision))

    async def hand_over(self, session: str, mode: str, *, event_id: str = "") -> c.Submitted:
        """Carry out the plan of a read-only conversation in `mode`."""
        return await self._peer.call(c.HandOver(session=session, mode=mode, event_id=event_id or new_event_id()))

    async def rules(self) -> list[Rule]:
        return await self._peer.call(ListRules())

    async def add_rule(self, capability: str, pattern: str) -> Rule:
        return await self._peer.call(AddRule(capability=capability, pattern=pattern))

    async def revoke_rule(self, rule: str) -> Rule:
        return await self._peer.call(RevokeRule(id=rule))

    async def consent(self, allow: bool) -> None:
        await self._peer.call(c.Consent(allow=allow))

    async def accept_offer(self, offer: Literal["init", "first-commit"]) -> c.Status:
        """Do what the status offers about an unusable root."""
        return await self._peer.call(c.AcceptOffer(offer=offer))

    async def check_store(self) -> StoreReport:
        """Whether every conversation's log verifies, and what nobody owns."""
        return await self._peer.call(CheckStore(), timeout=None)

    async def old(self, days: int) -> list[OldLine]:
        """Conversations nobody wrote to for so many days, and what each keeps."""
        return await self._peer.call(ListOld(days=days), timeout=MERGE_S)

    async def prune_old(self, days: int, *, logs: bool = False) -> list[OldLine]:
        """Remove what they need not keep, archived ones whole with `logs`; what went."""
        return await self._peer.call(PruneOld(days=days, logs=logs), timeout=MERGE_S)

    async def read_clean(self, session: str, after: int = 0, limit: int = 500) -> list[Event]:
        """Events as they may be shown to others; none at the end of the log."""
        return (await self._peer.call(ReadClean(session=session, after=after, limit=limit))).events

    async def shutdown(self, wait_s: float = 0.0) -> int:
        """End the daemon, its turns having `wait_s` seconds to finish; how many run."""
        return await self._peer.call(c.Shutdown(wait_s=wait_s), timeout=10.0)

    async def events(
        self, session: str, after: int = 0, *, until: asyncio.Future[None] | None = None
    ) -> AsyncGenerator[c.EventStored, None]:
        """Every event of `session` after `after`, in order, without gaps: the log first, then live.

        Gaps in what the gateway tells are filled from the log, so a slow reader loses nothing. It goes on for ever, or to
        the end the log has once `until` is done.
        """
        ring = asyncio.Event()

        def note(tell: Tell) -> None:
            if isinstance(tell, c.EventStored) and tell.event.session == session:
                ring.set()

        unlisten = self.listen(note)
        if until is not None:
            until.add_done_callback(lambda _: ring.set())
        unwatch = self.lost(lambda _: ring.set())  # then the next read says so
        try:
            await self.subscribe(session)
            while True:
                ring.clear()
                last = until is not None and until.done()
                page = await self.read(session, after)
                for event in page.events:
                    after = event.seq
                    yield c.EventStored(event=event)
                if not page.events:
                    if last:
                        return
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(BACKSTOP_S):
                            await ring.wait()
        finally:
            unwatch()
            unlisten()
