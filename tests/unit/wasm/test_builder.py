"""Building, with a stand-in for the child that takes half a minute (the real one: tests/contract/test_wasm_build.py)."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.wasm import builder, runtimes
from thetis_kernel.wasm.builder import Progress

STAND_IN = """
    import json, os, sys, pathlib
    world, output = sys.argv[1:]
    with open(os.environ["HOME"] + "/built", "a") as log:
        log.write(world + "\\n")
    for step in ("componentize", "precompile"):
        print(json.dumps({"step": step}), flush=True)
    pathlib.Path(output).write_bytes(b"native code of " + world.encode())
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts a program in the builder's place; returns its setter and the directory of its log."""
    monkeypatch.setenv("HOME", str(tmp_path))

    def use(program=STAND_IN):
        (tmp_path / "build.py").write_text(textwrap.dedent(program))
        monkeypatch.setattr(builder, "COMMAND", (sys.executable, str(tmp_path / "build.py")))
        return tmp_path

    return use


def ensure(directory, *worlds):
    seen: list[Progress] = []
    runtimes.ensure_runtimes(worlds, progress=seen.append, directory=directory)
    return seen


def built(where):
    log = where / "built"
    return log.read_text().split() if log.exists() else []


def test_what_is_missing_is_built_once_and_sealed(stand_in):
    where = stand_in()
    seen = ensure(where / "cache", "compiler", "tool", "agent")
    assert sorted(built(where)) == ["agent", "compiler", "tool"]
    # Two at a time: the third begins when one has ended, perhaps before the other has written its line.
    assert built(where)[0] != "compiler", "the worlds a turn needs come first"
    assert seen[0].step == "waiting"
    assert [(p.done, p.total) for p in seen if p.step == "done"][-1] == (6, 6)
    assert {p.step for p in seen if p.world == "tool"} == {"componentize", "precompile", "done"}
    assert ensure(where / "cache", "tool", "agent") == [], "nothing is missing, nothing is said"
    fd = runtimes.seal("tool", directory=where / "cache")
    assert os.pread(fd, 100, 0) == b"native code of tool"
    os.close(fd)


def test_a_damaged_runtime_is_refused_and_rebuilt(stand_in):
    where = stand_in()
    ensure(where / "cache", "tool")
    (path,) = (where / "cache").glob("tool-*.cwasm")
    path.write_bytes(b"native code of evil")
    with pytest.raises(RuntimeBuildError, match="damaged"):
        runtimes.seal("tool", directory=where / "cache")
    ensure(where / "cache", "tool")
    os.close(runtimes.seal("tool", directory=where / "cache"))
    assert built(where) == ["tool", "tool"]


def test_processes_at_once_build_once(stand_in):
    waits_for_all = """
    import time
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(pathlib.Path(os.environ["HOME"]).glob("started-*"))) < 3:
        time.sleep(0.01)
"""
    where = stand_in(STAND_IN + waits_for_all)
    code = f"""
import os, sys
from pathlib import Path
from thetis_kernel.wasm import builder, runtimes
builder.COMMAND = {builder.COMMAND!r}
(Path({str(where)!r}) / f"started-{{os.getpid()}}").touch()
runtimes.ensure_runtimes(["tool", "agent"], progress=lambda p: None, directory=Path({str(where / "cache")!r}))
"""
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [child.wait(timeout=100) for child in children] == [0, 0, 0]
    assert sorted(built(where)) == ["agent", "tool"]


def test_a_failing_step_is_told_in_its_own_words_and_what_was_built_stays(stand_in):
    where = stand_in(
        STAND_IN
        + """
    if world == "agent":
        os.unlink(output)
        print(json.dumps({"error": "no such world", "detail": "componentize-py failed\\nno such world"}), flush=True)
        sys.exit(1)
"""
    )
    with pytest.raises(RuntimeBuildError, match=r"agent runtime could not be built: no such world\.") as caught:
        runtimes.ensure_runtimes(["agent"], progress=lambda p: None, directory=where / "cache")
    assert caught.value.data["step"] == "precompile" and "thetis setup" in caught.value.hint
    assert caught.value.data["detail"] == "componentize-py failed\nno such world"
    ensure(where / "cache", "tool")
    assert not list((where / "cache").glob(".build-*")), "nothing half made is left"


def test_a_builder_that_dies_without_a_word_is_an_error(stand_in):
    where = stand_in("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(RuntimeBuildError, match="tool runtime could not be built: the builder died"):
        ensure(where / "cache", "tool")


def test_noise_of_a_crashing_builder_is_its_error(stand_in):
    where = stand_in("import no_such_module")
    with pytest.raises(RuntimeBuildError, match="No module named 'no_such_module'"):
        ensure(where / "cache", "tool")


def test_sources_changed_meanwhile_are_noticed(stand_in, monkeypatch):
    where = stand_in()
    monkeypatch.setattr(builder, "runtime_key", lambda world: "another")
    with pytest.raises(RuntimeBuildError, match="changed while it was being built"):
        ensure(where / "cache", "tool")
    assert not list((where / "cache").glob("*.cwasm"))


def test_leftovers_of_a_killed_builder_go(stand_in):
    where = stand_in()
    (where / "cache" / ".build-dead").mkdir(parents=True)
    (where / "cache" / ".build-dead" / "tool.cwasm").write_bytes(b"half")
    ensure(where / "cache", "tool")
    assert not list((where / "cache").glob(".*"))


def test_a_failure_stops_the_other_child(stand_in, monkeypatch):
    where = stand_in(
        STAND_IN
        + """
    if world == "agent":
        sys.exit(1)
    import time
    pathlib.Path(os.environ["HOME"] + "/pid").write_text(str(os.getpid()))
    time.sleep(600)
"""
    )
    monkeypatch.setattr(builder, "_room_for_another", lambda running: True)
    with pytest.raises(RuntimeBuildError):
        ensure(where / "cache", "tool", "agent")
    if (where / "pid").exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int((where / "pid").read_text()), 0)


def test_the_childs_environment_holds_nothing_of_ours(stand_in, monkeypatch):
    where = stand_in(STAND_IN + '    pathlib.Path(os.environ["HOME"] + "/env").write_text(repr(sorted(os.environ)))\n')
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    ensure(where / "cache", "tool")
    assert "ANTHROPIC_API_KEY" not in (where / "env").read_text()
