"""What of the screen outlives it: drafts, what was sent before, and how far each conversation was looked at.

One small file, private to the person, replaced whole. Nothing in it is the truth about a conversation: without it, or with
a damaged one, the screen starts with nothing kept. Must not know about widgets.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from thetis_tui.state import State

MAX_DRAFT = 1 << 20
"""Characters of one draft that are kept: a pasted log is, a mistaken paste of a disk image is not."""
MAX_HISTORY = 200
MAX_TEXT = 20_000
"""Characters of a sent text that are kept for the history."""
_VERSION = 1


class Keeper:
    """`load` once at the start; `save` writes what changed since. Several screens on one root keep each other's drafts."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._drafts: dict[str, str] = {}
        self._seen: dict[str, int] = {}
        self.fresh = True
        """Nothing was kept before: what is there is not news."""

    def load(self, state: State) -> None:
        """Put what was kept into the state."""
        kept = self._read()
        self.fresh = not kept
        self._drafts = _texts(kept.get("drafts"))
        for session, text in self._drafts.items():
            state.drafts.keep(session, text)
        history = kept.get("history")
        state.history.seed([text for text in history if isinstance(text, str)] if isinstance(history, list) else [])
        seen = kept.get("seen")
        self._seen = {str(k): v for k, v in seen.items() if isinstance(v, int)} if isinstance(seen, dict) else {}

    def unread(self, state: State) -> None:
        """Mark what went on while nobody looked; to be called when the list has come for the first time."""
        for conversation in state.conversations.values():
            new = conversation.last_seq > self._seen.get(conversation.id, 0)
            if not self.fresh and new and conversation.id != state.current and conversation.id not in state.turns:
                state.unread.add(conversation.id)

    def save(self, state: State) -> None:
        """Write it down if something changed. A disk that is full or gone costs the drafts, not the session."""
        drafts = {session: text for session, text in state.drafts.all().items() if len(text) <= MAX_DRAFT}
        seen = {c.id: c.last_seq for c in state.conversations.values() if c.id not in state.unread and c.id not in state.turns}
        history = [text for text in state.history.texts()[-MAX_HISTORY:] if len(text) <= MAX_TEXT]
        now = {"version": _VERSION, "drafts": drafts, "seen": {**self._seen, **seen}, "history": history}
        if self._path is None or (drafts == self._drafts and now["seen"] == self._seen and not state.history.news):
            return
        others = _texts(self._read().get("drafts"))
        gone = set(self._drafts) - set(drafts)
        now["drafts"] = {**{k: v for k, v in others.items() if k not in gone}, **drafts}
        with contextlib.suppress(OSError):
            self._replace(now)
            self._drafts, self._seen = drafts, {**self._seen, **seen}
            state.history.news = False

    def _read(self) -> dict[str, Any]:
        if self._path is None:
            return {}
        try:
            kept = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return kept if isinstance(kept, dict) and kept.get("version") == _VERSION else {}

    def _replace(self, now: dict[str, Any]) -> None:
        """The file is whole at every moment; mkstemp makes it readable by its owner alone."""
        if self._path is None:
            return
        descriptor, name = tempfile.mkstemp(prefix=".screen-", dir=self._path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
                json.dump(now, file, ensure_ascii=False)
            os.replace(name, self._path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _texts(value: object) -> dict[str, str]:
    return {str(k): v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}
