"""What a process confined as the gate can reach: one directory to write, programs to read, no socket; and its checkers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from thetis_kernel.walls import landlock, seccomp

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")
NEEDS_LANDLOCK = pytest.mark.skipif(landlock.abi() < landlock.LOWEST_ABI, reason="this kernel has no Landlock to speak of")

TRIAL = """
import json, pathlib, socket, subprocess, sys, tempfile
scratch, secret, elsewhere = sys.argv[1:4]
from thetis_kernel.hosts.gate.limits import confine
confine(pathlib.Path(scratch))
tempfile.tempdir = scratch
told = {}
def attempt(name, action):
    try:
        action()
        told[name] = "done"
    except OSError as error:
        told[name] = type(error).__name__
attempt("scratch", lambda: pathlib.Path(scratch, "x").write_text("x"))
attempt("read a secret", lambda: pathlib.Path(secret).read_text())
attempt("write elsewhere", lambda: pathlib.Path(elsewhere, "x").write_text("x"))
attempt("internet", lambda: socket.socket(socket.AF_INET))
attempt("datagram", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
attempt("unix", lambda: socket.socket(socket.AF_UNIX))
def heirs():
    try:
        subprocess.run(["/bin/cat", secret], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        raise OSError from error
attempt("a child reads a secret", heirs)
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.steps import ruff, ty
from thetis_kernel.protocol.gate import GuestSource
bad = GuestSource("tool/x", "tool", "", {"main": "from thetis_guest import sandbox\\nx: int = ''\\nsandbox.nope(yy)\\n"})
told["ruff"] = [d.line for d in ruff.run(Candidate(bad), None)]
told["ty"] = [d.line for d in ty.run(Candidate(bad), None)]
from thetis_kernel.forge.prepared import Prepared
from thetis_kernel.hosts.gate import ahead
prepared = Prepared()
ahead._types({"main": "x = 1"}, prepared, lambda: False)
told["warm ty"] = prepared.no_type_errors is not None and prepared.no_type_errors({"main": "x: int = 1"})
print(json.dumps(told))
"""


@NEEDS_LANDLOCK
@pytest.mark.skipif(not seccomp.supported(__import__("os").uname().machine), reason="no filter for this processor")
def test_the_gate_and_its_children_are_walled_in(tmp_path: Path) -> None:
    scratch, elsewhere = tmp_path / "scratch", tmp_path / "elsewhere"
    scratch.mkdir()
    elsewhere.mkdir()
    secret = tmp_path / "secret"
    secret.write_text("of the person's")
    done = subprocess.run([sys.executable, "-I", "-c", TRIAL, scratch, secret, elsewhere], capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("ruff") == [3] and 2 in told["ty"] and 3 in told.pop("ty")
    assert told.pop("scratch") == "done" and told.pop("warm ty") is True
    assert set(told.values()) == {"PermissionError", "OSError"} and len(told) == 6, told
    assert told["read a secret"] == told["internet"] == told["unix"] == "PermissionError"
