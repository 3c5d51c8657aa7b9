"""The engine all guests of this process share, and the runtimes opened in it.

Owns the engine's configuration (part of every runtime's key) and the linking of a world's imports. Must not be imported
by the gateway: it loads wasmtime.
"""

from __future__ import annotations

import time
from functools import cache
from typing import NoReturn

import wasmtime
from wasmtime import _ffi as ffi
from wasmtime import component as wc

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.wasm import contract, native
from thetis_kernel.wasm.settings import ENGINE_SETTINGS
from thetis_kernel.wasm.ticker import Ticker

_CLOCK = "wasi:clocks/monotonic-clock@"


@cache
def engine() -> wasmtime.Engine:
    """The process's engine."""
    config = wasmtime.Config()
    for name, value in ENGINE_SETTINGS.items():
        if hasattr(type(config), name):
            setattr(config, name, value)
        else:  # settings the binding has no property for
            getattr(ffi, f"wasmtime_config_{name}_set")(config.ptr(), value)
    return wasmtime.Engine(config)


@cache
def ticker() -> Ticker:
    """The process's ticker."""
    return Ticker(engine().increment_epoch)


class Runtime:
    """One world's component, loaded and linked; opened once a process and used by any number of threads."""

    def __init__(self, world: str, component: wc.Component) -> None:
        contract.check_component_imports(world, component, engine())
        self.world = world
        self.component = component
        self.exports = contract.world_exports(world)
        self.linker = _linker(world, component)
        self.indices = {name: _index(component, name) for name in self.exports}


def open_component(path: str) -> wc.Component:
    """Load precompiled code that has already been verified. It is executed as it stands."""
    try:
        return wc.Component.deserialize_file(engine(), path)
    except wasmtime.WasmtimeError as error:
        raise RuntimeBuildError(
            f"A precompiled runtime does not load: {str(error).splitlines()[0]}.", hint="Run `thetis setup` to rebuild it."
        ) from error


def _index(component: wc.Component, name: str) -> wc.ExportIndex:
    index = component.get_export_index(name)
    if index is None:
        raise RuntimeBuildError(f"The runtime has no export {name}.", hint="Run `thetis setup` to rebuild it.")
    return index


def _linker(world: str, component: wc.Component) -> wc.Linker:
    linker = wc.Linker(engine())
    wasi = [name for name in component.type.imports(engine()) if name.startswith(contract.WASI)]
    if wasi:  # without an import of it, not even an empty-handed WASI
        linker.add_wasip2()
    loaded = contract.load()
    with linker.root() as root:
        for name in wasi:
            if name.startswith(_CLOCK):
                _link_clock(root, name)
        for interface in loaded.imports[world]:
            with root.add_instance(loaded.instance(interface)) as instance:
                for shape in loaded.interfaces[interface]:
                    native.add_function(instance, shape)
    return linker


def _link_clock(root: wc.LinkerInstance, name: str) -> None:
    """WASI's clock without its alarms: a guest that waits on one holds a thread where no epoch reaches it."""

    def refuse(_store: wasmtime.StoreContext, _when: int) -> NoReturn:
        # The one exception that may leave a host function: the binding consumes it and keeps no copy.
        raise wasmtime.WasmtimeError("waiting is possible through sys.sleep only")

    with root.add_instance(name) as clock:
        clock.add_func("now", lambda _store: time.monotonic_ns())
        clock.add_func("resolution", lambda _store: 1)
        clock.add_func("subscribe-instant", refuse)
        clock.add_func("subscribe-duration", refuse)

