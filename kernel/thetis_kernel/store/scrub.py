"""Makes any body safe to encode: one poisoned row would fail every later replay of its conversation.

Lone surrogates become U+FFFD, NaN and infinities become null, and values nested deeper than `MAX_DEPTH` are cut. The
usual body needs none of it, so it is encoded first, and walked and copied only when the bytes give a reason.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import msgspec

from thetis_kernel.errors import StoreError
from thetis_kernel.protocol.events import Body, Unknown, encode_body

MAX_DEPTH = 60
"""Containers inside each other. A guest is given 64 at most (DESIGN 3), and reads a body inside a page of events: a list of
objects in an object. A deeper body would keep its conversation's agent from reading the log for ever."""
CUT = "[nested too deeply]"

S = TypeVar("S", bound=msgspec.Struct)


def safe(body: Body | Unknown) -> tuple[Body | Unknown, bytes]:
    """`body` with safe texts and depth, and its JSON bytes, which are safe altogether.

    Raises StoreError (`body-invalid`) for what no scrubbing can save.
    """
    if isinstance(body, Unknown):
        return body, _checked(body)
    try:
        raw = encode_body(body)
        # Numbers JSON lacks are null by now; what has so few brackets, even inside strings, cannot be nested too deeply.
        if raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:
            return body, raw
    except (UnicodeEncodeError, RecursionError):
        pass  # exactly what cleaning is for
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise _invalid(error) from error
    try:
        cleaned = clean(body)
        return cleaned, encode_body(cleaned)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise _invalid(error) from error


def clean(struct: S) -> S:
    """The same struct when it is clean, otherwise a scrubbed copy."""
    changes: dict[str, Any] = {}
    for name in struct.__struct_fields__:
        old = getattr(struct, name)
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


def _invalid(error: Exception) -> StoreError:
    return StoreError(f"an event's body cannot be stored: {error}", code="body-invalid")


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
