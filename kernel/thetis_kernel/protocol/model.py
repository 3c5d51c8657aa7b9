"""What the model host is asked, and the deltas it tells while it answers."""

from __future__ import annotations

from thetis_kernel.protocol.models import Finished, ModelInfo, StreamItem
from thetis_kernel.protocol.wire import Ask, Tell


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


MODEL_ASKS = (ListModels, Complete)
MODEL_TELLS = (Streamed,)
