"""What commands print: foreign text without control sequences, events as JSON lines."""

from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.events import Assistant, ChildSettled, ChildStarted, Event, Incident, ToolInvocation
from thetis_kernel.protocol.spending import Spent, spent_words
from thetis_kernel.protocol.wire import Tell

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """The text without characters that steer a terminal or turn its reading direction (newlines and tabs stay)."""
    return _CONTROL.sub("", text)


def event_line(event: Event) -> str:
    """One event as one line of JSON, its body as an object under "body"."""
    table: dict[str, Any] = {
        "session": event.session, "seq": event.seq, "event_id": event.event_id, "ts_ms": event.ts_ms, "kind": event.kind,
        "v": event.v, "hash": event.hash, "body": msgspec.Raw(event.raw),
    }
    return msgspec.json.encode(table).decode()


class Answer:
    """What `thetis run` shows of a turn: the streamed answer on standard output, remarks on standard error; or, with
    `json`, each event as a line on standard output and nothing else."""

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._streamed = ""
        self._waiting_for = ""
        self._children: dict[str, str] = {}
        self.session = ""

    def heard(self, tell: Tell) -> None:
        """Something the gateway tells besides events."""
        if self._json:
            return
        if isinstance(tell, c.Delta) and tell.session == self.session and tell.kind == "text":
            self._streamed += tell.text
            _out(plain(tell.text))
        elif isinstance(tell, c.Delta) and tell.session == self.session and tell.kind == "waiting":
            reason = tell.text.partition(" (")[0]
            if reason != self._waiting_for:  # told once, not each second of the countdown
                self._waiting_for = reason
                say(plain(tell.text))
        elif isinstance(tell, c.EventStored) and tell.event.session in self._children:
            self._of_child(self._children[tell.event.session], tell.event)
        elif isinstance(tell, c.Notice) and tell.level != "info":
            self.remark(f"{tell.level}: {tell.message} {tell.hint}".rstrip())

    def event(self, event: Event) -> None:
        """A durable event, in order."""
        if self._json:
            _out(event_line(event) + "\n")
            return
        match event.body:
            case Assistant(blocks=blocks):
                text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
                rest = text[len(self._streamed):] if text.startswith(self._streamed) else ""
                _out(plain(rest) + ("\n" if text else ""))
                self._streamed = ""
            case ToolInvocation() as call:
                self.remark(f"· {_called(call)}"[:160])
            case Incident(message=message):
                self.remark(f"incident: {message}")
            case ChildStarted(child=child, label=label, mode=mode):
                self._children[child] = label
                self.remark(f"+ [{label}] sub-agent {child[:8]} begun, mode {mode}")
            case ChildSettled(child=child) as settled:
                self._children.pop(child, None)
                self.remark(_settled(settled))
            case _:
                pass

    def _of_child(self, label: str, event: Event) -> None:
        """What a sub-agent does, a line a call."""
        body = event.body
        if isinstance(body, ToolInvocation):
            self.remark(f"  [{label}] {_called(body)}"[:160])

    def remark(self, text: str) -> None:
        """Words of strangers or of the gateway for the person."""
        say(plain(text))


def _called(call: ToolInvocation) -> str:
    shown = " ".join(str(value).replace("\n", " ") for value in call.args.values())
    return f"{call.name} {shown}"


def _settled(body: ChildSettled) -> str:
    """How a sub-agent ended, on one line."""
    spent = spent_words(sum(body.spent.values(), Spent()))
    facts = ", ".join(part for part in (f"{body.duration_ms / 1000:.1f} s", f"{body.steps} steps", spent) if part)
    return f"- [{body.label or body.child[:8]}] {body.state} ({facts}){f': {body.detail}' if body.detail else ''}"


def _out(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def say(text: str) -> None:
    """A remark for the person, on standard error."""
    print(text, file=sys.stderr, flush=True)
