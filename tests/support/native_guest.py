"""Loads a guest's directory natively, with fake imports, for unit tests of its logic. Nothing else may run guests so."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from thetis_kernel.paths import builtin_root


@contextlib.contextmanager
def native_guest(directory: Path, imports: Mapping[str, Callable[..., object]] | None = None) -> Iterator[ModuleType]:
    """The `main` module of the guest in `directory`; its SDK calls go to `imports` ("session.read": function).

    A fake takes the contract's parameters and returns the ok text; for an err it raises `thetis_guest.HostError`.
    Modules of the guest are forgotten afterwards, so that two guests never share one.
    """
    guest_root = str(builtin_root() / "guest")
    own = {path.stem for path in directory.glob("*.py")} | {path.name for path in directory.iterdir() if path.is_dir()}

    def forget() -> None:
        for name in [name for name in sys.modules if name.split(".")[0] in own]:
            del sys.modules[name]

    before = list(sys.path)
    sys.path[:0] = [str(directory), guest_root]
    try:
        from thetis_guest import _bind

        forget()
        _bind.install(dict(imports or {}))
        yield importlib.import_module("main")
    finally:
        forget()
        sys.path[:] = before
        sys.modules["thetis_guest._bind"].install(None)


def shipped_tools() -> list[dict[str, Any]]:
    """Every tool guest that ships, as the registry describes it to the agent."""
    tools = builtin_root() / "tools"
    return [manifest(path) for path in sorted(tools.iterdir()) if path.is_dir() and not path.name.startswith("_")]


def manifest(directory: Path) -> dict[str, Any]:
    """A tool guest as the registry describes it."""
    with native_guest(directory) as guest:
        told = guest.describe()
    return {"name": told.name, "description": told.description, "input_schema": told.input_schema, "group": told.group,
            "mutating": told.mutating}  # fmt: skip
