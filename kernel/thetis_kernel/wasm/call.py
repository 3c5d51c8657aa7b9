"""One call of one guest: a fresh store, its limits, its imports, and one typed outcome.

Every import of every world passes `GuestCall.answer`, the one place where host code meets a guest: argument and answer
caps, text hygiene, typed errors, processor time, and abort. Knows nothing of what an import does.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import wasmtime
from wasmtime import _ffi as ffi
from wasmtime import component as wc

from thetis_kernel.errors import GuestError, ThetisError
from thetis_kernel.wasm import engine, faults, hygiene
from thetis_kernel.wasm.abort import Abort
from thetis_kernel.wasm.contract import FunctionShape
from thetis_kernel.wasm.engine import Runtime
from thetis_kernel.wasm.limits import Limits
from thetis_kernel.wasm.output import Captured
from thetis_kernel.wasm.settings import THREAD_STACK

__all__ = ["Abort", "GuestCall", "Imports", "run_in_thread", "stores_opened"]

Imports = Mapping[str, Callable[..., "str | int | None"]]
OnLog = Callable[[str, str], None]

_opened = itertools.count()
_opened_last = 0


def stores_opened() -> int:
    """How many stores this process has opened: every guest call opens one."""
    return _opened_last


class GuestCall:
    """A call to be made, once.

    `bundle`: base64 of the guest's code, "" for the compiler. `imports`: keyed "interface.function"; each takes the
    contract's parameters and returns the ok text (int for now-ms, None for log and sleep), or raises ThetisError for
    an err; a missing one answers err `unavailable`, except sys.log, now-ms, sleep and code, which have defaults.
    `on_log(source, text)`: source is a level of sys.log, "stdout" or "stderr" (at the end of the call), or "host" for
    a failure inside an import. `workspace`: a directory the guest sees as /workspace.
    """

    def __init__(
        self,
        runtime: Runtime,
        bundle: str,
        imports: Imports,
        limits: Limits,
        abort: Abort | None = None,
        on_log: OnLog | None = None,
        *,
        workspace: Path | None = None,
        workspace_writable: bool = False,
    ) -> None:
        self._runtime = runtime
        self._bundle = bundle
        self._imports = imports
        self._limits = limits
        self._abort = abort or Abort()
        self._on_log = on_log
        self._workspace = workspace
        self._workspace_writable = workspace_writable
        self._stdout = Captured(limits.output_bytes)
        self._stderr = Captured(limits.output_bytes)
        self._store: wasmtime.Store | None = None
        self._stopped = ""  # "", "timeout" or "abort"
        self._started = 0.0
        self._outside = 0.0  # seconds of this thread's processor time spent in imports, less what it slept

    def run(self, export: str, *args: str) -> str:
        """Call `export` and return its ok text (a tool's manifest as JSON text). Blocks.

        Raises GuestError: kind "error" for an err or an exception of the guest, else trap, timeout, memory, type,
        exit or abort. Not for the main thread (a Ctrl-C there would meet the engine); see `run_in_thread`.
        """
        shape = self._runtime.exports.get(export)
        if shape is None or len(args) != len(shape.params):
            raise GuestError(f"The world {self._runtime.world} has no export {export} with {len(args)} values.", kind="type")
        clean = [self._clean_argument(export, name, value) for (name, _), value in zip(shape.params, args, strict=True)]
        if self._abort.fired:
            raise self._stop_error("abort", export)
        outer, engine.current.call = engine.current.call, self
        try:
            with engine.ticker:
                answer = self._call_in_fresh_store(export, clean)
        except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
            raise self._failure(error, export) from None
        finally:
            engine.current.call = outer
            self._deliver_output()
        return self._ok_text(shape, answer)

    # The store

    def _call_in_fresh_store(self, export: str, args: list[str]) -> Any:
        global _opened_last
        limits = self._limits
        with wasmtime.Store(engine.engine()) as store:
            _opened_last = next(_opened) + 1
            self._store = store
            try:
                ffi.wasmtime_store_epoch_deadline_callback(store.ptr(), _on_deadline, None, _NO_FINALIZER)
                store.set_epoch_deadline(1)  # before instantiate: its start functions are guest code too
                store.set_limits(
                    memory_size=limits.memory_mib << 20,
                    table_elements=limits.table_elements,
                    instances=limits.instances,
                    tables=limits.tables,
                    memories=limits.memories,
                )
                store.set_wasi(self._wasi())
                self._started = time.thread_time()
                instance = self._runtime.linker.instantiate(store, self._runtime.component)
                function = instance.get_func(store, export)
                if function is None:
                    raise GuestError(f"The runtime has no export {export}.", kind="type")
                return function(store, *args)
            finally:
                self._store = None

    def _wasi(self) -> wasmtime.WasiConfig:
        wasi = wasmtime.WasiConfig()  # nothing inherited: no environment, arguments, stdin, network or clock beyond WASI's
        wasi.stdout_custom = self._stdout.write
        wasi.stderr_custom = self._stderr.write
        if self._workspace is not None:
            wasi.preopen_dir(str(self._workspace), "/workspace", self._workspace_writable)
        return wasi

    def tick(self) -> bool:
        """Called at each epoch while wasm runs: whether the call may go on."""
        if self._abort.fired:
            self._stopped = self._stopped or "abort"
        elif self._left_s() <= 0:
            self._stopped = self._stopped or "timeout"
        return not self._stopped

    def _left_s(self) -> float:
        return self._limits.cpu_ms / 1000 - (time.thread_time() - self._started - self._outside)

    # Imports

    def answer(self, shape: FunctionShape, args: tuple[Any, ...]) -> Any:
        """The answer to one import call, in the binding's terms. Raises nothing, whatever the import does."""
        entered = time.thread_time()
        try:
            result = self._answer(shape, args)
        except BaseException as error:  # noqa: BLE001 - see engine._host_function
            result = self._internal(shape, error)
        self._outside += time.thread_time() - entered
        return result

    def _answer(self, shape: FunctionShape, args: tuple[Any, ...]) -> Any:
        if self._abort.fired:
            self._stop("abort")
            return _nothing(shape)
        try:
            _bounded(args, self._limits.argument_bytes, f"The arguments of {shape.key}")
            answer = self._dispatch(shape, args)
        except ThetisError as error:
            return self._refused(shape, error)
        if self._abort.wait(0):
            self._stop("abort")
        return answer

    def _dispatch(self, shape: FunctionShape, args: tuple[Any, ...]) -> Any:
        function = None if shape.key == "sys.code" else self._imports.get(shape.key)
        function = function or getattr(self, "_default_" + shape.key.replace(".", "_").replace("-", "_"), None)
        if function is None:
            raise ThetisError(f"{shape.key} is not available here.", code="unavailable")
        began = time.monotonic()
        value: Any = function(*args)
        if shape.key == "sys.sleep":
            self._outside -= time.monotonic() - began  # a guest that sleeps spends its budget
            if self._left_s() <= 0:
                self._stop("timeout")
        if not shape.result:
            return None
        if shape.result == "u64":
            return min(max(int(value), 0), 2**64 - 1)
        if type(value) is not str:
            raise TypeError(f"{shape.key} answered {type(value).__name__}")
        if not shape.fallible:
            return hygiene.plain(value)
        _bounded((value,), self._limits.argument_bytes, f"The answer of {shape.key}")
        if not shape.answers_json:
            return wc.Variant("ok", hygiene.plain(value))
        if hygiene.too_deep(value):
            raise ThetisError(f"The answer of {shape.key} nests deeper than {hygiene.NESTING} levels.", code="too-deep")
        return wc.Variant("ok", hygiene.json_text(value))

    def _refused(self, shape: FunctionShape, error: ThetisError) -> Any:
        if not shape.fallible:
            return _nothing(shape)
        fields = {"code": error.code, "message": error.message, "hint": error.hint}
        return wc.Variant("err", hygiene.plain(json.dumps(fields, ensure_ascii=False)))

    def _internal(self, shape: FunctionShape, error: BaseException) -> Any:
        try:
            self._say("host", f"{shape.key} failed: " + "".join(traceback.format_exception(error)))
        except BaseException:  # noqa: BLE001 - no memory to say it with; the guest's answer below still goes out
            return _nothing(shape)
        return _nothing(shape)

    def _stop(self, why: str) -> None:
        """From inside an import: end the call as soon as wasm runs again."""
        self._stopped = self._stopped or why
        if self._store is not None:
            self._store.set_epoch_deadline(0)

    def _default_sys_code(self) -> str:
        return self._bundle

    def _default_sys_log(self, level: str, message: str) -> None:
        self._say(level if level in ("debug", "info", "warn", "error") else "info", message)

    def _default_sys_now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def _default_sys_sleep(self, ms: int) -> None:
        self._abort.wait(min(ms / 1000, max(self._left_s(), 0)))

    # Values and outcomes

    def _clean_argument(self, export: str, name: str, value: str) -> str:
        if name.endswith("-json"):
            if hygiene.too_deep(value):
                raise GuestError(
                    f"`{name}` of {export} nests deeper than {hygiene.NESTING} levels.", kind="type", hint="Flatten it."
                )
            return hygiene.json_text(value)
        return hygiene.plain(value)

    def _ok_text(self, shape: FunctionShape, answer: Any) -> str:
        if shape.fallible:
            if answer.tag == "err":
                raise faults.from_words(answer.payload)
            answer = answer.payload
        elif shape.result == "tool-manifest":
            answer = json.dumps({name.replace("-", "_"): value for name, value in vars(answer).items()})
        if len(answer) > self._limits.result_bytes:
            raise GuestError(
                f"{shape.name} returned {len(answer)} characters; {self._limits.result_bytes} are allowed.", kind="type"
            )
        return str(answer)

    def _failure(self, error: BaseException, export: str) -> GuestError:
        if self._stopped:
            return self._stop_error(self._stopped, export)
        return faults.from_engine(error, export, self._stderr.text())

    def _stop_error(self, why: str, export: str) -> GuestError:
        said = self._stderr.text()
        if why == "abort":
            return GuestError(f"{export} was stopped: {self._abort.reason or 'asked to'}.", kind="abort", traceback=said)
        return GuestError(
            f"{export} used up its {self._limits.cpu_ms} ms of processor time.", kind="timeout", traceback=said
        )

    def _deliver_output(self) -> None:
        for source, captured in (("stdout", self._stdout), ("stderr", self._stderr)):
            text = captured.text().partition(faults.LAST_WORDS)[0]
            if text.strip():
                self._say(source, text)

    def _say(self, source: str, text: str) -> None:
        if self._on_log is not None:
            self._on_log(source, text)


def run_in_thread(call: GuestCall, export: str, *args: str) -> Future[str]:
    """`call.run` on a daemon thread of its own; the future has its result or its GuestError."""
    future: Future[str] = Future()
    future.set_running_or_notify_cancel()

    def body() -> None:
        try:
            result = call.run(export, *args)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            future.set_exception(error)
        else:
            future.set_result(result)

    _start_thread(body, f"guest-{export}")
    return future


_stack_size = threading.Lock()


def _start_thread(body: Callable[[], None], name: str) -> threading.Thread:
    with _stack_size:  # the size is a global of the interpreter, read when a thread starts
        before = threading.stack_size(THREAD_STACK)
        try:
            thread = threading.Thread(target=body, name=name, daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


def _bounded(values: tuple[Any, ...], cap: int, what: str) -> None:
    size = sum(len(value) for value in values if type(value) is str)
    if size > cap:
        raise ThetisError(f"{what} are too large: {size} characters, {cap} are allowed.", code="too-large")


def _nothing(shape: FunctionShape) -> Any:
    """The answer when there is none to give."""
    if shape.fallible:
        return wc.Variant("err", json.dumps({"code": "internal", "message": f"The host failed in {shape.key}.", "hint": ""}))
    return {"": None, "u64": 0}.get(shape.result, "")


_CONTINUE = 0  # WASMTIME_UPDATE_DEADLINE_CONTINUE
_NO_FINALIZER = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))


@ctypes.CFUNCTYPE(  # type: ignore[untyped-decorator]
    ctypes.c_size_t,
    ctypes.POINTER(ffi.wasmtime_context_t),
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(ctypes.c_uint8),
)
def _on_deadline(_context: Any, _data: Any, delta: Any, kind: Any) -> int:
    """Called by the engine on the guest's thread when its deadline is reached: go on for a tick, or stop."""
    try:
        call = engine.current.call
        if isinstance(call, GuestCall) and call.tick():
            delta[0] = 1
            kind[0] = _CONTINUE
            return 0
    except BaseException:  # noqa: BLE001 - a guest that cannot be accounted for is stopped below
        pass
    stop = wasmtime.WasmtimeError("stopped by the host")
    return ctypes.cast(stop._consume(), ctypes.c_void_p).value or 0
