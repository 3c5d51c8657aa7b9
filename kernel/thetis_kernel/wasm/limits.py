"""What one guest call may use. Numbers from measured.md and reliability.md (R19, G1-G3, G10)."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Bounds of one call; a new store gets all of them before anything of the guest runs.

    `memory_mib`: size of a linear memory (per memory, so `memories` counts too). `cpu_ms`: processor time inside wasm,
    cumulative over the call; time inside imports is not counted, except `sys.sleep`. `output_bytes`: stdout and
    stderr, each, and the lines of sys.log. `result_bytes`: characters of the result. `argument_bytes`: characters of
    one argument of the call, of all arguments of an import, and of an import's answer. `memories`, `tables`,
    `table_elements`, `instances`: of core wasm; the agent runtime needs 1, 2, 5,692 and 14, and 18 MiB (the
    compiler, with its stubs for WASI, more instances).
    """

    memory_mib: int
    cpu_ms: int
    output_bytes: int = 1 << 20
    result_bytes: int = 8 << 20
    argument_bytes: int = 8 << 20
    memories: int = 2
    tables: int = 4
    table_elements: int = 20_000
    instances: int = 64


AGENT_LIMITS = Limits(memory_mib=256, cpu_ms=300_000)
"""A whole turn: at most 60 replies, each a few hundred milliseconds of the guest's own work."""

TOOL_LIMITS = Limits(memory_mib=128, cpu_ms=30_000, result_bytes=1 << 20)
GATEWAY_LIMITS = Limits(memory_mib=128, cpu_ms=5_000)
COMPILER_LIMITS = Limits(memory_mib=256, cpu_ms=20_000, result_bytes=16 << 20, argument_bytes=16 << 20)
"""Source of at most 16 MiB, 20 s (reliability G7)."""

PROBE_LIMITS = Limits(memory_mib=128, cpu_ms=5_000, result_bytes=1 << 20)
"""Describe, health and the gate's smoke calls."""
