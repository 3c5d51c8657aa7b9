"""The catalogue of models: what ships, what a person adds or overrides, as plain entries.

Owns the merge and its defaults. Must not know whether a provider has a key, nor any SDK: the gateway reads it too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from thetis_kernel.protocol.models import ModelEntry, ModelInfo, Prices

SHIPPED = Path(__file__).with_name("catalog.toml")


class Model(msgspec.Struct, frozen=True):
    """An entry with everything decided; the fields are ModelEntry's. The defaults suit a small server of one's own, whose
    prices nobody knows (None)."""

    id: str
    provider: str
    name: str
    label: str
    window: int = 32_768
    max_output: int = 8_192
    price_input: Decimal | None = None
    price_output: Decimal | None = None
    price_cache_read: Decimal | None = None
    price_cache_write: Decimal | None = None
    long_prompt: Prices | None = None
    thinking: Literal["none", "adaptive", "budget"] = "none"
    thinking_budget: int = 4_096
    thinking_display: Literal["", "summarized", "omitted"] = ""
    cache: bool = False
    pictures: bool = False
    documents: bool = False

    @property
    def info(self) -> ModelInfo:
        """What a person sees of it."""
        return ModelInfo(id=self.id, provider=self.provider, label=self.label, window=self.window, max_output=self.max_output)


@cache
def shipped() -> tuple[ModelEntry, ...]:
    """The entries of catalog.toml."""
    return tuple(msgspec.convert(tomllib.loads(SHIPPED.read_text("utf-8"))["models"], list[ModelEntry]))


def merged(own: Sequence[ModelEntry]) -> list[Model]:
    """All models: a person's new ones first, in their order, then the shipped ones, each with the fields of `own` over it.

    A new entry without a provider belongs to `anthropic`.
    """
    theirs = {entry.id: entry for entry in own}
    known = {entry.id: entry for entry in shipped()}
    new = [entry for name, entry in theirs.items() if name not in known]
    return [_model(entry, theirs.get(entry.id)) for entry in [*new, *known.values()]]


def usable(own: Sequence[ModelEntry], providers: Collection[str]) -> list[Model]:
    """Those of `merged` whose provider is among `providers`."""
    return [model for model in merged(own) if model.provider in providers]


def _model(entry: ModelEntry, over: ModelEntry | None = None) -> Model:
    fields: dict[str, Any] = {"provider": "anthropic", "name": entry.id, "label": entry.id}
    for source in (entry, over):
        if source is not None:
            fields |= {name: value for name, value in msgspec.structs.asdict(source).items() if value is not None}
    fields["max_output"] = min(fields.get("max_output", 8_192), fields.get("window", 32_768))
    return Model(**fields)
