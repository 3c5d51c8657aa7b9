"""The engine's C interface, where the binding will not do: host functions, exports, the deadline callback.

The binding keeps an exception of a host function in a module global that another thread can pick up, dies of anything
that is no Exception, and asks for types again at each call (about eighty crossings a call, each giving up the
interpreter's lock). Here every callback catches everything and answers from the contract's shapes. Knows the four
kinds of values the contract has: string, bool, u32 and u64, results of strings, and one record on the way out.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Protocol

import wasmtime
from wasmtime import _ffi as ffi
from wasmtime import component as wc

from thetis_kernel.wasm.contract import FunctionShape

Answer = tuple[bool, str] | str | int | None
"""What a host function answers: (is_ok, text) for a fallible one, else the value itself."""


class Running(Protocol):
    """The host's side of a running call."""

    def answer(self, shape: FunctionShape, args: list[Any]) -> Answer:
        """The answer to an import; never an exception."""
        ...

    def tick(self) -> bool:
        """Whether the call may go on for another epoch."""
        ...


class _Current(threading.local):
    call: Running | None = None
    ours = False


current = _Current()
"""Of this thread: `call` is the innermost call running, `ours` whether the thread was made for guests (its stack)."""

_BOOL, _U32, _U64, _STRING, _RECORD, _RESULT = 0, 6, 8, 12, 14, 19  # wasmtime/component/val.h
_CONTINUE = 0  # WASMTIME_UPDATE_DEADLINE_CONTINUE
_NO_FINALIZER = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))
_BYTES = ctypes.POINTER(ctypes.c_uint8)

_shapes: list[FunctionShape] = []  # a host function's C closure is the index of its shape
_numbers: dict[FunctionShape, int] = {}
_numbering = threading.Lock()


def _number(shape: FunctionShape) -> int:
    """The index of the shape, the same one however often and on however many threads at once it is linked.

    Two shapes under one index would have an import answered as another one, past the permission it needs.
    """
    with _numbering:
        if shape not in _numbers:
            _shapes.append(shape)
            _numbers[shape] = len(_shapes) - 1
        return _numbers[shape]


def add_function(instance: wc.LinkerInstance, shape: FunctionShape) -> None:
    """Let `shape` of an imported interface be answered by whatever call runs on the thread."""
    name = shape.name.encode()
    _raise(
        ffi.wasmtime_component_linker_instance_add_func(
            instance.ptr(), ctypes.create_string_buffer(name), len(name), _on_import, _number(shape), _NO_FINALIZER
        )
    )


def watch_deadline(store: wasmtime.Store) -> None:
    """Ask the running call at every epoch whether it may go on."""
    ffi.wasmtime_store_epoch_deadline_callback(store.ptr(), _on_deadline, None, _NO_FINALIZER)
    store.set_epoch_deadline(1)


def call_export(store: wasmtime.Store, function: wc.Func, args: list[str]) -> tuple[bool, str] | str | dict[str, Any]:
    """Call an export whose parameters are strings. A record comes back as a dict of its fields.

    Raises wasmtime.WasmtimeError or wasmtime.Trap.
    """
    values, result = (ffi.wasmtime_component_val_t * len(args))(), ffi.wasmtime_component_val_t()
    try:
        for place, text in zip(values, args, strict=True):
            _put_text(place, text)
        _raise(
            ffi.wasmtime_component_func_call(
                ctypes.byref(function._func), store._context(), values, len(args), ctypes.byref(result), 1
            )
        )
        return _taken(result)  # type: ignore[no-any-return]
    finally:
        for place in (*values, result):
            if place.kind != _BOOL:  # untouched values are zero, which is this kind
                ffi.wasmtime_component_val_delete(ctypes.byref(place))


def _raise(error: Any) -> None:
    if error:
        raise wasmtime.WasmtimeError._from_ptr(error)


def _taken(value: Any) -> Any:
    """The Python value of a component value, which stays its owner's."""
    kind = value.kind
    if kind == _STRING:
        text = value.of.string
        return ctypes.string_at(text.data, text.size).decode() if text.size else ""
    if kind == _RESULT:
        result = value.of.result
        return bool(result.is_ok), _taken(result.val.contents)
    if kind == _BOOL:
        return bool(value.of.boolean)
    if kind == _U32:
        return int(value.of.u32)
    if kind == _U64:
        return int(value.of.u64)
    if kind == _RECORD:
        fields = value.of.record
        return {_name(fields.data[n].name): _taken(fields.data[n].val) for n in range(fields.size)}
    raise TypeError(f"a component value of kind {kind}")


def _name(name: Any) -> str:
    return ctypes.string_at(name.data, name.size).decode()


def _put_text(place: Any, text: str) -> None:
    data = text.encode()
    ffi.wasm_byte_vec_new(ctypes.byref(place.of.string), len(data), ctypes.cast(ctypes.c_char_p(data), _BYTES))
    place.kind = _STRING


def _put(place: Any, shape: FunctionShape, answer: Answer) -> None:
    if isinstance(answer, tuple):
        inner = ffi.wasmtime_component_val_t()
        _put_text(inner, answer[1])
        place.of.result.val = ffi.wasmtime_component_val_new(ctypes.byref(inner))  # takes what `inner` owned
        place.of.result.is_ok = answer[0]
        place.kind = _RESULT
    elif isinstance(answer, str):
        _put_text(place, answer)
    elif isinstance(answer, int):
        place.of.u64 = answer
        place.kind = _U64
    else:
        raise TypeError(f"{shape.key} has no answer")


def _stopped(reason: str) -> int:
    """A C error that ends the call, for a callback to return."""
    error = wasmtime.WasmtimeError(reason)
    return ctypes.cast(error._consume(), ctypes.c_void_p).value or 0


@ffi.wasmtime_component_func_callback_t  # type: ignore[untyped-decorator]
def _on_import(index: Any, _context: Any, _type: Any, args: Any, count: Any, results: Any, _results: Any) -> int:
    """Called by wasm on the guest's thread. Nothing may leave it as an exception."""
    try:
        shape, call = _shapes[index or 0], current.call
        if call is not None:
            answer = call.answer(shape, [_taken(args[n]) for n in range(count)])
            if shape.result:
                _put(results[0], shape, answer)
            return 0
        reason = "no call is running"
    except BaseException as error:  # noqa: BLE001 - whatever it is, it must end here
        reason = f"the host ran into {type(error).__name__}"
    return _stopped(reason)


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
        call = current.call
        if call is not None and call.tick():
            delta[0] = 1
            kind[0] = _CONTINUE
            return 0
        reason = "stopped by the host"
    except BaseException as error:  # noqa: BLE001 - a guest that cannot be accounted for is stopped
        reason = f"the host ran into {type(error).__name__}"
    return _stopped(reason)
