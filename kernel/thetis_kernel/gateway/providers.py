"""Which providers can be used, from a person's settings and environment, and the keys that were in that environment.

A key is taken out of this process's environment once and kept here for the model host, which may have to be started
again. Must not know any provider's protocol; keys in files and keyrings are read in the model host alone.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping, Sequence

import msgspec

from thetis_kernel.config.settings import Settings
from thetis_kernel.gateway.wiping import take
from thetis_kernel.models.registry import offered
from thetis_kernel.protocol.model import ConfigureModels, ProviderKey
from thetis_kernel.protocol.models import ModelInfo, Provider

ANTHROPIC = Provider(name="anthropic", base_url="https://api.anthropic.com", key="env:ANTHROPIC_API_KEY")
BASE_URL = "ANTHROPIC_BASE_URL"
_taken: dict[str, str] = {}
"""What was in the environment, by variable, for every root this process opens."""


class Providers:
    """The usable providers, what they offer, and how the model host is told of them. `problems`: sentences, at no cost."""

    def __init__(self, settings: Settings, environ: MutableMapping[str, str] = os.environ) -> None:
        self.problems: list[str] = []
        self._settings = settings
        self._keys: list[ProviderKey] = []
        self._usable = [found for provider in _all(settings.providers, environ) if (found := self._checked(provider, environ))]
        self.models: list[ModelInfo] = offered(self._usable, settings.models)

    @property
    def secrets(self) -> list[str]:
        """The keys that were in the environment, for whoever keeps them out of texts."""
        return [key.secret for key in self._keys]

    def setup(self) -> ConfigureModels | None:
        """What the model host is told; None when it need not be told anything."""
        if not self._usable:
            return None
        return ConfigureModels(providers=self._usable, keys=self._keys, models=self._settings.models,
                               fallback=self._settings.model.fallback)

    def _checked(self, provider: Provider, environ: MutableMapping[str, str]) -> Provider | None:
        if not provider.base_url:
            self.problems.append(f"The provider {provider.name!r} has no base_url; its models are not offered.")
            return None
        kind, _, variable = provider.key.partition(":")
        if kind != "env":
            return provider
        if given := take(environ, variable):
            _taken[variable] = given
        secret = _taken.get(variable, "")
        if not secret.strip():
            if any(own.name == provider.name for own in self._settings.providers):
                self.problems.append(f"The provider {provider.name!r} has no key: the environment variable {variable} is not "
                                     "set. Its models are not offered.")
            return None
        self._keys.append(ProviderKey(provider=provider.name, secret=secret))
        return provider


def _all(own: Sequence[Provider], environ: MutableMapping[str, str]) -> list[Provider]:
    """A person's providers, and `anthropic` unless they describe it themselves; what they leave out of it stays as it is."""
    base_url = environ.get(BASE_URL, "").strip() or ANTHROPIC.base_url
    found = [msgspec.structs.replace(p, base_url=p.base_url or base_url) if p.name == ANTHROPIC.name else p for p in own]
    if not any(provider.name == ANTHROPIC.name for provider in own):
        found.append(msgspec.structs.replace(ANTHROPIC, base_url=base_url))
    return [msgspec.structs.replace(p, base_url=p.base_url.rstrip("/").removesuffix("/v1")) for p in found]
