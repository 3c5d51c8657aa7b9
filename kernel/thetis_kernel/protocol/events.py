"""The event log's vocabulary: every kind of event as a closed, typed value.

An event's body is JSON with its kind under "kind". Stored events are read leniently: fields a newer version
added are ignored, a kind nobody here knows becomes `Unknown` and keeps its bytes. What a session *is* at any
moment is a fold over these values (store.folds); nothing else holds state.
"""

# ruff: noqa: RUF012 - msgspec copies an empty default for each event
from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, Union

import msgspec

from thetis_kernel.protocol.bodies import Answer as Answer
from thetis_kernel.protocol.bodies import Approval as Approval
from thetis_kernel.protocol.bodies import BlobRef as BlobRef
from thetis_kernel.protocol.bodies import Body as Body
from thetis_kernel.protocol.bodies import Question as Question
from thetis_kernel.protocol.bodies import Queued as Queued
from thetis_kernel.protocol.bodies import QueueEdited as QueueEdited
from thetis_kernel.protocol.bodies import QueueRecalled as QueueRecalled
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.protocol.spending import Usage as Usage

BODY_VERSION = 1
"""Stored with every row; raised when a kind changes meaning (fields may be added without raising it)."""


class SessionStarted(Body, frozen=True, tag="session-started"):
    """First event of a conversation. `origin`: tui, headless, discord, child. `parent`/`parent_seq`: of a fork or child.
    `tree`: the snapshot whose files a fork begins with, "" for those of its commit."""

    root: str
    origin: str
    mode: str
    model: str
    branch: str
    trunk: str = ""
    base: str = ""
    parent: str = ""
    parent_seq: int = 0
    relation: Literal["", "fork", "child"] = ""
    tree: str = ""


class User(Body, frozen=True, tag="user"):
    """What a person said, verbatim. `author` is set when a conversation has several people; `queued` names the words of
    the queue that are said with it, and no longer wait."""

    text: str
    attachments: list[BlobRef] = []
    author: str = ""
    with_changes: bool = False
    queued: str = ""


class Assistant(Body, frozen=True, tag="assistant"):
    """A model's reply: the provider's content blocks verbatim. `partial` when it was cut; `end` as protocol.models.End.

    `seen`: the last event the request covered (0: all before this one); what a person says while the model is writing is
    logged before the reply, but the reply does not answer it. `cost`: dollars, None when the price is not known. `tools`: how
    many were offered, their bytes, and both of all there are.
    """

    blocks: list[dict[str, Any]]
    model: str = ""
    end: str = "stop"
    partial: bool = False
    detail: str = ""
    usage: Usage = Usage()
    turn: str = ""
    seen: int = 0
    cost: Decimal | None = None
    tools: list[int] = []


class ToolInvocation(Body, frozen=True, tag="tool-invocation"):
    """A call is about to run. `call` is the model's call id (`origin` model) or the kernel's (`origin` agent).

    `op` is what the host runs: `files.read-file`, `terminal.run`, `tool:<name>`, ...
    """

    call: str
    name: str
    args: dict[str, Any]
    op: str
    mutating: bool
    turn: str = ""
    origin: Literal["model", "agent"] = "model"


class ToolResult(Body, frozen=True, tag="tool-result"):
    """How a call ended; exactly one for each invocation.

    `content` is text for the model, bounded; the whole is at `spill` when cut. `data` holds fields for machines
    (exit code, counts), `attachments` pictures and PDFs that belong to it. `outcome`: ok, error, refused, interrupted
    (outcome unknown), cancelled (did not run).
    """

    call: str
    outcome: Literal["ok", "error", "refused", "interrupted", "cancelled"]
    content: str
    data: dict[str, Any] = {}
    truncated: bool = False
    spill: str = ""
    duration_ms: int = 0
    turn: str = ""
    attachments: list[BlobRef] = []


class Nudge(Body, frozen=True, tag="nudge"):
    """Words that reach a running turn: a person's (`source` user) or the system's (`source` system)."""

    text: str
    source: Literal["user", "system"] = "user"
    turn: str = ""
    attachments: list[BlobRef] = []


class SystemNote(Body, frozen=True, tag="system-note"):
    """A remark for the model and the reader; `about` is a short tag such as limit, walls, restart."""

    text: str
    about: str = ""


SHIPPED = "shipped"
"""The revision of a guest as it came with Thetis."""
REFUSED = "refused"
"""The verdict of a modification that passed no gate."""


class Modification(Body, frozen=True, tag="modification"):
    """A guest or skill changed: `target` (aspect name), what serves now (`revision`, the digest of its source, or "shipped") and
    what served before (`previous`), the gate's verdict, by whom (agent, user, kernel), and the body's `commit` that holds it.

    With the verdict `REFUSED` nothing serves anew: a person's own edit did not pass, and `summary` says why.
    """

    target: str
    revision: str
    previous: str = ""
    verdict: str = ""
    by: str = ""
    summary: str = ""
    commit: str = ""


class Incident(Body, frozen=True, tag="incident"):
    """Something went wrong that a person should know: a stable `code`, a sentence, and fields."""

    code: str
    message: str
    data: dict[str, Any] = {}


class TurnStarted(Body, frozen=True, tag="turn-started"):
    """A turn begins. `attempt` counts automatic resumes of the same turn (0 = first). `purpose` is "compact" for one that only
    makes the conversation smaller, at a person's wish."""

    turn: str
    mode: str
    model: str
    attempt: int = 0
    purpose: str = ""


class TurnFinished(Body, frozen=True, tag="turn-finished"):
    """A turn ended; exactly one for each turn.

    `stopped_by`: stop, asked, limit, cancelled, repeated-failure, model-error, error, restarted. `detail` is a sentence.
    `guest_calls` counts the stores opened: one for each call of the agent or a tool guest. `spent`: what the turn used and
    cost, abandoned tries and automatic resumes included.
    """

    turn: str
    stopped_by: str
    detail: str = ""
    iterations: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    duration_ms: int = 0
    guest_calls: int = 0
    spent: Spent = Spent()


class Spending(Body, frozen=True, tag="spending"):
    """Tokens no reply of the log accounts for: `why` abandoned (a try that broke off and was made again, or one without
    anything to keep) or unrecorded (a reply the agent asked not to log). `cost` as in assistant."""

    model: str
    usage: Usage
    why: Literal["abandoned", "unrecorded"]
    turn: str = ""
    cost: Decimal | None = None


class Compaction(Body, frozen=True, tag="compaction"):
    """Which spans [first, last] (inclusive sequence numbers) a summary stands for. The log itself is never edited.

    `how`: summary (a model wrote it) or shed (none did, for the reason in `detail`). `why`: threshold, asked, overflow.
    `state`: mode, plan, todos, groups and live sub-agents as they stood then, restated for the model.
    """

    spans: list[tuple[int, int]]
    summary: str
    replaced: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    how: str = "summary"
    why: str = ""
    detail: str = ""
    state: str = ""


class BranchOp(Body, frozen=True, tag="branch-op"):
    """Something happened to the conversation's branch: `op` materialised, commit, update, merge, reset, ..."""

    op: str
    ok: bool
    before: str = ""
    after: str = ""
    detail: str = ""
    turn: str = ""
    data: dict[str, Any] = {}


class SettingChanged(Body, frozen=True, tag="setting-changed"):
    """A setting of this conversation: mode, model, title, archived, network. `by`: user or kernel."""

    name: str
    value: str
    by: str = "user"


class StateChanged(Body, frozen=True, tag="state-changed"):
    """A named piece of the conversation's state; `value` is JSON text, "" removes.

    `scope`: plan, todos, notes, groups, pins (guests a person pinned), kv:<guest>.
    """

    scope: str
    key: str
    value: str


class ChildStarted(Body, frozen=True, tag="child-started"):
    """A sub-agent was spawned from this conversation. `child` is the id of its own; `mode` and `model` are what it runs with."""

    child: str
    label: str
    task: str
    profile: str = ""
    mode: str = ""
    model: str = ""


class ChildSettled(Body, frozen=True, tag="child-settled"):
    """A sub-agent ended: `state` done, failed, cancelled; its last words, size-capped; `detail`: why. `spent`, by model, counts
    into this conversation from here on. `files`: what it wrote."""

    child: str
    state: str
    result: str
    detail: str = ""
    label: str = ""
    spent: dict[str, Spent] = {}
    steps: int = 0
    duration_ms: int = 0
    files: list[str] = []


class Rewind(Body, frozen=True, tag="rewind"):
    """The conversation goes on from `to_seq` (inclusive); later events are no longer projected. `tree` restores files too."""

    to_seq: int
    tree: str = ""


class Unknown(msgspec.Struct, frozen=True):
    """An event of a kind this version does not know: kept and passed on, never dropped."""

    kind: str
    raw: bytes


EventBody = Union[  # noqa: UP007 - msgspec wants a runtime Union it can build a decoder from
    SessionStarted, User, Assistant, ToolInvocation, ToolResult, Nudge, SystemNote, Modification, Incident,
    TurnStarted, TurnFinished, Compaction, BranchOp, SettingChanged, StateChanged, Approval, Question, Answer,
    ChildStarted, ChildSettled, Rewind, Spending, Queued, QueueEdited, QueueRecalled,
]
KINDS: dict[str, type[Body]] = {
    str(cls.__struct_config__.tag): cls
    for cls in (
        SessionStarted, User, Assistant, ToolInvocation, ToolResult, Nudge, SystemNote, Modification, Incident,
        TurnStarted, TurnFinished, Compaction, BranchOp, SettingChanged, StateChanged, Approval, Question, Answer,
        ChildStarted, ChildSettled, Rewind, Spending, Queued, QueueEdited, QueueRecalled,
    )
}
_TAGS = {cls: kind for kind, cls in KINDS.items()}
GUEST_MAY_APPEND = frozenset({"assistant", "system-note", "compaction", "state-changed"})
"""Kinds a guest may write through `session.append`; all others are the host's."""

_decoder: msgspec.json.Decoder[EventBody] = msgspec.json.Decoder(EventBody)
_encoder = msgspec.json.Encoder()


def kind_of(body: Body | Unknown) -> str:
    """The event's kind as the log has it."""
    return body.kind if isinstance(body, Unknown) else _TAGS[type(body)]


def encode_body(body: Body | Unknown) -> bytes:
    """JSON bytes of a body. Raises msgspec's encode errors on what JSON cannot hold (scrub first, see store.scrub)."""
    return body.raw if isinstance(body, Unknown) else _encoder.encode(body)


def decode_body(kind: str, raw: bytes) -> EventBody | Unknown:
    """The typed body; `Unknown` when the kind is not in `KINDS`. Raises
    msgspec.ValidationError when a known kind's fields do not fit: that is damage, not novelty.
    """
    if kind not in KINDS:
        return Unknown(kind, raw)
    return _decoder.decode(raw)


class Event(msgspec.Struct, frozen=True, gc=False):  # holds no containers, and logs are read by the 100,000
    """One stored event. `ts_ms` is for display only; `hash` is the chain's hex.

    `seq` counts from 1 in its session; a fork goes on counting from its parent's.
    """

    session: str
    seq: int
    event_id: str
    ts_ms: int
    kind: str
    v: int
    raw: bytes
    hash: str = ""

    @property
    def body(self) -> EventBody | Unknown:
        """The typed body, decoded at each access."""
        return decode_body(self.kind, self.raw)
