"""A guest that never returns is really stopped: its thread is free again, not only whoever waited for it."""

from __future__ import annotations

import pytest
from thetis_kernel.errors import GuestError
from thetis_kernel.wasm.call import stuck_calls
from thetis_kernel.wasm.limits import Limits

from tests.support.runtimes import call

SHORT = Limits(memory_mib=128, cpu_ms=200, result_bytes=1 << 20)
LOOP = """
from thetis_guest import ToolManifest

def describe():
    return ToolManifest("demo", "d", {"type": "object"})

def invoke(session_id, args, config):
    while True:
        pass
"""


def test_an_endless_loop_leaves_no_thread_behind():
    with pytest.raises(GuestError) as caught:
        call("tool", LOOP, "invoke", "s-1", "{}", "{}", limits=SHORT)
    assert caught.value.kind == "timeout"
    assert "replaced" not in caught.value.hint, "it was given up on, not stopped"
    assert stuck_calls() == 0
