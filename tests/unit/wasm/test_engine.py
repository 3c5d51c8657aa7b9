"""The engine's configuration: what guests do not need is refused before it runs."""

from __future__ import annotations

import pytest
import wasmtime
from thetis_kernel.wasm.engine import engine
from thetis_kernel.wasm.settings import ENGINE_SETTINGS, WASM_STACK

PROPOSALS = {
    "threads": "(module (memory 1 1 shared))",
    "memory64": "(module (memory i64 1))",
    "gc": "(module (type (struct (field i32))))",
    "exceptions": "(module (tag))",
    "function-references": "(module (type $t (func)) (func (param (ref $t))))",
    "tail-call": "(module (func $f return_call $f))",
    "relaxed-simd": "(module (func (param v128 v128 v128) local.get 0 local.get 1 local.get 2 f32x4.relaxed_madd drop))",
    "wide-arithmetic": "(module (func (param i64 i64 i64 i64) (result i64 i64)"
    " local.get 0 local.get 1 local.get 2 local.get 3 i64.add128))",
    "custom-page-sizes": "(module (memory 1 (pagesize 1)))",
}


@pytest.mark.parametrize("wat", PROPOSALS.values(), ids=PROPOSALS)
def test_a_proposal_that_is_off_is_refused(wat):
    with pytest.raises(wasmtime.WasmtimeError):
        wasmtime.Module(engine(), wat)


def test_what_the_runtimes_use_is_accepted():
    wasmtime.Module(engine(), "(module (memory 1) (table 1 funcref) (func (param v128)))")


def test_epochs_are_on_and_the_stack_is_two_mebibytes():
    assert ENGINE_SETTINGS["epoch_interruption"] is True
    assert ENGINE_SETTINGS["max_wasm_stack"] == WASM_STACK == 2 << 20
    store = wasmtime.Store(engine())  # without a deadline callback the first epoch traps
    loop = wasmtime.Instance(store, wasmtime.Module(engine(), '(module (func (export "f") (loop br 0)))'), [])
    store.set_epoch_deadline(1)
    engine().increment_epoch()
    with pytest.raises(wasmtime.Trap, match="interrupt"):
        loop.exports(store)["f"](store)
