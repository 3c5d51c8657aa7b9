"""What commands print: foreign text without control sequences, events as JSON lines."""

from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

from thetis_kernel.protocol.events import Event

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


def say(text: str) -> None:
    """A remark for the person, on standard error."""
    print(text, file=sys.stderr, flush=True)
