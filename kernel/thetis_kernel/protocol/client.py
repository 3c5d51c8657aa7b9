"""What a client (screen, headless run, test, bridge) may ask the gateway, and what the gateway tells it.

One door for all of them: over an in-memory pair in one process, or the control socket. Deltas may drop; events never
do: a client that sees a gap in `EventStored.event.seq` reads on from the log with `ReadEvents`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.approvals import Decision
from thetis_kernel.protocol.asking import ASKING_ASKS
from thetis_kernel.protocol.blocks import RenderedEvent
from thetis_kernel.protocol.care import CARE_ASKS
from thetis_kernel.protocol.children import CHILD_ASKS, ChildLine
from thetis_kernel.protocol.events import Approval, BlobRef, Event
from thetis_kernel.protocol.models import ModelInfo
from thetis_kernel.protocol.queueing import QUEUE_ASKS
from thetis_kernel.protocol.rules import RULE_ASKS
from thetis_kernel.protocol.settings import SETTING_ASKS
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.protocol.terminals import TERMINAL_ASKS
from thetis_kernel.protocol.wire import Ask, Tell

State = Literal["idle", "running", "interrupted", "damaged", "parked"]
"""interrupted: a turn was cut, or none was begun for the last words; it can be resumed. parked: its worker died too
often. damaged: its chain is broken."""

Holder = Literal["screen", "run", "daemon", "detached"]


class Conversation(msgspec.Struct, frozen=True):
    """One line of the list. `branch`: from the first message on; `worktree`: once on disk; `asking`: open requests, questions.

    `spent`: what it used and cost until now; `turn_spent`: the running turn's part of that, or the last one's.
    `network`: a person switched the network of its commands on. `children`: its sub-agents at work; `parent`: of a sub-agent.
    """

    id: str
    title: str
    mode: str
    model: str
    state: State
    branch: str
    worktree: str
    created_ms: int
    updated_ms: int
    last_seq: int
    preview: str = ""
    archived: bool = False
    asking: int = 0
    spent: Spent = Spent()
    turn_spent: Spent = Spent()
    network: bool = False
    children: list[ChildLine] = []
    parent: str = ""


class ModeInfo(msgspec.Struct, frozen=True):
    """A mode a person can choose. In a read-only one nothing changes by any route, in one that `asks` nothing unasked."""

    id: str
    label: str
    read_only: bool
    description: str = ""
    asks: bool = False


class Status(msgspec.Struct, frozen=True):
    """What the gateway is working with. `walls`: bubblewrap, landlock, none, unknown; `walls_hint`: the install line when none.

    `consent`: whether unwalled commands were allowed for this root: "", allow, deny. `notices`: sentences to show once.
    `root_problem`: why no turn can run here, "" when one can; `root_offer`: what `AcceptOffer` would do about it (init,
    first-commit), "" for nothing. `safe`: only shipped guests serve. `pid` is the gateway's process, `holder` what keeps it
    going: a screen, a headless run, the daemon, or nothing but what runs in it, after its screen went (detached).
    """

    version: str
    root: str
    root_kind: str
    trunk: str
    walls: str
    walls_sentence: str
    walls_hint: str
    consent: str
    models: list[ModelInfo]
    modes: list[ModeInfo]
    default_model: str
    default_mode: str
    notices: list[str]
    uncommitted: int = -1
    root_problem: str = ""
    root_offer: str = ""
    safe: bool = False
    pid: int = 0
    holder: Holder = "run"


class Submitted(msgspec.Struct, frozen=True):
    """Where the words went: a new turn, a nudge into the running one, or the queue. `seq` is durable."""

    seq: int
    how: Literal["turn", "nudge", "queue"]
    turn: str


class EventPage(msgspec.Struct, frozen=True):
    """Events after the asked seq; `last_seq` is the log's end when the page was read."""

    events: list[Event]
    last_seq: int


class SearchHit(msgspec.Struct, frozen=True):
    """A place where the searched words stand."""

    session: str
    seq: int
    kind: str
    snippet: str


class DiffText(msgspec.Struct, frozen=True):
    """The conversation's branch against its base: unified patch (bounded, `truncated`), and (path, added, removed)."""

    patch: str
    files: list[tuple[str, int, int]]
    truncated: bool = False


class Examination(msgspec.Struct, frozen=True):
    """A conversation looked at: what is wrong with its `chain` and with the `history` the agent would send, a sentence each.

    `messages`, `size` (bytes), `said` (how often a person spoke) describe that request; 0 when there is none. `unseen`: why
    the history was not looked at, "" when it was.
    """

    conversation: Conversation
    chain: list[str] = []
    history: list[str] = []
    unseen: str = ""
    messages: int = 0
    size: int = 0
    said: int = 0


class GetStatus(Ask[Status], frozen=True, tag="client.status"):
    """The gateway's surroundings. `walls` false leaves them out ("unknown"): finding out runs two small commands."""

    walls: bool = True


class ListConversations(Ask[list[Conversation]], frozen=True, tag="client.list"):
    """All conversations of the root, newest first; with `children` those of sub-agents too."""

    children: bool = False


class GetConversation(Ask[Conversation], frozen=True, tag="client.conversation"):
    """One conversation by id or an unambiguous prefix of at least 4 characters."""

    id: str


class CreateConversation(Ask[Conversation], frozen=True, tag="client.create"):
    """A new conversation; nothing touches the repository before its first message. "" = the defaults."""

    origin: Literal["tui", "headless", "discord"]
    mode: str = ""
    model: str = ""


class Submit(Ask[Submitted], frozen=True, tag="client.submit"):
    """A person's words. Answered when they are durable. The same `event_id` twice is one message.

    `with_changes`: copy the root's uncommitted changes into the new branch (first message only). `later`: while a turn
    runs or words wait, wait in the queue instead of reaching the running turn. `alone`: the queue does not go on after it.
    `attachments` as `AttachFile` answered them.
    """

    session: str
    text: str
    event_id: str
    with_changes: bool = False
    later: bool = False
    alone: bool = False
    attachments: list[BlobRef] = msgspec.field(default_factory=list)


class AttachFile(Ask[BlobRef], frozen=True, tag="client.attach"):
    """Keep a picture or PDF at an absolute path of this machine, to be sent with words. Judged by its content."""

    path: str


class Stop(Ask[bool], frozen=True, tag="client.stop"):
    """Stop the running turn; True when there was one. Outranks everything else."""

    session: str


class Resume(Ask[bool], frozen=True, tag="client.resume"):
    """Go on with an interrupted turn; False when there is nothing to resume."""

    session: str


class WaitIdle(Ask[None], frozen=True, tag="client.wait-idle"):
    """Answered when the conversation has no running turn."""

    session: str


class ReadEvents(Ask[EventPage], frozen=True, tag="client.read"):
    """Events with seq > `after`, at most `limit` and about 1 MiB."""

    session: str
    after: int = 0
    limit: int = 500


class RenderEvents(Ask[list[RenderedEvent]], frozen=True, tag="client.render"):
    """The blocks of the events (`after`, `upto`], through the conversation's renderer or the plain one."""

    session: str
    after: int
    upto: int


class Search(Ask[list[SearchHit]], frozen=True, tag="client.search"):
    """Full-text search over all conversations of the root, or in `session` alone; newest first."""

    query: str
    limit: int = 50
    session: str = ""


class GetDiff(Ask[DiffText], frozen=True, tag="client.diff"):
    """What the conversation has changed."""

    session: str


class ChangeSetting(Ask[None], frozen=True, tag="client.set"):
    """Change `mode`, `model`, `title` or `archived` (value "true"/"false")."""

    session: str
    name: str
    value: str


class DeleteConversation(Ask[None], frozen=True, tag="client.delete"):
    """Remove a conversation's log (a tombstone stays). Its branch is kept."""

    session: str


class Examine(Ask[Examination], frozen=True, tag="client.examine"):
    """Check a conversation's log, and the request its agent would make next; no model is asked, nothing is changed."""

    session: str


class DevKit(Ask[bytes], frozen=True, tag="client.devkit"):
    """A person's look at, or change to, the guests of a conversation: the operations of the contract's `devkit`, and `diff`.

    `arguments` and the answer are JSON.
    """

    session: str
    name: str
    arguments: bytes


class Subscribe(Ask[None], frozen=True, tag="client.subscribe"):
    """From now on tell this client what happens in `session` ("" = every conversation)."""

    session: str = ""


class GetSpending(Ask[dict[str, Spent]], frozen=True, tag="client.spending"):
    """What a conversation used and cost, by model."""

    session: str


class Attend(Ask[None], frozen=True, tag="client.attend"):
    """Who this client is: a `screen` with a person who can be asked, a headless `run`, or a `bridge` to other people's chats.

    A bridge changes no mode, answers no request and makes no rule.
    """

    kind: Literal["screen", "run", "bridge"]


class ListApprovals(Ask[list[Approval]], frozen=True, tag="client.approvals"):
    """The open requests of a conversation, oldest first."""

    session: str


class AnswerApproval(Ask[None], frozen=True, tag="client.answer"):
    """A person's decision about one request. `shown`: protocol.approvals.shown of what they were shown; another is refused."""

    session: str
    id: str
    shown: str
    decision: Decision


class HandOver(Ask[Submitted], frozen=True, tag="client.hand-over"):
    """Carry out the plan of a read-only conversation: keep it, change to `mode`, and begin a turn, in one step."""

    session: str
    mode: str
    event_id: str


class Consent(Ask[None], frozen=True, tag="client.consent"):
    """A person's answer, for this root, to running commands without walls."""

    allow: bool


class AcceptOffer(Ask[Status], frozen=True, tag="client.accept-offer"):
    """A person agreed to `Status.root_offer`: do it, and say how the root stands then."""

    offer: Literal["init", "first-commit"]


class Shutdown(Ask[int], frozen=True, tag="client.shutdown"):
    """End a gateway nobody sits at: no new turn begins, running ones have `wait_s` seconds for their end and are parked then.
    Answered at once, with how many turns run. Refused where a screen or a run holds the gateway."""

    wait_s: float = 0.0


class EventStored(Tell, frozen=True, tag="client.event"):
    """A durable event."""

    event: Event


class Delta(Tell, frozen=True, tag="client.delta"):
    """Something that streams by: `kind` text, thinking, tool-call, output (of a running command), waiting. May drop.

    `call` is the tool call it belongs to, when it does; `stream` tells one model reply from the next.
    """

    session: str
    kind: str
    text: str
    call: str = ""
    stream: str = ""


class StateChanged(Tell, frozen=True, tag="client.state"):
    """A conversation's line in the list changed."""

    conversation: Conversation


class Progress(Tell, frozen=True, tag="client.progress"):
    """Long work with a known size: `what` is a sentence, `total` 0 when unknown. `done == total` ends it."""

    what: str
    done: int
    total: int
    session: str = ""


class Notice(Tell, frozen=True, tag="client.notice"):
    """A sentence for the person. `level`: info, warn, error. `hint` says what to do."""

    level: str
    message: str
    hint: str = ""
    session: str = ""


class WallsQuestion(Tell, frozen=True, tag="client.walls-question"):
    """A command wants to run and this root has no walls and no answer yet: ask the person once, answer with `Consent`."""

    hint: str


CLIENT_ASKS = (
    GetStatus, ListConversations, GetConversation, CreateConversation, Submit, Stop, Resume, WaitIdle, ReadEvents,
    RenderEvents, Search, GetDiff, ChangeSetting, DeleteConversation, Examine, Subscribe, GetSpending, AttachFile,
    *QUEUE_ASKS, *CARE_ASKS, *CHILD_ASKS, *ASKING_ASKS, DevKit, Consent, AcceptOffer, Shutdown, Attend, ListApprovals,
    AnswerApproval, HandOver, *RULE_ASKS, *SETTING_ASKS, *TERMINAL_ASKS,
)
CLIENT_TELLS = (EventStored, Delta, StateChanged, Progress, Notice, WallsQuestion)
