"""What the shims of all worlds share: loading the guest's bundle, guarding its calls, cleaning what it returns.

Runs inside wasm only. The module is imported while the snapshot is taken; `entry()` runs in each call's fresh store.
It must not trust the guest: whatever the guest raises or returns leaves here as text or as a typed error text.

Error texts are JSON {"code", "kind", "message", "hint", "traceback"}; `kind` is the kernel's GuestError kind.
"""

from __future__ import annotations

import binascii
import gc
import importlib
import importlib.machinery
import json
import marshal
import os
import pkgutil
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from typing import Any

import sandbag
import stdlib
import thetis_guest
from componentize_py_types import Err
from thetis_guest import HostError, _bind

ENTRY = "main"
TRACEBACK_CHARS = 16_000  # what a model can still read; the middle of a longer one is cut
WORDS_MARK = "\x1fthetis-last-words "  # read by thetis_kernel.wasm.faults: exports without a result can only trap

__all__ = ["WrongType", "boot", "entry", "guarded", "json_text", "last_words", "named"]


class WrongType(Exception):
    """The guest returned something its world does not allow."""


class _BundleFinder:
    """Imports from the bundle: {module name: marshalled code}. A name with children is a package."""

    def __init__(self, modules: dict[str, bytes]) -> None:
        self._modules = modules
        self._packages = {name.rpartition(".")[0] for name in modules} - {""}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._modules and name not in self._packages:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name in self._packages)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        code = self._modules.get(module.__name__)
        if code is not None:
            exec(marshal.loads(code), module.__dict__)  # noqa: S102 - the guest's own code, inside its own walls


def boot(**interfaces: types.ModuleType) -> None:
    """Called once, while the snapshot is taken: preload, connect the SDK to the host, and tidy the heap."""
    stdlib.preload()
    for found in pkgutil.iter_modules(thetis_guest.__path__):
        importlib.import_module("thetis_guest." + found.name)
    sandbag.lay(interfaces)
    _bind.connect(interfaces)
    gc.collect()
    gc.freeze()  # a collection in a call then leaves the snapshot's pages alone, and shared


def entry() -> types.ModuleType:
    """The guest's entry module, loaded from the bundle the host hands out."""
    modules = marshal.loads(binascii.a2b_base64(_bind.raw("sys", "code")()))
    if not isinstance(modules, dict) or ENTRY not in modules:
        raise WrongType(f"the bundle has no module {ENTRY!r}")
    sys.meta_path.insert(0, _BundleFinder(modules))
    return importlib.import_module(ENTRY)


def named(module: types.ModuleType, name: str) -> Callable[..., Any]:
    """The entry module's function `name`."""
    function = getattr(module, name, None)
    if not callable(function):
        raise WrongType(f"{ENTRY}.py has no function {name}()")
    return function  # type: ignore[no-any-return]


def json_text(value: object, kind: type | tuple[type, ...], what: str) -> str:
    """`value` as JSON text, if it is a `kind`."""
    if not isinstance(value, kind):
        wanted = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
        raise WrongType(f"{what} returned {type(value).__name__}, not {wanted}")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise WrongType(f"{what} returned something JSON cannot hold: {error}") from None


def guarded(run: Callable[[], str]) -> str:
    """Run an export that has a result: its text, or Err with an error text. Nothing else leaves."""
    try:
        text = run()
        if type(text) is not str:
            raise WrongType(f"an export returned {type(text).__name__}, not text")
        return _bind.scrub(text)
    except BaseException as error:  # noqa: BLE001 - SystemExit and the like must not trap either
        words = _words(error)
    finally:
        _flush()
    raise Err(words)  # outside the handler: a chained exception would keep the guest's frames alive


def last_words(run: Callable[[], Any]) -> Any:
    """Run an export that has no result: on failure say why on stderr, where the host reads it, and trap."""
    try:
        return run()
    except BaseException as error:  # noqa: BLE001 - as in guarded
        words = _words(error)
    finally:
        _flush()
    os.write(2, f"\n{WORDS_MARK}{words}\n".encode())
    raise SystemExit(70)


def _flush() -> None:
    """What the guest printed without a line's end; it may have put anything in the streams' place."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001 - then there is nothing to save
            continue


def _words(error: BaseException) -> str:
    fields = {"code": "guest-exception", "kind": "error", "message": "", "hint": "", "traceback": ""}
    try:
        if isinstance(error, HostError):
            fields.update(code=str(error.code), hint=str(error.hint), message=str(error.message))
        else:
            fields["message"] = _sentence(error)
            if isinstance(error, MemoryError) and not error.args:  # with words it is the parser's stack
                fields["kind"] = "memory"
            elif isinstance(error, SystemExit):
                fields["kind"] = "exit"
            elif isinstance(error, WrongType):
                fields.update(kind="type", code="wrong-type", message=str(error))
        fields["traceback"] = _traceback(error)
    except BaseException as second:  # noqa: BLE001 - a hostile __str__, or no memory left to format with
        fields["message"] = fields["message"] or type(error).__name__
        fields["traceback"] = f"(the traceback could not be formatted: {type(second).__name__})"
    return _bind.scrub(json.dumps(fields, ensure_ascii=False))


def _sentence(error: BaseException) -> str:
    """`Name: what it says`, without the notes: they follow, and a guest writes them."""
    described = traceback.TracebackException.from_exception(error, limit=0)
    described.__notes__ = None  # type: ignore[attr-defined]
    return list(described.format_exception_only())[-1].strip()  # a SyntaxError shows its place first


def _traceback(error: BaseException) -> str:
    """The traceback from the guest's first frame on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in _OWN:
        trace = trace.tb_next
    if trace is None and isinstance(error, WrongType):
        return ""
    text = "".join(traceback.format_exception(error.with_traceback(trace)))
    if len(text) > TRACEBACK_CHARS:
        half = TRACEBACK_CHARS // 2
        text = f"{text[:half]}\n... {len(text) - 2 * half} characters cut ...\n{text[-half:]}"
    return text


_OWN = frozenset(
    {"loader", "sandbag", "tool_shim", "agent_shim", "gateway_shim", "importlib", "importlib._bootstrap", "_frozen_importlib"}
)
