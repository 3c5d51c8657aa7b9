"""Sources to bundles, inside wasm: compiling hostile source is as dangerous as running it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from thetis_kernel.errors import GateError, GuestError
from thetis_kernel.wasm.call import GuestCall, run_in_thread
from thetis_kernel.wasm.limits import COMPILER_LIMITS, Limits

if TYPE_CHECKING:
    from thetis_kernel.wasm.abort import Abort
    from thetis_kernel.wasm.engine import Runtime

Diagnostic = dict[str, Any]


def compile_bundle(
    runtime: Runtime, modules: Mapping[str, str], *, limits: Limits = COMPILER_LIMITS, abort: Abort | None = None
) -> str:
    """The bundle, base64, of {module name: source}; the entry module is `main`, dots make packages.

    Raises GateError at step "compile" with diagnostics [{"path", "line", "message"}], GuestError when compiling used
    up its limits.
    """
    call = GuestCall(runtime, "", {}, limits, abort)
    try:
        return run_in_thread(call, "compile", json.dumps(dict(modules))).result()
    except GuestError as error:
        if error.kind != "error":
            raise
        found = _diagnostics(error.data["error"]["message"])
    first = found[0]
    raise GateError(
        f"{first['path']}:{first['line']}: {first['message']}.", step="compile", diagnostics=found, hint="Correct the source."
    )


def check_sources(
    runtime: Runtime, modules: Mapping[str, str], *, limits: Limits = COMPILER_LIMITS, abort: Abort | None = None
) -> list[Diagnostic]:
    """Diagnostics of {module name: source} without making a bundle; empty when all compile."""
    call = GuestCall(runtime, "", {}, limits, abort)
    return _diagnostics(run_in_thread(call, "check", json.dumps(dict(modules))).result())


def _diagnostics(text: str) -> list[Diagnostic]:
    found = json.loads(text)
    return [{"path": str(one["path"]), "line": int(one["line"]), "message": str(one["message"])} for one in found]
