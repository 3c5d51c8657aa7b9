"""What the engine or a shim says, as one typed error."""

from __future__ import annotations

import json

import pytest
import wasmtime
from thetis_kernel.wasm import faults


@pytest.mark.parametrize("kind", ["error", "memory", "exit", "type"])
def test_a_shims_words_become_an_error(kind):
    words = {"code": "c", "kind": kind, "message": "m", "hint": "h", "traceback": "t"}
    error = faults.from_words(json.dumps(words))
    assert (error.kind, error.message, error.hint, error.traceback) == (kind, "m", "h", "t")
    assert error.data["error"] == {"code": "c", "message": "m", "hint": "h"}


@pytest.mark.parametrize("kind", ["abort", "timeout", "trap", "import", "", 5, None, ["x"]])
def test_a_guest_cannot_claim_a_kind_that_is_the_hosts_to_give(kind):
    assert faults.from_words(json.dumps({"message": "m", "kind": kind})).kind == "error"


ANY_WORDS = ["plain", "[1]", "", "null", "[" * 100_000, '{"message": ""}', '{"message": {"a": 1}, "code": []}']


@pytest.mark.parametrize("words", ANY_WORDS)
def test_any_words_make_an_error(words):
    error = faults.from_words(words)
    assert error.kind == "error" and isinstance(error.message, str) and len(error.message) < 30_000


def test_long_words_are_cut_and_kept_whole_in_the_fields():
    error = faults.from_words("x" * 100_000)
    assert len(error.message) < 30_000
    assert len(error.data["error"]["message"]) == 100_000


def test_last_words_on_stderr_are_read():
    stderr = "noise\n" + faults.LAST_WORDS + json.dumps({"message": "m", "kind": "type"}) + "\nmore"
    error = faults.from_engine(wasmtime.WasmtimeError("trap"), "describe", stderr)
    assert (error.kind, error.message) == ("type", "m")


@pytest.mark.parametrize(
    ("said", "stderr", "kind"),
    [
        ("error\n\nCaused by:\n    wasm trap: call stack exhausted", "", "trap"),
        ("memory minimum size of 300 pages exceeds memory limits", "", "memory"),
        ("wasm trap: unreachable", "Fatal: MemoryError", "memory"),
        ("wasm trap: unreachable", "memory allocation of 123 bytes failed", "memory"),
        ("", "", "trap"),
    ],
)
def test_the_engines_words_are_classified(said, stderr, kind):
    error = faults.from_engine(wasmtime.WasmtimeError(said), "invoke", stderr)
    assert error.kind == kind and "invoke" in error.message
