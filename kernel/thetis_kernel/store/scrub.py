"""Makes any body safe to encode: one poisoned row would fail every later replay of its conversation.

Lone surrogates become U+FFFD, NaN and infinities become null, and values nested deeper than `MAX_DEPTH` are cut. The
usual body needs none of it, so the fields that can nest are walked once and copied only when something is wrong.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import msgspec

from thetis_kernel.errors import StoreError
from thetis_kernel.protocol.events import Body, Unknown, encode_body

MAX_DEPTH = 64
"""Containers inside each other; a guest's JSON parser overflowed its stack at 1,200 (DESIGN 3)."""
CUT = "[nested too deeply]"

S = TypeVar("S", bound=msgspec.Struct)


def safe(body: Body | Unknown) -> tuple[Body | Unknown, bytes]:
    """`body`, scrubbed, and its JSON bytes. Raises StoreError (`body-invalid`) for what no scrubbing can save."""
    if isinstance(body, Unknown):
        return body, _checked(body)
    try:
        cleaned = clean(body)
        return cleaned, encode_body(cleaned)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise StoreError(f"an event's body cannot be stored: {error}", code="body-invalid") from error


def clean(struct: S) -> S:
    """The same struct when it is clean, otherwise a scrubbed copy."""
    changes: dict[str, Any] = {}
    for name in struct.__struct_fields__:
        old = getattr(struct, name)
        if old.__class__ is str and old.isascii():
            continue  # most fields of most events
        new = value(old, 1)
        if new is not old:
            changes[name] = new
    return msgspec.structs.replace(struct, **changes) if changes else struct


def value(item: Any, depth: int = 0) -> Any:
    """`item` itself when it is clean, otherwise a scrubbed copy of it. `depth`: containers around it."""
    if isinstance(item, str):
        return text(item)
    if isinstance(item, float):
        return item if math.isfinite(item) else None
    if isinstance(item, dict):
        if depth >= MAX_DEPTH:
            return CUT
        pairs = [(text(k) if isinstance(k, str) else str(k), value(v, depth + 1)) for k, v in item.items()]
        same = all(k is k0 and v is v0 for (k, v), (k0, v0) in zip(pairs, item.items(), strict=True))
        return item if same else dict(pairs)
    if isinstance(item, list | tuple):
        if depth >= MAX_DEPTH:
            return CUT
        values = [value(v, depth + 1) for v in item]
        same = all(v is v0 for v, v0 in zip(values, item, strict=True))
        return item if same else type(item)(values)
    if isinstance(item, msgspec.Struct):
        return clean(item)
    return item


def text(item: str) -> str:
    """`item` itself, or a copy with U+FFFD for each lone surrogate."""
    if item.isascii():
        return item
    try:
        item.encode()
    except UnicodeEncodeError:
        # Two halves that meet make the character they stood for; only what stays alone is replaced.
        return item.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return item


def _checked(body: Unknown) -> bytes:
    """The bytes of a body of unknown kind, which must at least be a JSON object no deeper than the limit."""
    try:
        decoded = msgspec.json.decode(body.raw)
        sound = isinstance(decoded, dict) and value(decoded) is decoded
    except (msgspec.MsgspecError, RecursionError):
        sound = False
    if not sound:
        raise StoreError(f"an event of kind {body.kind!r} does not hold a plain JSON object", code="body-invalid")
    return body.raw
