"""How the SDK reaches the host: one place where values become the contract's text and answers become values.

In a runtime the shim connects the generated bindings of its world. Natively, in unit tests only, `install` puts plain
functions in their place under the contract's names ("session.read", "sys.now-ms").
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from thetis_guest._errors import HostError

Import = Callable[..., Any]

_native: Mapping[str, Import] | None = None
_interfaces: Mapping[str, Any] = {}


def connect(interfaces: Mapping[str, Any]) -> None:
    """Use the bindings of a runtime: {interface name: generated module}. Called by the shim, once."""
    global _interfaces
    _interfaces = dict(interfaces)


def install(imports: Mapping[str, Import] | None) -> None:
    """Use plain functions, keyed "interface.function" as in the contract; None removes them again."""
    global _native
    _native = imports


def raw(interface: str, function: str) -> Import:
    """The import itself. Raises HostError `unavailable` when this world does not have it."""
    if _native is not None:
        found = _native.get(f"{interface}.{function}")
    else:
        module = _interfaces.get(interface)
        found = None if module is None else getattr(module, function.replace("-", "_"), None)
    if found is None:
        raise HostError("unavailable", f"This world has no {interface}.{function}.", "")
    return found  # type: ignore[no-any-return]


def text(interface: str, function: str, *args: str | int | bool) -> str:
    """Call a fallible import: its ok text. Raises HostError with what the host said."""
    found = raw(interface, function)
    clean = [scrub(arg) if type(arg) is str else arg for arg in args]
    try:
        return found(*clean)  # type: ignore[no-any-return]
    except HostError:
        raise
    except Exception as error:
        problem = _host_error(error)
        if problem is None:
            raise
    raise problem


def value(interface: str, function: str, *args: str | int | bool) -> Any:
    """Call a fallible import whose ok is JSON: the parsed value."""
    answer = text(interface, function, *args)
    return json.loads(answer) if answer else None


def dumps(payload: object) -> str:
    """JSON text of `payload`, as the contract wants it: compact, NaN refused."""
    return json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def scrub(words: str) -> str:
    """`words` without lone surrogates, which cannot cross the boundary (U+FFFD takes their place)."""
    try:
        words.encode("utf-8")
    except UnicodeEncodeError:
        return words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return words


def _host_error(error: Exception) -> HostError | None:
    """The HostError in the bindings' Err(value), or in a kernel error a native fake raised; None for anything else."""
    payload = getattr(error, "value", None)
    if isinstance(payload, str):
        try:
            fields = json.loads(payload)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            fields = {"message": payload}
        return HostError(
            str(fields.get("code", "host-error")), str(fields.get("message", "")), str(fields.get("hint", ""))
        )
    code, message = getattr(error, "code", None), getattr(error, "message", None)
    if isinstance(code, str) and isinstance(message, str):
        return HostError(code, message, str(getattr(error, "hint", "")))
    return None
