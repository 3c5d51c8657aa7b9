"""What was typed and not yet sent, per conversation, and what was sent before.

Must not know about widgets.
"""

from __future__ import annotations

HISTORY = 500


class Drafts:
    """Unsent text per conversation; "" is the conversation that does not exist yet."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def keep(self, session: str, text: str) -> None:
        """Remember `text`, or forget when it is empty."""
        if text.strip():
            self._texts[session] = text
        else:
            self._texts.pop(session, None)

    def of(self, session: str) -> str:
        return self._texts.get(session, "")

    def all(self) -> dict[str, str]:
        """Every draft, by conversation."""
        return dict(self._texts)


class History:
    """Sent texts, newest last, walked with up and down; what stood in the prompt before is the walk's far end."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._at: int | None = None
        self._before = ""
        self.news = False
        """Whether something was added since it was last written down."""

    def texts(self) -> list[str]:
        """All of them, oldest first."""
        return list(self._texts)

    def add(self, text: str) -> None:
        """Remember a sent text (once when repeated) and end any walk."""
        self._at = None
        if text.strip() and (not self._texts or self._texts[-1] != text):
            self._texts.append(text)
            self.news = True
            del self._texts[:-HISTORY]

    def seed(self, texts: list[str]) -> None:
        """Older texts (of an opened conversation), put before what was sent here."""
        known = set(self._texts)
        self._texts[:0] = [text for text in texts if text.strip() and text not in known]

    def older(self, current: str) -> str | None:
        """The text before the shown one, or None at the beginning. `current` stands in the prompt now."""
        if self._at is None:
            if not self._texts:
                return None
            self._before = current
            self._at = len(self._texts)
        if self._at == 0:
            return None
        self._at -= 1
        return self._texts[self._at]

    def newer(self) -> str | None:
        """The text after the shown one, what stood before the walk at its end, or None when not walking."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._texts):
            self._at = None
            return self._before
        return self._texts[self._at]

    def edited(self) -> None:
        """The prompt was changed by hand: the walk is over."""
        self._at = None

    @property
    def walking(self) -> bool:
        return self._at is not None
