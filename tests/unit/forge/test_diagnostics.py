from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import GateError, GuestError
from thetis_kernel.forge.diagnostics import (
    MAX_DIAGNOSTICS,
    MAX_MESSAGE,
    as_diagnostic,
    bounded_diagnostics,
    diagnostic_of_guest,
    diagnostics_of,
    gate_error,
)
from thetis_kernel.protocol.gate import Diagnostic

TRACE = '''Traceback (most recent call last):
  File "main.py", line 4, in describe
    return inner()
  File "pkg/part.py", line 9, in inner
    json.loads("")
  File "/lib/python3.14/json/__init__.py", line 352, in loads
    raise ValueError
ValueError'''


def test_the_place_is_the_last_frame_of_the_guests_own_files():
    error = GuestError("ValueError", kind="error", traceback=TRACE)
    found = diagnostic_of_guest(error, ["main.py", "pkg/part.py"], "describe()")
    assert (found.path, found.line) == ("pkg/part.py", 9)
    assert found.message.startswith("describe() failed: ValueError")
    assert "json.loads" in found.message


def test_a_forged_place_outside_the_candidate_is_no_place():
    error = GuestError("x", kind="error", traceback='  File "/etc/passwd", line 1, in x\n')
    assert diagnostic_of_guest(error, ["main.py"], "describe()").path == ""


def test_how_a_call_ended_is_said_in_words():
    said = {
        kind: diagnostic_of_guest(GuestError("It.", kind=kind), [], "health()").message
        for kind in ("timeout", "abort", "memory", "trap", "type", "exit")
    }
    assert said["timeout"] == said["abort"] == "health() did not end in time"
    assert said["memory"] == "health() used more memory than it may"
    assert said["trap"] == "health() failed (trap): It."


def test_many_complaints_are_cut_and_counted():
    found = bounded_diagnostics([Diagnostic("a.py", n, "x") for n in range(200)])
    assert len(found) == MAX_DIAGNOSTICS + 1
    assert found[-1].message == "150 more complaints are not shown"


@given(st.text(max_size=100), st.integers(-5, 5), st.text(max_size=5000))
def test_complaints_are_clean_and_bounded(path, line, message):
    found = bounded_diagnostics([Diagnostic(path, line, "\x1b[2J" + message)])[0]
    assert len(found.message) <= MAX_MESSAGE
    assert found.line >= 0
    assert "\x1b" not in found.message + found.path
    assert "\n" not in found.path


def test_a_gate_error_carries_its_diagnostics_there_and_back():
    found = [Diagnostic("main.py", 3, "boom"), Diagnostic("", 0, "and")]
    error = gate_error("compile", "tool/x does not compile", found)
    assert error.message == "tool/x does not compile: main.py:3: boom"
    assert diagnostics_of(error) == found
    assert diagnostics_of(GateError("only words", step="x", diagnostics=[])) == [Diagnostic("", 0, "only words")]


def test_a_guests_diagnostic_may_be_of_any_shape():
    assert as_diagnostic({}) == Diagnostic("", 0, "")
    assert as_diagnostic({"path": 3, "line": "x", "message": None}) == Diagnostic("", 0, "None")
    assert as_diagnostic({"path": "a", "line": 10**12, "message": "m"}) == Diagnostic("a", 0, "m")
