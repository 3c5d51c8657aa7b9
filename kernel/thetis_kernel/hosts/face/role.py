"""The role: `RenderEvents` requests, answered by the gateway guest whose bundle came with its key."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from thetis_kernel.errors import RuntimeBuildError, ThetisError
from thetis_kernel.hosts.face.rendering import render
from thetis_kernel.ipc.threads import Serving
from thetis_kernel.protocol.blocks import RenderedEvent
from thetis_kernel.protocol.face import RenderEvents
from thetis_kernel.supervise.context import ChildContext

if TYPE_CHECKING:
    from thetis_kernel.wasm.engine import Runtime
    from thetis_kernel.wasm.spares import Spares

RUNTIME = "runtime-gateway"
MAX_BUNDLES = 8
"""Kept by key: one for each conversation's own renderer that is being looked at."""
_POLL_S = 0.05


def serve(context: ChildContext) -> None:
    """Answer until asked to stop."""
    face = Face(context.fds)
    context.connect(asks={RenderEvents: face.render})
    context.start()
    face.warm()
    with face.spares.hold():
        context.wait()


class Face:
    """The handlers' state: the runtime, opened once, and the bundles known by key."""

    def __init__(self, fds: dict[str, int]) -> None:
        self._fds = fds
        self._lock = threading.Lock()
        self._runtime: Runtime | None = None
        self._bundles: OrderedDict[str, str] = OrderedDict()

    def warm(self) -> None:
        """Load the runtime before the first request needs it; a failure is said there."""
        with contextlib.suppress(RuntimeBuildError):
            self._open()

    @cached_property
    def spares(self) -> Spares:
        """Held for as long as this host lives: it goes when nobody looks."""
        from thetis_kernel.wasm.limits import GATEWAY_LIMITS
        from thetis_kernel.wasm.spares import Spares

        return Spares(self._open, GATEWAY_LIMITS)

    def render(self, ask: RenderEvents, serving: Serving) -> list[RenderedEvent]:
        """The events the guest drew; those missing in the answer are for the plain renderer.

        Raises ThetisError `unknown-bundle` when the key's bundle must be sent again, GuestError when the guest failed,
        Cancelled when nobody waits any more.
        """
        bundle = self._bundle(ask.key, ask.bundle)
        return render(ask.events, lambda events_json: self._call(bundle, events_json, serving))

    def _bundle(self, key: str, bundle: str) -> str:
        with self._lock:
            known = self._bundles.get(key) or bundle
            if not known:
                raise ThetisError(f"The bundle of {key[:12]} is not here.", code="unknown-bundle", hint="Send it again.")
            self._bundles[key] = known
            self._bundles.move_to_end(key)
            while len(self._bundles) > MAX_BUNDLES:
                self._bundles.popitem(last=False)
            return known

    def _call(self, bundle: str, events_json: str, serving: Serving) -> str:
        from thetis_kernel.wasm.call import Abort, GuestCall, run_in_thread
        from thetis_kernel.wasm.limits import GATEWAY_LIMITS

        serving.check()
        left = serving.remaining()
        budget = GATEWAY_LIMITS.cpu_ms if left is None else max(1, min(GATEWAY_LIMITS.cpu_ms, int(left * 1000)))
        abort = Abort()
        call = GuestCall(self._open(), bundle, {}, msgspec.structs.replace(GATEWAY_LIMITS, cpu_ms=budget), abort,
                         spares=self.spares)
        future = run_in_thread(call, "render-events", events_json)
        while True:
            try:
                return future.result(_POLL_S)
            except TimeoutError:
                if serving.withdrawn.is_set():
                    abort.fire("nobody waits for it")

    def _open(self) -> Runtime:
        from thetis_kernel.wasm.runtimes import open_runtime

        with self._lock:
            if self._runtime is None:
                if RUNTIME not in self._fds:
                    raise RuntimeBuildError("The face host was not handed the gateway runtime.")
                self._runtime = open_runtime("gateway", self._fds[RUNTIME])
            return self._runtime
