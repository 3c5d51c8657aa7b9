"""The role: which models there are, and completions on threads of their own, streamed in batches.

A request is cancelled by taking it back: the channel then sets `Serving.withdrawn`, which is the stream's cancel.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import ModelError
from thetis_kernel.hosts.model.batching import Batches
from thetis_kernel.ipc.threads import Serving
from thetis_kernel.models.keys import key_of
from thetis_kernel.models.registry import Registry, configured, problems, standard, warm
from thetis_kernel.models.stream import guarded
from thetis_kernel.protocol.known import Print
from thetis_kernel.protocol.model import Complete, ConfigureModels, ListModels, PrintKeys, Streamed
from thetis_kernel.protocol.models import Finished, ModelInfo, ModelRequest
from thetis_kernel.scrub.prints import prints_of
from thetis_kernel.supervise.context import ChildContext


def serve(context: ChildContext) -> None:
    """Answer until asked to stop."""
    host = ModelHost(standard(context.settings), context.settings)
    peer = context.connect(
        asks={ConfigureModels: host.configure, PrintKeys: host.print_keys, ListModels: host.models, Complete: host.complete},
        quick={ListModels})
    host.batches = Batches(lambda stream, items: peer.tell(Streamed(stream=stream, items=items)))
    context.run()


class ModelHost:
    """The handlers. `batches` carries the items of running streams to the gateway."""

    batches: Batches

    def __init__(self, registry: Registry, settings: Mapping[str, str]) -> None:
        self._registry = registry
        self._settings = settings
        self._configured = ConfigureModels(providers=[])

    def configure(self, ask: ConfigureModels, serving: Serving) -> list[str]:
        """Use these providers from now on; streams that run go on as they are. The SDK is loaded meanwhile."""
        self._registry = configured(ask, self._settings)
        self._configured = ask
        found = problems(ask)
        if len(found) < len(ask.providers):
            threading.Thread(target=warm, name="model SDK", daemon=True).start()
        return found

    def print_keys(self, ask: PrintKeys, serving: Serving) -> list[Print]:
        """The keys' digests, for those who must recognise them and may not have them."""
        handed = {key.provider: key.secret for key in self._configured.keys}
        found: list[Print] = []
        for provider in self._configured.providers:
            try:
                found += prints_of(key_of(provider, handed.get(provider.name, "")), ask.salt)
            except ModelError:
                continue  # `problems` says why it cannot be read
        return found

    def models(self, ask: ListModels, serving: Serving) -> list[ModelInfo]:
        """What can be picked, the default first."""
        return self._registry.models()

    def complete(self, ask: Complete, serving: Serving) -> Finished:
        """Stream one reply; its last item is the answer. Raises ModelError when the request is not one."""
        crash.point("model-host.request")
        request = _decoded(ask.request)
        backend = self._registry.backend(request.model)
        with self.batches.opened(ask.stream) as batch:
            for item in guarded(backend, request, serving.withdrawn):
                if isinstance(item, Finished):
                    crash.point("model-host.stream-end")
                    return item
                batch.add(item)
        raise ModelError("The stream ended without saying how.")  # `guarded` promises that it does


def _decoded(raw: bytes) -> ModelRequest:
    try:
        return msgspec.json.decode(raw, type=ModelRequest)
    except msgspec.MsgspecError as error:
        raise ModelError(f"The request to the model does not fit: {error}.") from error
