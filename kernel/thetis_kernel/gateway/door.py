"""What clients may ask. One door for the screen, headless runs, bridges and tests; each request ends in one function here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from thetis_kernel.errors import Refused
from thetis_kernel.gateway.attachments import Attachments
from thetis_kernel.gateway.body.service import PERSONS
from thetis_kernel.gateway.branches.door import handlers as branch_handlers
from thetis_kernel.gateway.bridged import guarded
from thetis_kernel.gateway.broadcast import Hearer
from thetis_kernel.gateway.care.door import handlers as care_handlers
from thetis_kernel.gateway.children.door import handlers as child_handlers
from thetis_kernel.gateway.examining import examine
from thetis_kernel.gateway.settings import handlers as setting_handlers
from thetis_kernel.gateway.skills.door import handlers as skill_handlers
from thetis_kernel.gateway.terminals import handlers as terminal_handlers
from thetis_kernel.gateway.timemachine.door import handlers as timemachine_handlers
from thetis_kernel.gateway.words import sendable
from thetis_kernel.protocol import asking as a
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import queueing as q
from thetis_kernel.protocol.approvals import Rule
from thetis_kernel.protocol.blocks import RenderedEvent
from thetis_kernel.protocol.events import Approval, BlobRef, Question
from thetis_kernel.protocol.rules import AddRule, ListRules, RevokeRule
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.toolhost.devkit import CHANGING

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway

R = TypeVar("R")
DEVKIT_DEFAULTS = {"directory": "", "aspect": "", "revision": "", "offset": "1", "limit": "0", "requirement": "", "name": ""}
MAX_RENDER = 500
"""Events one render request may cover."""


def handlers(gateway: Gateway, hearer: Callable[[], Hearer]) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
    """The handlers of one client's channel; `hearer()` is that channel."""
    line = asyncio.Lock()

    async def in_line(
        id_or_prefix: str, do: Callable[[str], Coroutine[Any, Any, R]], first: Callable[[], Awaitable[None]] | None = None
    ) -> R:
        """`do(session)`, begun after what this client asked for before: requests are served side by side, but what a
        person says and stops must arrive as they said it. A client that goes away does not take it back."""
        async with line:
            session = await gateway.conversations.find(id_or_prefix)
            if first is not None:
                await first()
            doing = asyncio.ensure_future(do(session))
            await asyncio.sleep(0)  # it has its place in the conversation's own line now
        return await asyncio.shield(doing)

    def attended() -> bool:
        return gateway.broadcast.kind(hearer()) == "screen"

    def only_a_person(what: str) -> None:
        if gateway.broadcast.kind(hearer()) == "bridge":
            raise Refused(f"{what} is not changed over a bridge.", capability="config", hint="Do it on a screen of this machine.")

    async def attend(ask: c.Attend) -> None:
        gateway.broadcast.attend(hearer(), ask.kind)

    async def approvals(ask: c.ListApprovals) -> list[Approval]:
        return await gateway.approvals.open(await gateway.conversations.find(ask.session))

    async def answer(ask: c.AnswerApproval) -> None:
        only_a_person("A request for consent")
        session = await gateway.conversations.find(ask.session)
        await asyncio.shield(gateway.approvals.answer(session, ask.id, ask.shown, ask.decision))
        gateway.changed(session)

    async def hand_over(ask: c.HandOver) -> c.Submitted:
        only_a_person("A mode")
        session = await gateway.conversations.find(ask.session)
        await gateway.conversations.check_mode_change(session, ask.mode)
        seq, turn = await asyncio.shield(gateway.turns.hand_over(session, ask.mode, ask.event_id, attended=attended()))
        gateway.changed(session)
        return c.Submitted(seq=seq, how="turn", turn=turn)

    async def rules(_: ListRules) -> list[Rule]:
        return await gateway.rules.all()

    async def add_rule(ask: AddRule) -> Rule:
        only_a_person("A rule")
        return (await gateway.rules.add(ask.capability, [ask.pattern]))[0]

    async def revoke_rule(ask: RevokeRule) -> Rule:
        only_a_person("A rule")
        return await gateway.rules.revoke(ask.id)

    attachments = Attachments(gateway.log.store.blobs)

    async def status(ask: c.GetStatus) -> c.Status:
        return await gateway.status(walls=ask.walls)

    async def conversations(ask: c.ListConversations) -> list[c.Conversation]:
        return await gateway.conversations.all(ask.children)

    async def conversation(ask: c.GetConversation) -> c.Conversation:
        return await gateway.conversations.get(await gateway.conversations.find(ask.id))

    async def create(ask: c.CreateConversation) -> c.Conversation:
        await asyncio.to_thread(gateway.machines.keep_out)
        made = await gateway.conversations.create(ask.origin, ask.mode, ask.model)
        await gateway.bodies.merging.adopt(made.id)
        gateway.changed(made.id)
        gateway.expect_turn(made.id)
        return made

    async def submit(ask: c.Submit) -> c.Submitted:
        who = attended()
        attached: list[BlobRef] = []

        async def check() -> None:
            attached.extend(await attachments.checked(ask.attachments))

        seq, how, turn = await in_line(ask.session, lambda session: gateway.turns.submit(
            session, sendable(ask.text), ask.event_id, ask.with_changes, later=ask.later, alone=ask.alone, attended=who,
            attachments=attached), check)
        return c.Submitted(seq=seq, how=how, turn=turn)

    async def attach(ask: c.AttachFile) -> BlobRef:
        return await attachments.take(ask.path)

    async def queue(ask: q.GetQueue) -> list[q.QueuedWords]:
        return await in_line(ask.session, gateway.turns.queue.all)

    async def edit_queued(ask: q.EditQueued) -> None:
        await in_line(ask.session, lambda session: gateway.turns.queue.edit(session, ask.id, sendable(ask.text)))

    async def recall_queued(ask: q.RecallQueued) -> str:
        return await in_line(ask.session, lambda session: gateway.turns.queue.recall(session, ask.id))

    async def say_queued(ask: q.SayQueued) -> bool:
        who = attended()
        return await in_line(ask.session, lambda session: gateway.turns.say_queued(session, attended=who))

    async def stop(ask: c.Stop) -> bool:
        return await in_line(ask.session, gateway.turns.stop)

    async def resume(ask: c.Resume) -> bool:
        who = attended()
        return await in_line(ask.session, lambda session: gateway.turns.resume(session, attended=who))

    async def wait_idle(ask: c.WaitIdle) -> None:
        await gateway.turns.wait_idle(await gateway.conversations.find(ask.session))

    async def read(ask: c.ReadEvents) -> c.EventPage:
        session = await gateway.conversations.find(ask.session)
        gateway.broadcast.opened(hearer(), session)
        store = gateway.log.store
        events = await gateway.pages.read(session, ask.after, ask.limit)
        return c.EventPage(events=events, last_seq=await asyncio.to_thread(store.last_seq, session))

    async def render(ask: c.RenderEvents) -> list[RenderedEvent]:
        session = await gateway.conversations.find(ask.session)
        count = max(0, min(ask.upto - ask.after, MAX_RENDER))
        return await gateway.pages.draw(session, ask.after, ask.after + count)

    async def search(ask: c.Search) -> list[c.SearchHit]:
        hits = await asyncio.to_thread(gateway.log.store.search, ask.query, min(max(ask.limit, 1), 500), ask.session)
        return [c.SearchHit(session=h.session, seq=h.seq, kind=h.kind, snippet=h.snippet) for h in hits]

    async def diff(ask: c.GetDiff) -> c.DiffText:
        return await gateway.repository.diff(await gateway.conversations.find(ask.session))

    async def change(ask: c.ChangeSetting) -> None:
        session = await gateway.conversations.find(ask.session)
        if ask.name == "mode":
            only_a_person("A mode")
        await gateway.conversations.set(session, ask.name, ask.value)
        if ask.name == "mode":
            await gateway.turns.mode_changed(session)
        gateway.changed(session)

    async def delete(ask: c.DeleteConversation) -> None:
        session = await gateway.conversations.find(ask.session)
        await gateway.conversations.delete(session)
        await gateway.workers.discard(session)
        await gateway.timemachine.forget(session)

    async def examination(ask: c.Examine) -> c.Examination:
        return await examine(gateway, await gateway.conversations.find(ask.session))

    async def devkit(ask: c.DevKit) -> bytes:
        if ask.name in (*CHANGING, *PERSONS):
            only_a_person("A guest")
        session = await gateway.conversations.find(ask.session)
        arguments = msgspec.json.decode(ask.arguments, type=dict[str, str])
        answer = await gateway.bodies.perform(session, ask.name, {**DEVKIT_DEFAULTS, **arguments}, by="user")
        return msgspec.json.encode(answer)

    async def subscribe(ask: c.Subscribe) -> None:
        session = await gateway.conversations.find(ask.session) if ask.session else ""
        gateway.broadcast.subscribe(hearer(), session)

    async def questions(ask: a.ListQuestions) -> list[Question]:
        return await gateway.questions.open(await gateway.conversations.find(ask.session))

    async def answer_question(ask: a.AnswerQuestion) -> int:
        session, who = await gateway.conversations.find(ask.session), attended()
        seq = await asyncio.shield(gateway.questions.answer(session, ask.id, ask.answers, ask.event_id, attended=who))
        gateway.changed(session)
        return seq

    async def compact(ask: a.Compact) -> str:
        return await in_line(ask.session, lambda session: gateway.turns.compact(session, sendable(ask.hint) if ask.hint else ""))

    async def spending(ask: c.GetSpending) -> dict[str, Spent]:
        return (await gateway.log.state(await gateway.conversations.find(ask.session))).spent

    async def consent(ask: c.Consent) -> None:
        await gateway.consent.answer(ask.allow)

    async def accept_offer(ask: c.AcceptOffer) -> c.Status:
        await gateway.repository.accept(ask.offer)
        return await gateway.status()

    async def shutdown(ask: c.Shutdown) -> int:
        only_a_person("Whether the daemon runs")
        if gateway.holder not in ("daemon", "detached"):
            raise Refused("A screen or a run holds this root, and no daemon.", capability="control", hint="End that one instead.")
        gateway.request_close(ask.wait_s)
        return len(gateway.turns.all_running())

    async def origin(id_or_prefix: str) -> str:
        started = (await gateway.log.state(await gateway.conversations.find(id_or_prefix))).started
        return started.origin if started is not None else ""

    return guarded({
        c.GetStatus: status,
        c.ListConversations: conversations,
        c.GetConversation: conversation,
        c.CreateConversation: create,
        c.Submit: submit,
        c.AttachFile: attach,
        q.GetQueue: queue,
        q.EditQueued: edit_queued,
        q.RecallQueued: recall_queued,
        q.SayQueued: say_queued,
        c.Stop: stop,
        c.Resume: resume,
        c.WaitIdle: wait_idle,
        c.ReadEvents: read,
        c.RenderEvents: render,
        c.Search: search,
        c.GetDiff: diff,
        c.ChangeSetting: change,
        c.DeleteConversation: delete,
        c.Examine: examination,
        c.DevKit: devkit,
        c.Subscribe: subscribe,
        c.GetSpending: spending,
        c.Consent: consent,
        c.AcceptOffer: accept_offer,
        c.Attend: attend,
        c.ListApprovals: approvals,
        c.AnswerApproval: answer,
        c.HandOver: hand_over,
        ListRules: rules,
        AddRule: add_rule,
        RevokeRule: revoke_rule,
        c.Shutdown: shutdown,
        a.ListQuestions: questions,
        a.AnswerQuestion: answer_question,
        a.Compact: compact,
        **care_handlers(gateway, only_a_person),
        **skill_handlers(gateway, only_a_person),
        **setting_handlers(gateway, only_a_person),
        **branch_handlers(gateway, only_a_person),
        **timemachine_handlers(gateway, only_a_person),
        **terminal_handlers(gateway, only_a_person),
        **child_handlers(gateway.conversations.find, gateway.children),
    }, lambda: gateway.broadcast.kind(hearer()) == "bridge", origin)
