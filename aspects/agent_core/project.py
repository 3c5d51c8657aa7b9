"""The projection: events of the log in, messages of the Messages API out.

Owns what the model sees of the log and that it is a valid request for any log: cut anywhere, parallel calls, partial
replies, failures, unknown kinds, results without calls. A pure fold: an event only ever adds to the end, so the
messages of one request are the beginning of the next one's and the provider's cache keeps hitting; a compaction alone
is laid out further up, where the events it stands for were. Must not read anything but the events given, and must not
know the turn loop.
"""

from __future__ import annotations

from typing import Any

import markers
from cutting import head
from formats import result_text
from pictures import attached
from reply import Ids, legal_blocks
from thetis_guest.lenient import flag, mapping, number, objects, parsed, strings, text

LATE_RESULT_CHARS = 8_000
"""A result that came after its place in the history was closed is quoted up to here."""
GOOD_ENDS = ("stop", "tool-use", "max-tokens", "refusal")
INTERRUPTIONS = ("stop", "restart")
"""What the host's notes about an interruption are about; they say it, so nothing else needs to."""


Said = str | dict[str, Any]
"""Words of the user's message, or a block as it stands."""


class Call:
    """One tool_use of the newest assistant message and what is known of its answer."""

    def __init__(self, raw: str, wire: str, name: str) -> None:
        self.raw = raw
        self.wire = wire
        self.name = name
        self.op = ""
        self.args: dict[str, Any] = {}
        self.begun = False
        self.answer: tuple[str, bool] | None = None
        self.shown: list[dict[str, Any]] = []
        """Pictures and PDFs that belong to the answer."""
        self.loads: list[str] = []
        """Deferred tools whose definitions the answer brings."""

    def block(self) -> dict[str, Any]:
        """The tool_result; a synthetic one where the log has none."""
        content, ok = self.answer or (markers.UNKNOWN_OUTCOME if self.begun else markers.NOT_RUN, False)
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": self.wire, "content": content}
        if self.shown or self.loads:
            references = [{"type": "tool_reference", "tool_name": name} for name in self.loads]
            block["content"] = [{"type": "text", "text": content}, *self.shown, *references]
        if not ok:
            block["is_error"] = True
        return block


class Projector:
    """Feed it events in order; `messages()` is the request's history at any moment.

    `model`: the id of the model that will be asked; only its own thinking is sent back to it. `deferred`: the tools whose
    definitions a result must refer to before the model sees them.
    """

    def __init__(self, model: str, deferred: frozenset[str] = frozenset()) -> None:
        self.deferred = deferred
        self._model = model
        self._ids = Ids()
        self._closed: list[dict[str, Any]] = []
        self._calls: list[Call] = []
        self._texts: list[tuple[int, Said]] = []
        self._unanswered: dict[str, Call] = {}
        self._answered: set[str] = set()
        self._agents_own: set[str] = set()
        self._authors: set[str] = set()
        self._told = False
        """Whether the interruption of this turn stands in the history."""
        self._places: list[tuple[int, list[int]]] = []
        """For each closed message of the user: the number of the reply after it, and those of its texts."""
        self._last = 0

    def feed(self, event: dict[str, Any]) -> None:
        """Take the next event. Kinds that say nothing to a model, and kinds nobody here knows, change nothing."""
        body = mapping(event, "body")
        kind = text(event, "kind")
        seq = number(event, "seq")
        if seq <= self._last:
            # Not simply the next event: what a fork inherited ends here, or a summary stood in the place of older events.
            self._texts = [(0, words) for _, words in self._texts]
        self._last = seq
        if kind == "user":
            self._say(seq, self._user(body))
            self._show(seq, body)
        elif kind == "assistant":
            self._assistant(seq, body)
        elif kind == "tool-invocation":
            self._invocation(body)
        elif kind == "tool-result":
            self._result(seq, body)
        elif kind == "nudge":
            self._nudge(seq, body)
        elif kind == "system-note" and text(body, "text").strip():
            self._note(seq, body)
        elif kind == "compaction":
            self._compaction(seq, body)
        elif kind == "turn-started" and text(body, "purpose") != "compact":
            self._told = False
            if self._closed and not self._calls and not self._texts:
                self._say(seq, markers.CONTINUE)  # asked to go on without a word: said once, where it stays
        elif kind == "turn-finished":
            self._finished(seq, body)
        elif kind == "answer":
            self._say(seq, _answers(body))

    def messages(self) -> list[dict[str, Any]]:
        """The whole history, ending in a user message; the newest round is closed in the copy only."""
        return [*self._closed, self._user_message(self._texts)]

    # -- what each kind does

    def _say(self, seq: int, words: str) -> None:
        self._texts.append((seq, words))

    def _show(self, seq: int, body: dict[str, Any]) -> None:
        self._texts += [(seq, block) for block in attached(body)]

    def _user(self, body: dict[str, Any]) -> str:
        words = text(body, "text")
        if not words.strip():
            words = markers.EMPTY_MESSAGE
        for attachment in objects(body, "attachments"):
            name = text(attachment, "name") or text(attachment, "digest")
            words += f"\n\n[attachment: {name}, {text(attachment, 'media_type')}, {number(attachment, 'size')} bytes]"
        author = text(body, "author")
        if author:
            self._authors.add(author)
        return f"[{author}] {words}" if author and len(self._authors) > 1 else words

    def _nudge(self, seq: int, body: dict[str, Any]) -> None:
        said = text(body, "text")
        if text(body, "source", "user") != "system":
            self._say(seq, markers.nudge(said if said.strip() else markers.EMPTY_MESSAGE))
            self._show(seq, body)
        elif said.strip():
            self._say(seq, markers.note(said))

    def _note(self, seq: int, body: dict[str, Any]) -> None:
        if text(body, "about") in INTERRUPTIONS:
            if self._told:
                return
            self._told = True
        self._say(seq, markers.note(body["text"]))

    def _compaction(self, seq: int, body: dict[str, Any]) -> None:
        """The summary stands where its first span began, so that the last words said stay the last."""
        began = _began(body, seq)
        words = _summary(body)
        for place, (reply, texts) in enumerate(self._places):
            if reply > began:
                at = next((n for n, said in enumerate(texts) if said > began), len(texts))
                content = self._closed[2 * place]["content"]
                content.insert(len(content) - len(texts) + at, {"type": "text", "text": words})
                texts.insert(at, began)
                return
        at = next((n for n, (said, _) in enumerate(self._texts) if said > began), len(self._texts))
        self._texts.insert(at, (began, words))

    def _assistant(self, seq: int, body: dict[str, Any]) -> None:
        cut = flag(body, "partial") or text(body, "end", "stop") not in GOOD_ENDS
        own = not cut and text(body, "model") == self._model
        pairs = legal_blocks(objects(body, "blocks"), self._ids, own)
        if not pairs:
            return
        # What was said while the model was already writing is not what it answered: it belongs after the reply.
        seen = number(body, "seen")
        late = [item for item in self._texts if seen and item[0] > seen]
        self._close(seq, [item for item in self._texts if not seen or item[0] <= seen])
        self._closed.append({"role": "assistant", "content": [block for block, _ in pairs]})
        self._calls = [Call(raw, block["id"], block["name"]) for block, raw in pairs if block["type"] == "tool_use"]
        self._texts = late
        if cut and not self._told:
            self._told = True
            why = text(body, "detail") or text(body, "end") or "interrupted"
            self._texts.insert(0, (0, markers.note(f"The reply above was cut off: {why}")))

    def _invocation(self, body: dict[str, Any]) -> None:
        raw = text(body, "call")
        if text(body, "origin", "model") == "agent":
            self._agents_own.add(raw)
            return
        for call in self._calls:
            if call.raw == raw and not call.begun and call.answer is None:
                call.begun = True
                call.op = text(body, "op")
                call.args = mapping(body, "args")
                return

    def _result(self, seq: int, body: dict[str, Any]) -> None:
        raw = text(body, "call")
        for call in self._calls:
            if call.raw == raw and call.answer is None:
                call.answer = result_text(call.op, call.args, body), text(body, "outcome") == "ok"
                call.shown = attached(body) if call.answer[1] else []
                call.loads = self._loads(call, text(body, "content"))
                self._answered.add(raw)
                return
        if raw in self._agents_own:
            return
        late = self._unanswered.pop(raw, None)
        if late is None and raw in self._answered:
            return
        self._answered.add(raw)
        name = late.name if late else "an earlier tool"
        content = head(result_text(late.op if late else "", late.args if late else {}, body), LATE_RESULT_CHARS)
        self._say(seq, markers.note(f"The result of a call of {name} arrived late:\n{markers.fenced(content)}"))

    def _loads(self, call: Call, content: str) -> list[str]:
        """The deferred tools a search for tools has loaded."""
        told = parsed(content) if self.deferred and call.name == "tool_search" and content[:1] == "{" else None
        return [name for name in dict.fromkeys(strings(told, "tools")) if name in self.deferred]

    def _finished(self, seq: int, body: dict[str, Any]) -> None:
        why = text(body, "stopped_by", "stop")
        told, self._told = self._told, False
        if told or why in ("stop", "asked", "restarted"):
            return  # nothing went wrong, or one record of the interruption stands already
        reason = "the person stopped it" if why == "cancelled" else text(body, "detail") or why
        self._say(seq, markers.note(f"The turn ended early: {reason}"))

    # -- building messages

    def _close(self, reply: int, texts: list[tuple[int, Said]]) -> None:
        message = self._user_message(texts)
        self._closed.append(message)
        # A message without anything to say gets a text of its own, which has no number.
        self._places.append((reply, [said for said, _ in texts] or [0] * (len(message["content"]) - len(self._calls))))
        for call in self._calls:
            if call.answer is None:
                self._unanswered[call.raw] = call

    def _user_message(self, texts: list[tuple[int, Said]]) -> dict[str, Any]:
        content: list[dict[str, Any]] = [call.block() for call in self._calls]
        content += [words if isinstance(words, dict) else {"type": "text", "text": words} for _, words in texts]
        if not content:
            words = markers.CONTINUE if self._closed else markers.BEGINNING
            content.append({"type": "text", "text": words})
        return {"role": "user", "content": content}


def project(events: list[dict[str, Any]], model: str) -> list[dict[str, Any]]:
    """The messages of a log as `session.read` gives it: in the order of the log, compacted spans left out."""
    projector = Projector(model)
    for event in events:
        projector.feed(event)
    return projector.messages()


def _began(body: dict[str, Any], seq: int) -> int:
    """The first number the compaction at `seq` stands for; `seq` itself where it names none."""
    return min((first for first, last in _spans(body) if last < seq), default=seq)


def _spans(body: dict[str, Any]) -> list[tuple[int, int]]:
    """The spans that are spans; an agent wrote them."""
    spans = body.get("spans")
    pairs = [span for span in spans if isinstance(span, list) and len(span) == 2] if isinstance(spans, list) else []
    return [(first, last) for first, last in pairs if type(first) is int and type(last) is int and 1 <= first <= last]


def _summary(body: dict[str, Any]) -> str:
    replaced = number(body, "replaced")
    spans = ", ".join(f"{first}-{last}" for first, last in _spans(body)) or "unknown"
    told = f"{replaced or 'Earlier'} messages of this conversation (events {spans}) are summed up here; recall_span reads them."
    return markers.note("\n".join(filter(None, [told, text(body, "summary"), text(body, "state")])))


def _answers(body: dict[str, Any]) -> str:
    lines = ["The person answered your questions:"]
    for answer in objects(body, "answers"):
        if text(answer, "question") and text(answer, "answer"):
            lines.append(f"- {text(answer, 'question')}\n  {text(answer, 'answer')}")
        else:
            lines.append("- " + "; ".join(f"{key}: {value}" for key, value in answer.items()))
    return markers.note("\n".join(lines))
