"""The base of every event's body, and the kinds by which people and agents wait for each other: words for later, requests for
consent, questions and answers.

`protocol.events` is where all kinds are known and decoded; other modules take these from there.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.protocol.approvals import Part


class BlobRef(msgspec.Struct, frozen=True):
    """A body kept outside the row: SHA-256 hex digest, bytes, media type, and a name for people."""

    digest: str
    size: int
    media_type: str = "application/octet-stream"
    name: str = ""


class Body(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """Base of all event bodies."""


class Queued(Body, frozen=True, tag="queued"):
    """Words a person has for later: a turn begins with them when the running one has ended by itself. A model sees them
    only once they are said, in a user event that names their `id`."""

    id: str
    text: str
    author: str = ""
    attachments: list[BlobRef] = []


class QueueEdited(Body, frozen=True, tag="queue-edited"):
    """Words of the queue read otherwise now; recalled ones are back in their place with that."""

    id: str
    text: str


class QueueRecalled(Body, frozen=True, tag="queue-recalled"):
    """A person took words back out of the queue, to change them or for good."""

    id: str


class Approval(Body, frozen=True, tag="approval"):
    """A request for consent (`decision` "") or its answer (allow-once, allow-session, allow-rule, deny, used).

    `what` is one line, `where` its place, `detail` exactly what happens, of which `cut` characters are not carried. `parts`:
    what an allowance would be about. `offers`: the decisions that can be taken. `effect`: digest of the whole effect.
    In an answer, `patterns` are what was remembered, and `live` says that the call was waiting for it.
    """

    id: str
    capability: str
    what: str
    decision: str = ""
    by: str = ""
    where: str = ""
    detail: str = ""
    cut: int = 0
    parts: list[Part] = []
    offers: list[str] = []
    effect: str = ""
    call: str = ""
    turn: str = ""
    patterns: list[str] = []
    live: bool = False


class Question(Body, frozen=True, tag="question"):
    """The agent asks the person; `questions` as the ask_user tool describes them."""

    id: str
    questions: list[dict[str, Any]]
    intro: str = ""


class Answer(Body, frozen=True, tag="answer"):
    """The person's answers to a question."""

    id: str
    answers: list[dict[str, Any]]
