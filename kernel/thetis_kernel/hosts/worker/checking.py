"""What the agent would ask the model next, judged without asking: the real guest over the real log.

Owns the imports of a turn that leaves no trace: the log is read as always, a turn that is not in it is put at its end, and
what the agent writes or runs stays here. The first question to the model is kept, and the answer is that the turn is
stopped; a summary it wants before that is not to be had, so that it sheds without one. Must not append, run or send anything.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from thetis_kernel.errors import GuestError, Refused, ThetisError
from thetis_kernel.hosts.worker.imports import MAX_PAGE, Import
from thetis_kernel.hosts.worker.journal import GatewayJournal
from thetis_kernel.protocol.events import Event, Nudge, User
from thetis_kernel.protocol.history import missing, violations
from thetis_kernel.protocol.worker import CheckHistory, HistoryChecked
from thetis_kernel.wasm.call import GuestCall
from thetis_kernel.wasm.limits import AGENT_LIMITS

if TYPE_CHECKING:
    from thetis_kernel.hosts.worker.runtimes import Runtimes
    from thetis_kernel.ipc.threads import ThreadPeer

_SHOWN = 60
"""Characters of a person's words in a finding."""


def check_history(ask: CheckHistory, peer: ThreadPeer, runtimes: Runtimes) -> HistoryChecked:
    """Have the agent make its next request twice and judge it. A failing guest is a finding, not an error."""
    journal = GatewayJournal(peer)
    try:
        said = _said(journal)
    except ThetisError as error:
        return HistoryChecked(findings=[f"The log cannot be read: {error.message}"])
    asked: list[_Unasked] = []
    for _ in range(2):
        turn = _Unasked(journal, ask.turn)
        call = GuestCall(runtimes.agent(), ask.agent.bundle, turn.imports(), AGENT_LIMITS)
        try:
            answer = call.run("handle-turn", ask.turn_json.decode())
        except GuestError as error:
            return HistoryChecked(findings=[f"The agent fails on this conversation: {error.message}"])
        if not turn.request:
            return HistoryChecked(findings=[f"The agent ends the turn without asking the model: {answer[:400]}"])
        asked.append(turn)
    first, second = asked
    try:
        messages = json.loads(first.request).get("messages")
    except (ValueError, RecursionError, AttributeError):
        return HistoryChecked(findings=["The agent's request is not a JSON object."], size=len(first.request))
    findings = [*first.findings, *violations(messages)]
    lost = missing(said, messages)
    findings += [f"The request does not hold, word for word and in order: {_shown(words)}" for words in lost]
    if first.request != second.request:
        findings.append("Made twice from the same log, the request is not the same.")
    count = len(messages) if isinstance(messages, list) else 0
    return HistoryChecked(findings=findings, messages=count, size=len(first.request), said=len(said))


class _Unasked:
    """One turn up to its first question. `request`: that question's JSON, "" when it never came; `findings`: what is wrong with
    requests for summaries before it.
    """

    def __init__(self, journal: GatewayJournal, turn: str) -> None:
        self.request = ""
        self.findings: list[str] = []
        self._journal = journal
        self._turn = turn
        self._own: list[dict[str, Any]] = []
        self._spans: list[tuple[int, int]] = []

    def imports(self) -> dict[str, Import]:
        """The agent's imports; those not here answer that they are not available."""
        inbox = {"cancelled": False, "nudges": [], "elapsed-ms": 0, "tokens": 0}
        return {
            "sys.kv-get": lambda key: "null",
            "sys.kv-put": lambda key, value: "null",
            "session.read": self._read,
            "session.append": self._append,
            "session.poll-inbox": lambda: json.dumps(inbox),
            "llm.complete": self._complete,
            "tooling.registry": lambda: "[]",
            "tooling.invoke-many": self._refuse,
        }

    def _read(self, after: int, max_bytes: int) -> str:
        page = self._journal.read(after, min(max(max_bytes, 1), MAX_PAGE))
        events: list[Any] = [
            {"seq": e.seq, "kind": e.kind, "ts_ms": e.ts_ms, "body": msgspec.Raw(e.raw)}
            for e in page.events
            if not self._shed(e.seq)
        ]
        last = page.events[-1].seq if page.events else after
        if page.end:
            if not self._own:
                self._put(last + 1, "turn-started", {"turn": self._turn})
            events += [event for event in self._own if event["seq"] > after]
            last = events[-1]["seq"] if events else after
        return msgspec.json.encode({"events": events, "next": last, "end": page.end}).decode()

    def _append(self, kind: str, body_json: str) -> str:
        seq = self._own[-1]["seq"] + 1 if self._own else 1 << 32
        body = json.loads(body_json)
        if kind == "compaction":
            self._spans += msgspec.convert(body.get("spans"), list[tuple[int, int]])
        self._put(seq, kind, body)
        return json.dumps({"seq": seq})

    def _put(self, seq: int, kind: str, body: Any) -> None:
        self._own.append({"seq": seq, "kind": kind, "ts_ms": 0, "body": body})

    def _shed(self, seq: int) -> bool:
        """Whether a compaction of this turn stands for the event."""
        return any(first <= seq <= last for first, last in self._spans)

    def _complete(self, request_json: str) -> str:
        request = json.loads(request_json)
        if not self.request and isinstance(request, dict) and request.get("purpose") == "summary":
            self.findings = self.findings or violations(request.get("messages"))
            return json.dumps({"seq": 0, "end": "error", "blocks": [], "usage": {}, "detail": "Only looked at."})
        self.request = self.request or request_json
        return json.dumps({"seq": 0, "end": "cancelled", "blocks": [], "usage": {}, "detail": "Only looked at."})

    def _refuse(self, calls_json: str) -> str:
        raise Refused("Nothing is run while a history is looked at.", capability="exec")


def _said(journal: GatewayJournal) -> list[str]:
    """A person's words in the log as it is projected, whatever the agent reads of it."""
    words: list[str] = []
    after, end = 0, False
    while not end:
        page = journal.read(after, MAX_PAGE)
        words += [said for event in page.events if (said := _words(event)).strip()]
        after, end = page.events[-1].seq if page.events else after, page.end or not page.events
    return words


def _words(event: Event) -> str:
    """What a person says in the event; "" for all others, and for one nobody can read."""
    try:
        body = event.body
    except msgspec.MsgspecError:
        return ""
    if isinstance(body, User) or (isinstance(body, Nudge) and body.source == "user"):
        return body.text
    return ""


def _shown(words: str) -> str:
    return repr(words if len(words) <= _SHOWN else words[:_SHOWN] + "...")
