"""What commands print: foreign text without control sequences, events as JSON lines."""

from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.events import Assistant, Event, Incident, ToolInvocation
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
            case ToolInvocation(name=name, args=args):
                shown = " ".join(str(value).replace("\n", " ") for value in args.values())
                self.remark(f"· {name} {shown}"[:160])
            case Incident(message=message):
                self.remark(f"incident: {message}")
            case _:
                pass

    def remark(self, text: str) -> None:
        """Words of strangers or of the gateway for the person."""
        say(plain(text))


def _out(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def say(text: str) -> None:
    """A remark for the person, on standard error."""
    print(text, file=sys.stderr, flush=True)
