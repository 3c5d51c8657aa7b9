"""The host's side of one running call: the one place where host code meets a guest.

Every import of every world passes `HostSide.answer`: argument and answer caps, text hygiene, typed errors, processor
time, and abort. It raises nothing, whatever an import does, and knows nothing of what an import is for.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import wasmtime

from thetis_kernel.errors import ThetisError
from thetis_kernel.wasm import hygiene
from thetis_kernel.wasm.abort import Abort
from thetis_kernel.wasm.budget import Budget
from thetis_kernel.wasm.contract import FunctionShape
from thetis_kernel.wasm.limits import Limits
from thetis_kernel.wasm.native import Answer

Imports = Mapping[str, Callable[..., "str | int | None"]]
OnLog = Callable[[str, str], None]

LEVELS = ("debug", "info", "warn", "error")
_MESSAGE = 16_000  # characters of an error's message or hint
_LOG_LINE = 64  # characters a log line counts for beyond its own: a flood of empty lines ends too


class HostSide:
    """One per call, on the guest's thread. `store` is set while the store is open; `stopped` says why it was ended."""

    def __init__(self, bundle: str, imports: Imports, limits: Limits, abort: Abort, on_log: OnLog | None) -> None:
        self._imports = imports
        self._limits = limits
        self._abort = abort
        self._on_log = on_log
        self._log_room = limits.output_bytes
        self.budget = Budget(limits.cpu_ms)
        self.store: wasmtime.Store | None = None
        self.stopped = ""  # or "timeout", "abort"
        self._defaults: dict[str, Callable[..., str | int | None]] = {
            "sys.log": self._log,
            "sys.now-ms": lambda: time.time_ns() // 1_000_000,
            "sys.sleep": lambda ms: self._sleep(ms),
        }
        self._code = bundle

    def tick(self) -> bool:
        """Called at each epoch while wasm runs: whether the call may go on."""
        if self._abort.fired:
            self.stopped = self.stopped or "abort"
        elif self.budget.left() <= 0:
            self.stopped = self.stopped or "timeout"
        return not self.stopped

    def answer(self, shape: FunctionShape, args: list[Any]) -> Answer:
        """The answer to one import call."""
        self.budget.enter_import()
        try:
            result = self._answer(shape, args)
        except ThetisError as error:
            result = _refusal(shape, error)
        except BaseException as error:  # noqa: BLE001 - nothing may leave an import
            self._report(shape, error)
            result = _nothing(shape)
        if self._abort.fired:
            self._stop("abort")
        elif self.budget.left() <= 0:
            self._stop("timeout")
        self.budget.leave_import()
        return result

    def say(self, source: str, text: str) -> None:
        """Hand a line to the call's log; a log that fails is the host's own trouble, not the guest's."""
        if self._on_log is not None:
            try:
                self._on_log(source, text)
            except BaseException:  # noqa: BLE001 - nothing may leave an import
                self._on_log = None

    def _answer(self, shape: FunctionShape, args: list[Any]) -> Answer:
        if self._abort.fired:
            return _nothing(shape)
        if shape.key == "sys.code":
            return self._code
        self._bounded(args, f"The arguments of {shape.key}")
        if shape.key == "sys.log" and not self._log_fits(args):
            return None
        function = self._imports.get(shape.key) or self._defaults.get(shape.key)
        if function is None:
            raise ThetisError(f"{shape.key} is not available here.", code="unavailable")
        if shape.key != "sys.sleep":
            return self._checked(shape, function(*args))
        began = time.monotonic()
        function(*args)
        self.budget.charge(time.monotonic() - began)
        return None

    def _checked(self, shape: FunctionShape, value: Any) -> Answer:
        """What an import returned, as it may go in."""
        if not shape.result:
            return None
        if shape.result == "u64":
            return min(max(int(value), 0), 2**64 - 1)
        if type(value) is not str:
            raise TypeError(f"{shape.key} answered {type(value).__name__}, not text")
        self._bounded([value], f"The answer of {shape.key}")
        if not shape.answers_json:
            return True, hygiene.plain(value)
        if hygiene.too_deep(value):
            raise ThetisError(f"The answer of {shape.key} nests deeper than {hygiene.NESTING} levels.", code="too-deep")
        return True, hygiene.json_text(value)

    def _bounded(self, values: list[Any], what: str) -> None:
        size, cap = sum(len(value) for value in values if type(value) is str), self._limits.argument_bytes
        if size > cap:
            raise ThetisError(f"{what} are too large: {size} characters, {cap} are allowed.", code="too-large")

    def _stop(self, why: str) -> None:
        """From inside an import: end the call as soon as wasm runs again."""
        self.stopped = self.stopped or why
        if self.store is not None:
            self.store.set_epoch_deadline(0)

    def _report(self, shape: FunctionShape, error: BaseException) -> None:
        """For people: the guest only hears that the host failed."""
        try:
            self.say("host", f"{shape.key} failed: " + "".join(traceback.format_exception(error)))
        except BaseException:  # noqa: BLE001 - no memory to say it with
            return

    def _log(self, level: str, message: str) -> None:
        self.say(level if level in LEVELS else "info", hygiene.plain(message))

    def _log_fits(self, args: list[Any]) -> bool:
        """Whether another log line may go out; the first that may not says so."""
        room, self._log_room = self._log_room, self._log_room - sum(map(len, args)) - _LOG_LINE
        if self._log_room >= 0:
            return True
        if room >= 0:
            self.say("warn", f"log cut: the guest logged more than {self._limits.output_bytes} characters")
        return False

    def _sleep(self, ms: int) -> None:
        self._abort.wait(min(ms / 1000, max(self.budget.left(), 0)))


def _refusal(shape: FunctionShape, error: ThetisError) -> Answer:
    if not shape.fallible:
        return _nothing(shape)
    try:
        fields = {"code": error.code, "message": error.message[:_MESSAGE], "hint": error.hint[:_MESSAGE]}
        return False, hygiene.plain(json.dumps(fields, ensure_ascii=False))
    except BaseException:  # noqa: BLE001 - an error whose fields are no text
        return _nothing(shape)


def _nothing(shape: FunctionShape) -> Answer:
    """The answer when there is none to give."""
    if shape.fallible:
        return False, f'{{"code":"internal","message":"The host failed in {shape.key}.","hint":""}}'
    return 0 if shape.result == "u64" else "" if shape.result else None
