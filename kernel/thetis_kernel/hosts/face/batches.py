"""Events as a guest is given them, and a guest's answer as blocks: the two ends of one render call. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from thetis_kernel.protocol.blocks import RenderedEvent, bounded
from thetis_kernel.protocol.face import FaceEvent
from thetis_kernel.wasm.hygiene import json_text, too_deep

MAX_EVENTS = 50
"""Of one guest call: fifty take 5 ms together and 230 ms one by one (measured.md)."""
MAX_BATCH = 1 << 20
"""Characters of one call's JSON."""
MAX_BODY = 256 * 1024
"""Bytes of a body a guest is given; larger ones are left to the plain renderer, which shows their beginning."""

_raws = msgspec.json.Decoder(list[msgspec.Raw])
_rendered = msgspec.json.Decoder(RenderedEvent)
_BAD_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

Entry = tuple[int, str]
"""An event's sequence number and its JSON."""


def entries(events: Iterable[FaceEvent]) -> list[Entry]:
    """The events a guest can be given, each as JSON; bodies that are too large, too deep or no JSON are left out."""
    found = []
    for event in events:
        if len(event.body) > MAX_BODY:
            continue
        try:
            msgspec.json.decode(event.body)
            body = event.body.decode()
            head = msgspec.json.encode({"seq": event.seq, "kind": event.kind, "ts_ms": event.ts_ms}).decode()
        except _BAD_JSON:
            continue
        text = f'{head[:-1]},"body":{body}}}'
        if not too_deep(f"[{text}]"):
            found.append((event.seq, text))
    return found


def batches(found: list[Entry]) -> Iterator[list[Entry]]:
    """`found` in order, cut into guest calls."""
    batch: list[Entry] = []
    size = 0
    for entry in found:
        if batch and (len(batch) >= MAX_EVENTS or size + len(entry[1]) > MAX_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += len(entry[1])
    if batch:
        yield batch


def argument(batch: list[Entry]) -> str:
    """What render-events is called with."""
    return "[" + ",".join(text for _, text in batch) + "]"


def answers(text: str, batch: list[Entry]) -> dict[int, RenderedEvent]:
    """The blocks a guest's answer has for the events of `batch`, bounded and clean.

    What does not fit, was not asked for, or comes twice is left out. Raises ValueError when the answer is no list.
    """
    asked = {seq for seq, _ in batch}
    found: dict[int, RenderedEvent] = {}
    try:
        items = _raws.decode(json_text(text))  # else one lone surrogate would cost the whole batch
    except _BAD_JSON as exc:
        raise ValueError(f"render_events() did not return a list: {exc}") from exc
    for item in items[: len(batch) * 2]:
        try:
            rendered = _rendered.decode(item)
        except _BAD_JSON:
            continue
        if rendered.seq in asked and rendered.seq not in found:
            found[rendered.seq] = bounded(rendered)
    return found
