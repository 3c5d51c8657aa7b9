"""Runtimes linked on several threads at once, as the turns of a conversation and its sub-agents do: no import becomes another."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from thetis_kernel.wasm import native
from thetis_kernel.wasm.contract import FunctionShape


class Instance:
    def ptr(self) -> None:
        return None


def test_each_function_keeps_its_own_shape_whoever_links_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    linked: list[tuple[bytes, int]] = []

    def add(_instance: Any, name: Any, _length: int, _callback: Any, index: int, _finalizer: Any) -> None:
        linked.append((name.value, index))

    monkeypatch.setattr(native, "_raise", lambda error: None)
    monkeypatch.setattr(native.ffi, "wasmtime_component_linker_instance_add_func", add)
    shapes = [FunctionShape("linking", f"function-{n}", (("a", "string"),), "string") for n in range(100)]
    before, start = sys.getswitchinterval(), threading.Barrier(8)

    def link() -> None:
        start.wait()
        for shape in shapes:
            native.add_function(Instance(), shape)  # type: ignore[arg-type]

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=link) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len(linked) == 800
    assert all(native._shapes[index].name.encode() == name for name, index in linked)
    assert len({index for _, index in linked}) == 100, "linking again takes no more room"
