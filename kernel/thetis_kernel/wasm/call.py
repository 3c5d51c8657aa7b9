"""One call of one guest: a fresh store, its limits, its imports, and one typed outcome."""

from __future__ import annotations

import json
import threading
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from typing import Any

import wasmtime

from thetis_kernel.errors import GuestError
from thetis_kernel.wasm import engine, faults, hygiene, native
from thetis_kernel.wasm.abort import Abort
from thetis_kernel.wasm.contract import FunctionShape
from thetis_kernel.wasm.engine import Runtime
from thetis_kernel.wasm.host import HostSide, Imports, OnLog
from thetis_kernel.wasm.limits import Limits
from thetis_kernel.wasm.output import Captured
from thetis_kernel.wasm.spares import Spares
from thetis_kernel.wasm.stage import Stage
from thetis_kernel.wasm.threads import start_thread

__all__ = ["Abort", "GuestCall", "Imports", "OnLog", "run_in_thread", "stores_opened", "stuck_calls"]

WORKSPACE = "/workspace"

_count_lock = threading.Lock()
_opened = 0


def stores_opened() -> int:
    """How many stores this process has opened for calls: every guest call has one of its own."""
    return _opened


def stuck_calls() -> int:
    """Calls that were given up because nothing stops them; a process that has one should be replaced."""
    return engine.ticker().stuck_calls()


class GuestCall:
    """A call to be made, once.

    `bundle`: base64 of the guest's code, "" for the compiler. `imports`: keyed "interface.function"; each takes the
    contract's parameters and returns the ok text (int for now-ms, None for log and sleep), or raises ThetisError for
    an err; a missing one answers err `unavailable`, except sys.log, now-ms, sleep and code, which have defaults.
    `on_log(source, text)`: source is a level of sys.log, "stdout" or "stderr" (at the end of the call), or "host" for
    a failure inside an import. `workspace`: a directory the guest sees as /workspace. `spares`: where a stage for it may
    stand ready.
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
        spares: Spares | None = None,
    ) -> None:
        self._runtime = runtime
        self._limits = limits
        self._abort = abort or Abort()
        self._host = HostSide(bundle, imports, limits, self._abort, on_log)
        self._workspace = workspace
        self._workspace_writable = workspace_writable
        self._spares = spares
        self._stage: Stage | None = None
        self._stderr = ""
        self._future: Future[str] = Future()
        self._export = ""

    def run(self, export: str, *args: str) -> str:
        """Call `export` and return its ok text (a tool's manifest as JSON text). Blocks.

        Raises GuestError: kind "error" for an err or an exception of the guest, else trap, timeout, memory, type,
        exit or abort. It runs on a thread of its own unless this one was made by `run_in_thread`.
        """
        if native.current.ours and native.current.call is None:
            try:
                return self._run_here(export, *args)
            finally:
                self._leave()
        try:
            return run_in_thread(self, export, *args).result()
        except GuestError:
            raise
        except BaseException:  # a Ctrl-C of whoever waits; the guest must not run on
            self._abort.fire("the caller was interrupted")
            raise

    def stuck(self, now: float, grace: float) -> bool:
        """Whether the call should have ended `grace` seconds before `now` (monotonic) and nothing can end it."""
        stopping = self._abort.fired_at
        aborted = stopping is not None and now - stopping > grace and not self._host.budget.in_import
        return aborted or self._host.budget.overdue(now, grace)

    @property
    def in_import(self) -> bool:
        """Whether the host answers an import of it now."""
        return self._host.budget.in_import

    def give_up(self) -> None:
        """Give whoever waits the error of a call that is stuck."""
        self._host.stopped = self._host.stopped or ("abort" if self._abort.fired else "timeout")
        error = self._stop_error()
        error.hint = "It waits where nothing can stop it; its process should be replaced."
        _settle(self._future, error=error)

    def _run_here(self, export: str, *args: str) -> str:
        shape = self._runtime.exports.get(export)
        if shape is None or len(args) != len(shape.params):
            raise GuestError(f"The world {self._runtime.world} has no export {export} with {len(args)} values.", kind="type")
        self._export = export
        clean = [self._clean_argument(name, value) for (name, _), value in zip(shape.params, args, strict=True)]
        if self._abort.fired:
            self._host.stopped = "abort"
            raise self._stop_error()
        native.current.call = self._host
        stdout, stderr = Captured(self._limits.output_bytes), Captured(self._limits.output_bytes)
        try:
            self._host.budget.resumed = engine.ticker().rouse
            with engine.ticker().running(self):
                answer = self._call_in_fresh_store(clean, stdout, stderr)
        except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
            self._stderr = stderr.text()
            raise self._failure(error) from None
        finally:
            native.current.call = None
            self._deliver("stdout", stdout)
            self._deliver("stderr", stderr)
        return self._ok_text(shape, answer)

    def _call_in_fresh_store(self, args: list[str], stdout: Captured, stderr: Captured) -> Any:
        global _opened
        with _count_lock:
            _opened += 1
        self._host.budget.start()
        stage = self._stage = self._ready() or Stage(self._runtime, self._limits, self._host)
        self._host.store = stage.store
        try:
            function = stage.export(self._export, self._wasi(stdout, stderr))
            if function is None:
                raise GuestError(f"The runtime has no export {self._export}.", kind="type")
            return native.call_export(stage.store, function, args)
        finally:
            self._host.store = None

    def _ready(self) -> Stage | None:
        return None if self._spares is None else self._spares.take(self._runtime, self._limits)

    def _leave(self) -> None:
        """Close the call's store, once whoever waited has its answer: that takes as long as a sixth of a call."""
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()
            if self._spares is not None:
                self._spares.restock()

    def _wasi(self, stdout: Captured, stderr: Captured) -> wasmtime.WasiConfig:
        wasi = wasmtime.WasiConfig()  # nothing inherited: no environment, arguments, stdin, files or network
        wasi.stdout_file = stdout.path
        wasi.stderr_file = stderr.path
        stdout.limit()
        stderr.limit()
        if self._workspace is not None:
            wasi.preopen_dir(str(self._workspace), WORKSPACE, self._workspace_writable)
        return wasi

    def _clean_argument(self, name: str, value: str) -> str:
        if len(value) > self._limits.argument_bytes:
            raise GuestError(
                f"`{name}` of {self._export} has {len(value)} characters; {self._limits.argument_bytes} are allowed.", kind="type"
            )
        if not name.endswith("-json"):
            return hygiene.plain(value)
        if hygiene.too_deep(value):
            raise GuestError(
                f"`{name}` of {self._export} nests deeper than {hygiene.NESTING} levels.", kind="type", hint="Flatten it."
            )
        return hygiene.json_text(value)

    def _ok_text(self, shape: FunctionShape, answer: Any) -> str:
        if shape.fallible:
            ok, answer = answer
        elif shape.result == "tool-manifest":
            ok, answer = True, json.dumps({name.replace("-", "_"): value for name, value in answer.items()})
        else:
            ok = True
        if len(answer) > self._limits.result_bytes:
            raise GuestError(
                f"{shape.name} returned {len(answer)} characters; {self._limits.result_bytes} are allowed.", kind="type"
            )
        if not ok:
            raise faults.from_words(answer)
        return str(answer)

    def _failure(self, error: wasmtime.WasmtimeError | wasmtime.Trap) -> GuestError:
        return self._stop_error() if self._host.stopped else faults.from_engine(error, self._export, self._stderr)

    def _stop_error(self) -> GuestError:
        if self._host.stopped == "abort":
            return GuestError(
                f"{self._export} was stopped: {self._abort.reason or 'asked to'}.", kind="abort", traceback=self._stderr
            )
        return GuestError(
            f"{self._export} used up its {self._limits.cpu_ms} ms of processor time.", kind="timeout", traceback=self._stderr
        )

    def _deliver(self, source: str, captured: Captured) -> None:
        try:
            text = captured.text().partition(faults.LAST_WORDS)[0]
        finally:
            captured.close()
        if text.strip():
            self._host.say(source, text)


def run_in_thread(call: GuestCall, export: str, *args: str) -> Future[str]:
    """`call.run` on a daemon thread of its own; the future has its result or its GuestError."""
    future = call._future
    future.set_running_or_notify_cancel()

    def body() -> None:
        native.current.ours = True
        try:
            result = call._run_here(export, *args)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            _settle(future, error=error)
        else:
            _settle(future, result=result)
        finally:
            call._leave()

    start_thread(body, f"guest-{export}")
    return future


def _settle(future: Future[str], *, result: str = "", error: BaseException | None = None) -> None:
    try:
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
    except InvalidStateError:
        return  # given up on before: the late outcome has nobody waiting for it
