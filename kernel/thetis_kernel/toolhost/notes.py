"""Notes of a conversation: durable, keyed, kept as events, so they survive restarts and rewrites of the agent."""

from __future__ import annotations

import json
import re
from typing import Any

from thetis_kernel.clock import SYSTEM
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import StateChanged
from thetis_kernel.toolhost.context import Journal

SCOPE = "notes"
MAX_CONTENT = 16 * 1024
MAX_NOTES = 200
KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,79}")


class NoteError(ThetisError):
    """A note that cannot be kept or found."""

    code = "note"


def remember(journal: Journal, key: str, content: str) -> dict[str, Any]:
    """Keep `content` under `key`, replacing what was there; empty content forgets it."""
    if not KEY.fullmatch(key):
        raise NoteError(f"{key[:100]!r} cannot be a note's key.",
                        hint="Use up to 80 letters, digits, dots, dashes or spaces.", code="bad-arguments")
    if len(content.encode("utf-8", "replace")) > MAX_CONTENT:
        raise NoteError(f"A note holds at most {MAX_CONTENT} bytes.", hint="Write a file and note its path.")
    known = journal.state(SCOPE)
    if key not in known and len(known) >= MAX_NOTES:
        raise NoteError(f"There are {MAX_NOTES} notes already.", hint="Forget one by remembering it with empty content.")
    value = json.dumps({"content": content, "ts_ms": SYSTEM.now_ms()}, ensure_ascii=False) if content else ""
    journal.append(StateChanged(scope=SCOPE, key=key, value=value))
    return {"key": key, "replaced": key in known, "forgotten": not content}


def recall(journal: Journal, key: str) -> dict[str, Any]:
    """The note under `key`, or all of them when it is empty."""
    known = journal.state(SCOPE)
    if key and key not in known:
        raise NoteError(f"There is no note {key[:100]!r}.", code="not-found",
                        hint="Known keys: " + (", ".join(sorted(known)[:50]) or "none") + ".")
    chosen = {key: known[key]} if key else known
    return {"notes": [{"key": name, **json.loads(value)} for name, value in sorted(chosen.items())]}
