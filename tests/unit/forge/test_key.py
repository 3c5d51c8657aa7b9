from __future__ import annotations

import subprocess
import sys

import pytest
from thetis_kernel.forge import key as module
from thetis_kernel.forge.key import KEY, artifact_key
from thetis_kernel.protocol.gate import GuestSource

from tests.unit.forge.guests import TOOL_MAIN, tool

DIGESTS = {"tool": "t" * 64, "agent": "a" * 64, "compiler": "c" * 64}.__getitem__


def key(source=None, digests=DIGESTS):
    return artifact_key(source or tool(TOOL_MAIN), digests)


def test_a_key_is_64_hex_digits_and_stable():
    assert KEY.fullmatch(key())
    assert key() == key()


@pytest.mark.parametrize(
    "source",
    [
        tool(TOOL_MAIN + "\n"),
        tool(TOOL_MAIN, other=""),
        GuestSource("tool/other", "tool", tool(TOOL_MAIN).manifest, {"main": TOOL_MAIN}),
        GuestSource("tool/probe", "agent", tool(TOOL_MAIN).manifest, {"main": TOOL_MAIN}),
        GuestSource("tool/probe", "tool", tool(TOOL_MAIN).manifest + "\n", {"main": TOOL_MAIN}),
    ],
)
def test_everything_of_the_source_is_in_the_key(source):
    assert key(source) != key()


@pytest.mark.parametrize("world", ["tool", "compiler"])
def test_a_rebuilt_runtime_or_compiler_is_another_key(world):
    assert key(digests=lambda name: "x" if name == world else DIGESTS(name)) != key()


def test_a_runtime_the_guest_does_not_use_is_not_in_the_key():
    assert key(digests=lambda name: "x" if name == "agent" else DIGESTS(name)) == key()


def test_a_changed_gate_is_another_key(monkeypatch):
    before = key()
    monkeypatch.setattr(module, "gate_version", lambda: "another")
    assert key() != before


def test_the_gates_version_covers_every_step():
    from thetis_kernel.forge import steps

    assert len(module.gate_version()) == 64
    assert steps.__file__.startswith(module.__file__.removesuffix("key.py"))


def test_what_the_gateway_imports_of_the_forge_loads_no_engine():
    code = (
        "import sys, thetis_kernel.forge.service, thetis_kernel.forge.builtin, thetis_kernel.forge.artifacts;"
        "print([m for m in ('wasmtime', 'componentize_py', 'thetis_kernel.forge.steps') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert answer.stdout.strip() == "[]"
