"""The engine all guests of this process share, and the runtimes opened in it.

Owns the engine's configuration (part of every runtime's key), the 10 ms epoch ticker and the linking of a world's
imports. A linked import finds its call through `current`, because host functions run on the caller's thread.
Must not be imported by the gateway: it loads wasmtime.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import wasmtime
from wasmtime import component as wc

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.wasm import contract
from thetis_kernel.wasm.settings import ENGINE_SETTINGS, TICK_MS

if TYPE_CHECKING:
    from thetis_kernel.wasm.contract import FunctionShape


class Answers(Protocol):
    """What a running call offers to the imports: an answer in the binding's terms, and never an exception."""

    def answer(self, shape: FunctionShape, args: tuple[Any, ...]) -> Any: ...


class _Current(threading.local):
    call: Answers | None = None


current = _Current()
"""`current.call` is the innermost call running on this thread."""


@cache
def engine() -> wasmtime.Engine:
    """The process's engine."""
    config = wasmtime.Config()
    for name, value in ENGINE_SETTINGS.items():
        setattr(config, name, value)
    return wasmtime.Engine(config)


class Ticker:
    """Advances the engine's epoch every TICK_MS while any call runs; waits without cost while none does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._running += 1
            self._wake.set()
            if self._thread is None or not self._thread.is_alive():  # not alive: this is a forked child
                self._thread = threading.Thread(target=self._tick, name="wasm-epoch", daemon=True)
                self._thread.start()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                self._wake.clear()

    def _tick(self) -> None:
        advance = engine().increment_epoch
        while True:
            self._wake.wait()
            time.sleep(TICK_MS / 1000)
            advance()


ticker = Ticker()


class Runtime:
    """One world's component, loaded and linked; opened once a process and used by any number of threads."""

    def __init__(self, world: str, component: wc.Component, key: str = "") -> None:
        self.world = world
        self.component = component
        self.key = key
        self.exports = contract.world_exports(world)
        contract.check_component_imports(world, component, engine())
        self.linker = _linker(world)


def _linker(world: str) -> wc.Linker:
    linker = wc.Linker(engine())
    linker.add_wasip2()
    loaded = contract.load()
    with linker.root() as root:
        for interface in loaded.imports[world]:
            with root.add_instance(loaded.instance(interface)) as instance:
                for shape in loaded.interfaces[interface]:
                    instance.add_func(shape.name, _host_function(shape))
    return linker


def _host_function(shape: FunctionShape) -> Callable[..., Any]:
    """The function wasm calls: `Answers.answer` of the current call, which does not raise.

    Nothing may leave here as an exception: the binding keeps it in a module global that other threads can steal, and
    anything but an Exception kills the process (reliability findings 5 and 6).
    """

    def host(_store: wasmtime.StoreContext, *args: Any) -> Any:
        call = current.call
        return None if call is None else call.answer(shape, args)

    return host


def open_component(path: str) -> wc.Component:
    """Load precompiled code that has already been verified. It is executed as it stands."""
    try:
        return wc.Component.deserialize_file(engine(), path)
    except wasmtime.WasmtimeError as error:
        raise RuntimeBuildError(
            f"A precompiled runtime does not load: {str(error).splitlines()[0]}.", hint="Run `thetis setup` to rebuild it."
        ) from error
