"""What the model host is asked, and the deltas it tells while it answers."""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.known import Print
from thetis_kernel.protocol.models import Finished, ModelEntry, ModelInfo, Provider, StreamItem
from thetis_kernel.protocol.wire import Ask, Tell


class ProviderKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The key of a provider whose key is in the gateway's environment. It shows itself nowhere."""

    provider: str
    secret: str

    def __repr__(self) -> str:
        return f"ProviderKey({self.provider!r}, ...)"


class ConfigureModels(Ask[list[str]], frozen=True, tag="model.configure"):
    """The providers and models to use from now on; the answer is sentences about what will not work.

    `models` are a person's entries, over the shipped catalogue. `fallback`: the id of the model that is asked once when
    another one cannot answer, "" for none. `blobs`: the directory of what events refer to by digest.
    """

    providers: list[Provider]
    keys: list[ProviderKey] = msgspec.field(default_factory=list)
    models: list[ModelEntry] = msgspec.field(default_factory=list)
    fallback: str = ""
    blobs: str = ""


class ListModels(Ask[list[ModelInfo]], frozen=True, tag="model.list"):
    """The models that can be used now, the default first."""


class Complete(Ask[Finished], frozen=True, tag="model.complete"):
    """Run one completion. `request` is the JSON of protocol.models.ModelRequest; deltas arrive as `Streamed` with `stream`.

    Withdrawing the request cancels the stream. The answer is the stream's last item.
    """

    stream: str
    request: bytes


class Streamed(Tell, frozen=True, tag="model.streamed"):
    """Items of a running completion, in order; the final item is the answer to `Complete`, not one of these."""

    stream: str
    items: list[StreamItem]


class PrintKeys(Ask[list[Print]], frozen=True, tag="model.print-keys"):
    """The digests of every key this host can read, made with `salt`; what it may not read is left out."""

    salt: bytes


MODEL_ASKS = (PrintKeys, ConfigureModels, ListModels, Complete)
MODEL_TELLS = (Streamed,)
