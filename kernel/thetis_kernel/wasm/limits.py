"""What one guest call may use. Numbers from measured.md and reliability.md (R19, G1-G3, G10)."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Bounds of one call; a new store gets all of them before anything of the guest runs.

    `memory_mib`: size of a linear memory. `cpu_ms`: processor time inside wasm, cumulative over the call; time inside
    imports is not counted, except `sys.sleep`. `output_bytes`: stdout and stderr, each. `result_bytes`: the result's
    text. `argument_bytes`: all arguments of one import call, and what an import answers. `memories`, `tables`,
    `table_elements`, `instances`: of core wasm; a runtime needs 2, 2, about 10,000 and about 20.
    """

    memory_mib: int
    cpu_ms: int
    output_bytes: int = 1 << 20
    result_bytes: int = 8 << 20
    argument_bytes: int = 8 << 20
    memories: int = 4
    tables: int = 8
    table_elements: int = 100_000
    instances: int = 64


AGENT_LIMITS = Limits(memory_mib=256, cpu_ms=300_000)
"""A whole turn: at most 60 replies, each a few hundred milliseconds of the guest's own work."""

TOOL_LIMITS = Limits(memory_mib=128, cpu_ms=30_000, result_bytes=1 << 20)
GATEWAY_LIMITS = Limits(memory_mib=128, cpu_ms=5_000)
COMPILER_LIMITS = Limits(memory_mib=256, cpu_ms=20_000, result_bytes=16 << 20)
PROBE_LIMITS = Limits(memory_mib=128, cpu_ms=5_000, result_bytes=1 << 20)
"""Describe, health and the gate's smoke calls."""
