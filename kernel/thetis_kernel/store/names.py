"""What identifiers the store accepts: checked at the door, so that no later code meets a strange one."""

from __future__ import annotations

import re

from thetis_kernel.errors import StoreError, UsageError
from thetis_kernel.protocol import ids

PREFIX_LENGTH = 4
"""The fewest characters that may stand for a whole conversation id."""
_EVENT_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._:-]{0,95}")
_KIND = re.compile(r"[a-z][a-z0-9-]{0,63}")
_PREFIX = re.compile(rf"[0-9a-f]{{{PREFIX_LENGTH},16}}")


def check_session_id(session: str) -> str:
    """`session` if it is a whole conversation id. Raises UsageError."""
    if not ids.SESSION_ID.fullmatch(session):
        raise UsageError(f"{session!r} is not the id of a conversation", code="no-session")
    return session


def check_prefix(text: str) -> str:
    """`text` in lower case if it can begin a conversation id. Raises UsageError."""
    prefix = text.strip().lower()
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(
            f"{text!r} is not the id of a conversation",
            hint=f"Give at least {PREFIX_LENGTH} of its characters 0-9 a-f.",
            code="no-session",
        )
    return prefix


def check_event_id(event_id: str) -> str:
    """`event_id` if it may name an event: "" or 1 to 96 characters of letters, digits and `._:-`. Raises StoreError."""
    if event_id and not _EVENT_ID.fullmatch(event_id):
        raise StoreError(f"{event_id!r} cannot be the id of an event", code="event-id-invalid")
    return event_id


def check_kind(kind: str) -> str:
    """`kind` if it may be the kind of an event. Raises StoreError."""
    if not _KIND.fullmatch(kind):
        raise StoreError(f"{kind!r} cannot be the kind of an event", code="body-invalid")
    return kind
