"""The table of models: what a person can pick, and which backend answers.

Owns the order (the first is the default) and the answer for a model that is not there. Providers add entries; none of
them is imported here before its first request. Must not know what a backend does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from thetis_kernel.errors import ModelError
from thetis_kernel.models.catalog import Model, usable
from thetis_kernel.models.keys import key_of
from thetis_kernel.models.media import Media
from thetis_kernel.models.stream import ModelBackend
from thetis_kernel.protocol.model import ConfigureModels
from thetis_kernel.protocol.models import Finished, ModelEntry, ModelInfo, ModelRequest, Provider, StreamItem

Make = Callable[[], ModelBackend]
FREE = frozenset({"rehearsal"})
"""Ids of models that cost nothing, whatever they say they used."""


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
        detail = f"There is no model {request.model!r}, or its provider has no key. Pick another one; known: {known}."
        yield Finished(end="bad-request", blocks=[], detail=detail, model=request.model)


def standard(settings: Mapping[str, str]) -> Registry:
    """The models without any provider. `settings`: THETIS_* variables as the model host was given them."""
    return Registry([_rehearsal(settings)])


def offered(providers: Sequence[Provider], models: Sequence[ModelEntry]) -> list[ModelInfo]:
    """What can be picked with these providers, the default first; the rehearsal model is always there, and last."""
    from thetis_kernel.models.rehearsal import INFO

    found = usable(models, {provider.name for provider in providers}) if providers else []
    deferring = {provider.name for provider in providers if provider.tool_references}
    infos = (msgspec.structs.replace(model.info, tool_references=model.provider in deferring) for model in found)
    return [*infos, INFO]


def configured(setup: ConfigureModels, settings: Mapping[str, str]) -> Registry:
    """The table of `offered`, with backends that ask again and, where one is configured, fall back."""
    providers = {provider.name: provider for provider in setup.providers}
    keys = {key.provider: key.secret for key in setup.keys}
    shared: dict[str, Any] = {}
    media = Media(setup.blobs)
    models = usable(setup.models, providers)
    makers = {model.id: _maker(model, providers[model.provider], keys.get(model.provider, ""), shared, media) for model in models}
    entries = [Entry(model.info, _falling(makers, model.id, setup.fallback)) for model in models]
    return Registry([*entries, _rehearsal(settings)])


def warm() -> None:
    """Import what the first request to a provider will need."""
    from thetis_kernel.models.anthropic.loading import import_sdk

    import_sdk()


def problems(setup: ConfigureModels) -> list[str]:
    """What of a setup will not work, in sentences; found without a network."""
    found: list[str] = []
    keys = {key.provider: key.secret for key in setup.keys}
    for provider in setup.providers:
        try:
            key_of(provider, keys.get(provider.name, ""))
        except ModelError as error:
            found.append(f"{error.message} {error.hint}".strip())
    known = {model.id for model in usable(setup.models, {provider.name for provider in setup.providers})}
    if setup.fallback and setup.fallback not in known:
        found.append(f"The setting model.fallback names {setup.fallback!r}, which is no model that can be used.")
    return found


def _rehearsal(settings: Mapping[str, str]) -> Entry:
    from thetis_kernel.models.rehearsal import INFO, Rehearsal, delay_ms

    return Entry(INFO, lambda: Rehearsal(delay_ms(settings)))


def _maker(model: Model, provider: Provider, secret: str, shared: dict[str, Any], media: Media) -> Make:
    """`shared`: the endpoints of this table by provider, so that its models share connections."""
    def make() -> ModelBackend:
        from thetis_kernel.models.anthropic.backend import AnthropicBackend
        from thetis_kernel.models.anthropic.endpoint import Endpoint
        from thetis_kernel.models.retry import Retrying

        endpoint = shared.setdefault(provider.name, Endpoint(provider, lambda: key_of(provider, secret)))
        return Retrying(AnthropicBackend(model, endpoint, media))

    return make


def _falling(makers: Mapping[str, Make], model: str, fallback: str) -> Make:
    if fallback not in makers or fallback == model:
        return makers[model]

    def make() -> ModelBackend:
        from thetis_kernel.models.fallback import Falling

        return Falling(makers[model](), fallback, makers[fallback])

    return make
