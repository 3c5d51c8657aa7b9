"""Constants of the engine and of a runtime's build: plain data, because the gateway reads them without wasmtime."""

from __future__ import annotations

WORLDS = ("tool", "agent", "gateway", "compiler")
"""In the order they are built: the screen can open, and a turn can begin, with the first two."""

TICK_MS = 10
"""Length of an epoch: a stopped guest stops within two of them (reliability R19)."""

WASM_STACK = 2 << 20
"""2 MiB: JSON 1,200 deep exhausts the default; above 2 MiB the process aborts (measured.md)."""

THREAD_STACK = 16 << 20
"""A guest's thread needs the wasm stack and the host's frames above it."""

ENGINE_SETTINGS: dict[str, object] = {
    "strategy": "cranelift",
    "cranelift_opt_level": "speed",
    "epoch_interruption": True,
    "max_wasm_stack": WASM_STACK,
    "wasm_component_model": True,
    "wasm_threads": False,
    "shared_memory": False,
    "wasm_memory64": False,
    "wasm_gc": False,
    "wasm_function_references": False,
    "wasm_exceptions": False,
    "wasm_stack_switching": False,
    "wasm_tail_call": False,
    "wasm_relaxed_simd": False,
    "wasm_wide_arithmetic": False,
    "wasm_custom_page_sizes": False,
    "wasm_component_model_async": False,
    "concurrency_support": False,
    "memory_init_cow": True,
}
"""What is not needed is off: every proposal is attack surface outside wasmtime's first support tier (R22)."""

FORMAT = 1
"""Of the files in the cache; part of every key."""
