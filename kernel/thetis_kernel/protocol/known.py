"""Known secrets as they travel between processes: keyed digests, from which no value comes back (`scrub.prints`)."""

from __future__ import annotations

import msgspec


class Print(msgspec.Struct, frozen=True):
    """One piece of a secret: its size in bytes, a 16-bit filter of its first eight, a keyed digest of the whole."""

    size: int
    filter: int
    digest: bytes


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """Prints and the key they were made with; the default knows nothing."""

    salt: bytes = b""
    prints: list[Print] = []
