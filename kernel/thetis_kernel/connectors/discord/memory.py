"""What outlives the connector: which conversation belongs to a place, how far it was shown, which messages show it.

One small file (0600), replaced whole. It holds ids only, no word anybody said; the log has those. Without it the connector
forgets places, nothing else. Used on the connector's loop.
"""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from thetis_kernel.store.files import replace

MAX_TALKS = 2_000
"""Conversations kept; the one written to longest ago is forgotten first (its log stays)."""
_logger = logging.getLogger(__name__)


class Talk(msgspec.Struct):
    """A place's conversation: `session`; the channel; the last message taken, to which answers reply; `shown`: the log up to
    there is on Discord; `turn`, `posts`: the turn shown last and the messages that show it."""

    session: str
    channel: int
    last: int = 0
    shown: int = 0
    turn: str = ""
    posts: list[int] = []


class _File(msgspec.Struct):
    talks: dict[str, Talk] = {}
    seen: int = 0


class Memory:
    """`seen`: everything up to this message id was taken or was not for us."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _File()
        try:
            self._file = msgspec.json.decode(path.read_bytes(), type=_File)
        except FileNotFoundError:
            pass
        except (OSError, msgspec.DecodeError) as error:
            _logger.warning("%s cannot be read (%s); conversations of Discord begin anew", path, type(error).__name__)

    def __contains__(self, key: str) -> bool:
        return key in self._file.talks

    @property
    def seen(self) -> int:
        """See the class."""
        return self._file.seen

    def talk(self, key: str) -> Talk | None:
        """What is kept of a place."""
        return self._file.talks.get(key)

    def all(self) -> dict[str, Talk]:
        """Every place, the one used last at the end."""
        return dict(self._file.talks)

    def keep(self, key: str, talk: Talk) -> None:
        """Keep a place as it stands now."""
        self._file.talks.pop(key, None)
        self._file.talks[key] = talk
        while len(self._file.talks) > MAX_TALKS:
            self._file.talks.pop(next(iter(self._file.talks)))
        self.save()

    def forget(self, key: str) -> None:
        """The next words there begin another conversation."""
        if self._file.talks.pop(key, None) is not None:
            self.save()

    def have_seen(self, message: int) -> None:
        """Move `seen` on; written down with the next change of a place, as an older one costs a look at most."""
        self._file.seen = max(self._file.seen, message)

    def save(self) -> None:
        """Write it down. A full disk costs what a kill would: places are looked at again."""
        try:
            replace(self._path, msgspec.json.encode(self._file))
        except OSError as error:
            _logger.warning("%s cannot be written: %s", self._path, error.strerror)
