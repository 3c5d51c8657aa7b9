"""Changes to the guest's Python so that mishaps become exceptions with a traceback instead of traps.

None of this is a wall: a guest that undoes it meets the engine's limits and is stopped, only with less to read.
"""

from __future__ import annotations

import functools
import io
import itertools
import json.decoder
import math
import os
import re
import sys
import time
import types
from collections.abc import Callable, Mapping
from typing import Any

from thetis_guest._bind import scrub

JSON_DEPTH = 1_000  # levels the C scanner certainly manages on the wasm stack; 2,000 were fine, 5,000 exhausted it

_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


def lay(interfaces: Mapping[str, types.ModuleType]) -> None:
    """Apply all changes; `interfaces` are the generated bindings of this world."""
    for module in interfaces.values():
        for name, function in list(vars(module).items()):
            if isinstance(function, types.FunctionType):
                setattr(module, name, _checked(function))
    if "sys" in interfaces:
        time.sleep = functools.partial(_sleep, interfaces["sys"])
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = io.BufferedWriter(_Lossy(descriptor))
        setattr(sys, name, io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", line_buffering=True))
    decoder: Any = json.decoder.JSONDecoder
    decoder.raw_decode = _shallow(decoder.raw_decode)


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """An import that takes only what its contract says: a wrong type or a lone surrogate would trap."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    kinds = [{"str": str, "int": int, "bool": bool}.get(str(_plain(function, name)), object) for name in names]

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        if len(args) != len(kinds):
            raise TypeError(f"{function.__name__}() takes {len(kinds)} values, {len(args)} given")
        for name, kind, value in zip(names, kinds, args, strict=True):
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise TypeError(f"{function.__name__}(): `{name}` is {type(value).__name__}, not {kind.__name__}")
        return function(*[scrub(str(value)) if isinstance(value, str) else value for value in args])

    return call


def _plain(function: Callable[..., Any], name: str) -> object:
    kind = function.__annotations__.get(name, object)
    return kind.__name__ if isinstance(kind, type) else kind


def _sleep(host: types.ModuleType, seconds: float) -> None:
    """Sleeping inside wasm would hold the host's thread where no deadline reaches it, so the host sleeps."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    host.sleep(min(math.ceil(seconds * 1000), 2**32 - 1))


class _Lossy(io.RawIOBase):
    """A stream whose host stops taking bytes at a cap: the rest is dropped instead of failing a print."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            return len(data)
        return len(data)


def _shallow(decode: Callable[..., Any]) -> Callable[..., Any]:
    """`raw_decode` that refuses what would exhaust the stack; free for anything with few brackets."""

    def raw_decode(self: json.JSONDecoder, text: str, idx: int = 0) -> Any:
        if text.count("[") + text.count("{") > JSON_DEPTH and _deep(text):
            raise RecursionError(f"JSON nested more than {JSON_DEPTH} levels")
        return decode(self, text, idx)

    return raw_decode


def _deep(text: str) -> bool:
    outside = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])  # every second piece is not a string
    brackets = re.sub(r"[^\[\]{}]+", "", outside)
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0) > JSON_DEPTH
