"""The table of models: what a person can pick, and which backend answers.

Owns the order (the first is the default) and the answer for a model that is not there. Providers add entries; none of
them is imported here before its first request. Must not know what a backend does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from thetis_kernel.models.stream import ModelBackend
from thetis_kernel.protocol.models import Finished, ModelInfo, ModelRequest, StreamItem

Make = Callable[[], ModelBackend]


class Entry(msgspec.Struct, frozen=True):
    """A model of the table. `make` builds its backend at the first request; entries of one provider may share it."""

    info: ModelInfo
    make: Make


class Registry:
    """The models that can be used now. Threads may ask for backends at once."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = {entry.info.id: entry for entry in entries}
        self._made: dict[str, ModelBackend] = {}
        self._lock = threading.Lock()

    def models(self) -> list[ModelInfo]:
        """What can be picked, the default first."""
        return [entry.info for entry in self._entries.values()]

    def backend(self, model: str) -> ModelBackend:
        """The backend of a model; for an unknown id one whose every stream says so."""
        entry = self._entries.get(model)
        if entry is None:
            return _Missing(list(self._entries))
        with self._lock:
            if model not in self._made:
                self._made[model] = entry.make()
            return self._made[model]


class _Missing:
    """Answers for a model that is not in the table, for example one a stored conversation still names."""

    def __init__(self, known: list[str]) -> None:
        self._known = known

    def stream(self, request: ModelRequest, cancel: threading.Event) -> Iterator[StreamItem]:
        known = ", ".join(self._known) or "none"
        detail = f"There is no model {request.model!r}. Pick another one; known: {known}."
        yield Finished(end="bad-request", blocks=[], detail=detail, model=request.model)


def standard(settings: Mapping[str, str]) -> Registry:
    """The models of this version. `settings`: THETIS_* variables as the model host was given them."""
    from thetis_kernel.models.rehearsal import INFO, Rehearsal, delay_ms

    return Registry([Entry(INFO, lambda: Rehearsal(delay_ms(settings)))])
