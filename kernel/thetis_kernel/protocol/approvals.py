"""Consent: what a request is made of, what can be answered, and the digest an answer names.

A request and its answer are `approval` events. The answer carries the digest of what its giver was shown; the gateway
takes none for something else.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from thetis_kernel.protocol.events import Approval

Decision = Literal["allow-once", "allow-session", "allow-rule", "deny"]
USED = "used"
"""Decision of the event that says an allowance of once, given while nothing waited for it, has been used."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing the consent is about: a command of a compound one, a path, a host.

    `rule`, `session`: what would be remembered for good or for this conversation; "" when it must not be. `allowed`: a
    rule or an earlier answer covers it already. `wide`: whether patterns with a wildcard may cover it.
    """

    text: str
    rule: str = ""
    session: str = ""
    allowed: bool = False
    wide: bool = True


class Rule(msgspec.Struct, frozen=True):
    """What a person allowed for good in this root. `id` is a short word to revoke it by; `created_ms` is for display."""

    id: str
    capability: str
    pattern: str
    created_ms: int = 0


_BLANK = frozenset(
    [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10),
     *range(0xE0100, 0xE01F0)])
"""Characters that count as printable and cannot be seen: fillers, the grapheme joiner, variation selectors, empty braille."""


def hidden(char: str) -> bool:
    """Whether a reader could miss this character: control, formatting, odd blanks, fillers. Newline and tab are plain."""
    return (not char.isprintable() and char not in "\n\t") or ord(char) in _BLANK


def digest(*texts: str) -> str:
    """SHA-256 hex over texts, each with its length, so that no two lists of texts give the same."""
    whole = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        whole.update(f"{len(data)}:".encode())
        whole.update(data)
    return whole.hexdigest()


def shown(request: Approval) -> str:
    """The digest of everything a person is shown of a request; whoever shows it computes it from what they show."""
    parts = [text for part in request.parts for text in (part.text, part.rule, part.session, str(part.allowed))]
    return digest(request.id, request.capability, request.what, request.where, request.detail, str(request.cut),
                  *request.offers, *parts)
