"""The fold of a long conversation, kept beside its log: a cache that saves reading 100 MB to know what a conversation is.

It counts only for exactly the events it was made of (number and chain hash) and exactly the code that folded them; anything
else, and the log is read. It is wiped with its conversation. Must not know who asks for a state.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import msgspec

from thetis_kernel.protocol import approvals, bodies, events, spending
from thetis_kernel.store import folds, projection, queueing, summary, turnstats

KEY = "fold"
EVERY = 2_000
"""Events since the last one was kept before another is: reading so many takes about 50 ms."""
MAX_KEPT = 1 << 20
"""Bytes; a larger one is not kept, and the log is read."""
_CODE = (approvals, bodies, events, spending, folds, projection, queueing, summary, turnstats)


class Kept(msgspec.Struct, frozen=True):
    """`digest`: the chain's hash at event `state.seq`, hex."""

    code: str
    digest: str
    state: folds.SessionState


@cache
def code() -> str:
    """The digest of everything a fold depends on."""
    digest = hashlib.sha256()
    for module in _CODE:
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


def encoded(state: folds.SessionState, digest: str) -> bytes:
    """The cache's value; empty when it would be too large to be worth it."""
    raw = msgspec.msgpack.encode(Kept(code(), digest, state))
    return raw if len(raw) <= MAX_KEPT else b""


def decoded(raw: bytes | None) -> Kept | None:
    """What was kept, if the same code made it and it is whole."""
    if not raw:
        return None
    try:
        kept = msgspec.msgpack.decode(raw, type=Kept)
    except msgspec.MsgspecError:
        return None
    return kept if kept.code == code() else None
