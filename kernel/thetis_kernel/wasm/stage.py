"""A store with an instance in it: all of a call's walls that do not depend on who calls.

A stage serves one call and is closed after it. It knows no guest: the guest's code enters it when the call asks for it, through
the imports of the call that runs on the thread then. So it may be made before the call, by `spares.py`, or in it.
"""

from __future__ import annotations

import threading

import wasmtime
from wasmtime import component as wc

from thetis_kernel.wasm import engine, native
from thetis_kernel.wasm.engine import Runtime
from thetis_kernel.wasm.limits import Limits

__all__ = ["Stage", "stores_open"]

_count_lock = threading.Lock()
_open = 0


def stores_open() -> int:
    """How many stores of this process are open now: those of running calls, and spares."""
    return _open


class Stage:
    """Open from the start. `limits` bound the store before anything in it runs; `running` answers for what instantiating runs.

    Raises wasmtime.WasmtimeError or wasmtime.Trap when the instance cannot be made. Any thread, one at a time.
    """

    def __init__(self, runtime: Runtime, limits: Limits, running: native.Running) -> None:
        self.bounds = bounds(limits)
        self.runtime = runtime
        self._closed = False
        self.store = wasmtime.Store(engine.engine())
        _counted(1)
        before, native.current.call = native.current.call, running
        try:
            native.watch_deadline(self.store)  # before instantiate: its start functions are guest code too
            memory_size, table_elements, instances, tables, memories = self.bounds
            self.store.set_limits(memory_size, table_elements, instances, tables, memories)
            self.store.set_wasi(wasmtime.WasiConfig())  # nothing at all, until a call brings its own
            self._instance: wc.Instance = runtime.linker.instantiate(self.store, runtime.component)
        except BaseException:
            self.close()
            raise
        finally:
            native.current.call = before

    def export(self, name: str, wasi: wasmtime.WasiConfig) -> wc.Func | None:
        """The export `name`, ready for the one call this stage is for, which sees the files and streams of `wasi`."""
        self.store.set_wasi(wasi)
        native.watch_deadline(self.store)  # the clock went on since the stage was made
        return self._instance.get_func(self.store, self.runtime.indices[name])

    def close(self) -> None:
        """Give back all it holds. More than once is fine."""
        if not self._closed:
            self._closed = True
            self.store.close()
            _counted(-1)


def bounds(limits: Limits) -> tuple[int, int, int, int, int]:
    """What of `limits` belongs to the store: memory in bytes, table elements, instances, tables, memories."""
    return limits.memory_mib << 20, limits.table_elements, limits.instances, limits.tables, limits.memories


def _counted(by: int) -> None:
    global _open
    with _count_lock:
        _open += by
