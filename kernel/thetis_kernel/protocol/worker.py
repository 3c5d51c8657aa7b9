"""What gateway and worker ask of each other. A worker serves one conversation: which one, the gateway knows from the channel."""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.approvals import Part
from thetis_kernel.protocol.events import BlobRef, Event
from thetis_kernel.protocol.net import Fetched, Wanted
from thetis_kernel.protocol.recalling import RECALLING_ASKS
from thetis_kernel.protocol.wire import Ask, Tell

WORKER_MAY_APPEND = frozenset(
    {"assistant", "tool-invocation", "tool-result", "system-note", "compaction", "state-changed", "incident", "question"})
"""Kinds a worker may write. A person's words and the turn's own events are the gateway's alone."""


class GuestBundle(msgspec.Struct, frozen=True):
    """A guest as it will be called: aspect name, artifact key, bundle (base64), describe()'s JSON, its config block's JSON."""

    aspect: str
    key: str
    bundle: str
    describes: str = "{}"
    config: str = "{}"


class Place(msgspec.Struct, frozen=True):
    """Where a turn works and what confines it. Paths are absolute; `git_dirs` are shown read-only inside the walls.

    `readable_secrets`: globs of files for secrets that file tools may read all the same. `mode`, `read_only` and `ask` (the
    capabilities a person is asked about) say what the turn may do."""

    worktree: str
    workspace: str
    spill: str
    git_dirs: list[str]
    readable: list[str] = []
    read_only: bool = True
    mode: str = ""
    ask: list[str] = []
    network: bool = False
    unwalled: bool = False
    command_timeout_ms: int = 120_000
    readable_secrets: list[str] = []
    max_wait_s: int = 1_800


class TurnOutcome(msgspec.Struct, frozen=True):
    """How the agent's `handle-turn` ended. `failure` is the kind of GuestError, or "" when it returned.
    `stores`: how many were opened for guest calls during the turn."""

    stopped_by: str
    detail: str = ""
    iterations: int = 0
    failure: str = ""
    traceback: str = ""
    stuck: bool = False
    stores: int = 0


class SetUpDone(msgspec.Struct, frozen=True):
    """How the setup command ended: exit status (-1: it could not be run), the end of its output, milliseconds."""

    exit: int
    output: str
    duration_ms: int = 0


class SetUp(Ask[SetUpDone], frozen=True, tag="worker.set-up"):
    """Run the person's setup command in a new worktree, before its first turn. Withdrawing the request ends the command."""

    command: str
    place: Place


class RunTurn(Ask[TurnOutcome], frozen=True, tag="worker.run-turn"):
    """Run one turn. `turn_json` is the JSON object for handle-turn, which the worker completes with what lies in the checkout.

    `child`: the sub-agent whose turn it is, "" for the conversation's own; `label` is its name among those in the checkout.
    """

    turn: str
    turn_json: bytes
    agent: GuestBundle
    tools: list[GuestBundle]
    place: Place
    child: str = ""
    label: str = ""


class HistoryChecked(msgspec.Struct, frozen=True):
    """What is wrong with the agent's next request, a sentence each; its messages, its bytes, and how often a person spoke."""

    findings: list[str]
    messages: int = 0
    size: int = 0
    said: int = 0


class CheckHistory(Ask[HistoryChecked], frozen=True, tag="worker.check-history"):
    """Have the agent make the request of a turn that is not run, and judge it. Nothing is logged, run or sent."""

    turn: str
    turn_json: bytes
    agent: GuestBundle


class Probed(msgspec.Struct, frozen=True):
    """How the agent's `health` went: a kind of GuestError and its words, "" when it is well."""

    failure: str = ""
    detail: str = ""


class ProbeAgent(Ask[Probed], frozen=True, tag="worker.probe-agent"):
    """Ask the agent whether it is well. No turn: nothing is logged, run or sent."""

    agent: GuestBundle


class CancelTurn(Tell, frozen=True, tag="worker.cancel"):
    """Stop the turn: effects at once, the guest at its next import, by force after a grace."""

    turn: str


class Deliver(Tell, frozen=True, tag="worker.deliver"):
    """A nudge reached the running turn. `wakes`: it is worth ending a sleep for."""

    turn: str
    seq: int
    text: str
    wakes: bool = True


class ModeChanged(Tell, frozen=True, tag="worker.mode"):
    """The person changed the mode: from now on the turn's effects are judged by this."""

    turn: str
    mode: str
    read_only: bool
    ask: list[str]


class Ring(Tell, frozen=True, tag="worker.ring"):
    """A sub-agent has settled: who sleeps may look."""


class LogPage(msgspec.Struct, frozen=True):
    """Events in order; `end` when the log held no more."""

    events: list[Event]
    end: bool


class ReadLog(Ask[LogPage], frozen=True, tag="log.read"):
    """Projected events of the worker's conversation, or of its sub-agent `child`, after number `after`, about `max_bytes`."""

    after: int
    max_bytes: int
    child: str = ""


class AppendEvent(Ask[int], frozen=True, tag="log.append"):
    """Append one event of a kind in WORKER_MAY_APPEND; `body` is its JSON. Answers its seq once it is durable."""

    event_id: str
    kind: str
    body: bytes
    child: str = ""


class KeepMedia(Ask[BlobRef | None], frozen=True, tag="blob.keep"):
    """A part of a picture or PDF for the conversation's blobs, at most MAX_PART bytes; the `last` one is answered with the
    reference. One upload at a time."""

    part: bytes
    last: bool
    name: str
    child: str = ""


MAX_PART = 4 * 1024 * 1024


class ReadState(Ask[dict[str, str]], frozen=True, tag="log.state"):
    """The fold's values of one scope (notes, kv:<guest>): JSON text by key."""

    scope: str
    child: str = ""


class CompleteModel(Ask[bytes], frozen=True, tag="llm.complete"):
    """Run a completion for the turn; `request` as the contract's llm.complete. Answers its JSON.

    With `record` the gateway appends the assistant event before it answers.
    """

    turn: str
    request: bytes
    record: bool


class ConsentUnwalled(Ask[bool], frozen=True, tag="walls.consent"):
    """No walls here: may commands run without them? Waits for the person when there is one to ask."""


class Verdict(msgspec.Struct, frozen=True):
    """Whether the effect may happen; `reason` is a sentence for the model when it may not, `asked` whether a person was."""

    allowed: bool
    reason: str = ""
    asked: bool = False


class AskApproval(Ask[Verdict], frozen=True, tag="authority.ask"):
    """May this happen? Waits for the person when no rule covers it and there is somebody to ask.

    Fields as in the `approval` event; `effect` is the digest of the whole of it, `rememberable` whether an answer may be
    kept for longer than once.
    """

    turn: str
    call: str
    capability: str
    what: str
    where: str
    detail: str
    cut: int
    parts: list[Part]
    effect: str
    rememberable: bool


class FetchHttp(Ask[Fetched], frozen=True, tag="worker.fetch-http"):
    """A tool's request to the network. `tool`: whose list of hosts counts; the list itself is the gateway's."""

    tool: str
    wanted: Wanted
    child: str = ""


class DevKitAnswer(msgspec.Struct, frozen=True):
    """`data` is the operation's JSON. `tool`, `more`: tools that serve from now on; `gone`: the name of one that does no more."""

    data: bytes
    tool: GuestBundle | None = None
    gone: str = ""
    more: list[GuestBundle] = []


class AskDevKit(Ask[DevKitAnswer], frozen=True, tag="worker.devkit"):
    """An operation of the contract's `devkit`, `name` without the interface, `arguments` as JSON. The turn has permitted it."""

    turn: str
    name: str
    arguments: bytes


class AskBranch(Ask[bytes], frozen=True, tag="worker.branch"):
    """An operation of the contract's `branch`, as AskDevKit; the answer is JSON. Only the conversation's own turn moves it."""

    turn: str
    name: str
    arguments: bytes


class AskAgents(Ask[bytes], frozen=True, tag="worker.agents"):
    """An operation of the contract's `agents`, or `look`; `arguments` and the answer are JSON. Refused in a sub-agent's turn."""

    turn: str
    name: str
    arguments: bytes


class Output(Tell, frozen=True, tag="worker.output"):
    """Live output of a running command."""

    call: str
    text: str
    child: str = ""


class Notice(Tell, frozen=True, tag="worker.notice"):
    """Something the agent should hear of happened between its calls: a background command of a terminal ended.

    `child`: the sub-agent that should hear it; one that has settled is not told.
    """

    text: str
    child: str = ""


TO_WORKER_ASKS = (RunTurn, CheckHistory)
TO_WORKER_TELLS = (CancelTurn, Deliver, Ring, ModeChanged)
FROM_WORKER_ASKS = (
    KeepMedia, ReadLog, AppendEvent, ReadState, CompleteModel, ConsentUnwalled, AskApproval, FetchHttp, AskDevKit, AskAgents,
    AskBranch,
    *RECALLING_ASKS)
FROM_WORKER_TELLS = (Output, Notice)
