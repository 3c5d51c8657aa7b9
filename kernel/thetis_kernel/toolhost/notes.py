"""Notes: of a conversation, kept as its events, and of the project, shared by all conversations of a root.

Both are durable and keyed and survive restarts and rewrites of the agent; each carries when it was made and by whom.
"""

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


def remember(journal: Journal, turn: str, key: str, content: str) -> dict[str, Any]:
    """Keep `content` under `key`, replacing what was there; empty content forgets it. `turn`: the note's origin."""
    _check(key, content)
    known = journal.state(SCOPE)
    if key not in known and len(known) >= MAX_NOTES:
        raise NoteError(f"There are {MAX_NOTES} notes already.", hint="Forget one by remembering it with empty content.")
    told = {"content": content, "ts_ms": SYSTEM.now_ms(), "origin": f"turn {turn}"}
    value = json.dumps(told, ensure_ascii=False) if content else ""
    journal.append(StateChanged(scope=SCOPE, key=key, value=value))
    return {"key": key, "replaced": key in known, "forgotten": not content}


def remember_for_all(journal: Journal, key: str, content: str) -> dict[str, Any]:
    """The same for the project: every conversation of the root reads it."""
    _check(key, content)
    return {"key": key, "replaced": journal.keep_project_note(key, content), "forgotten": not content, "scope": "project"}


def recall(journal: Journal, key: str) -> dict[str, Any]:
    """The note under `key`, or all of them when it is empty."""
    return _chosen(journal.state(SCOPE), key)


def recall_for_all(journal: Journal, key: str) -> dict[str, Any]:
    """The same of the project."""
    return {**_chosen(journal.project_notes(), key), "scope": "project"}


def _check(key: str, content: str) -> None:
    if not KEY.fullmatch(key):
        raise NoteError(f"{key[:100]!r} cannot be a note's key.",
                        hint="Use up to 80 letters, digits, dots, dashes or spaces.", code="bad-arguments")
    if len(content.encode("utf-8", "replace")) > MAX_CONTENT:
        raise NoteError(f"A note holds at most {MAX_CONTENT} bytes.", hint="Write a file and note its path.")


def _chosen(known: dict[str, str], key: str) -> dict[str, Any]:
    if key and key not in known:
        raise NoteError(f"There is no note {key[:100]!r}.", code="not-found",
                        hint="Known keys: " + (", ".join(sorted(known)[:50]) or "none") + ".")
    chosen = {key: known[key]} if key else known
    return {"notes": [{"key": name, **json.loads(value)} for name, value in sorted(chosen.items())]}
