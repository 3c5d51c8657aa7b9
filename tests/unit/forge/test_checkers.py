"""The programs the gate starts: without a clear answer from them nothing passes."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from thetis_kernel.errors import GateError
from thetis_kernel.forge import checkers
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.pipeline import judge
from thetis_kernel.forge.steps import STEPS, ruff, ty

from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import TOOL_MAIN, tool

STEPS_OF_PROGRAMS = {"ruff": ruff, "ty": ty}


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Put a shell script in a program's place."""

    def place(text: str) -> None:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setattr(checkers, "program", lambda name: str(path))

    return place


def refused(name: str) -> str:
    with pytest.raises(GateError) as caught:
        STEPS_OF_PROGRAMS[name].run(Candidate(tool(TOOL_MAIN)), FakeBench())
    return caught.value.message


@pytest.mark.parametrize("name", STEPS_OF_PROGRAMS)
@pytest.mark.parametrize(("script", "words"), [
    ("exit 2", "gave up (exit status 2)"),
    ("exit 101", "gave up (exit status 101)"),
    ("kill -SEGV $$", "died of signal 11"),
    ("echo nonsense; exit 0", "answered something else than its findings"),
    ("echo '[1]'; exit 0", "answered something else than its findings"),
    ("exit 1", ""),
])  # fmt: skip
def test_no_clear_answer_is_no_pass(stand_in, name, script, words):
    stand_in(script)
    message = refused(name)
    assert words in message and message.startswith(name)


def test_a_clean_status_with_findings_is_a_contradiction(stand_in):
    finding = {"filename": "main.py", "location": {"row": 1}, "code": "F821", "message": "m"}
    stand_in(f"echo '{json.dumps(finding)}'; exit 0")
    assert "contradicted itself" in refused("ruff")


def test_findings_about_a_file_that_is_not_the_candidates_do_not_pass(stand_in):
    finding = {"severity": "major", "description": "d", "location": {"path": "other.py", "positions": {"begin": {"line": 1}}}}
    stand_in(f"echo '[{json.dumps(finding)}]'; exit 1")
    assert "contradicted itself" in refused("ty")


@pytest.mark.parametrize("name", STEPS_OF_PROGRAMS)
def test_a_program_that_is_missing_is_said(tmp_path, monkeypatch, name):
    from importlib import metadata

    def absent(wanted):
        raise metadata.PackageNotFoundError(wanted)

    monkeypatch.setattr(metadata, "distribution", absent)
    monkeypatch.setattr(checkers.sysconfig, "get_path", lambda kind: str(tmp_path))
    monkeypatch.setattr(checkers, "program", checkers.program.__wrapped__)
    assert refused(name) == f"{name} is not installed beside Thetis."
    bare = lambda wanted: SimpleNamespace(files=[Path(wanted)], locate_file=tmp_path.joinpath)  # noqa: E731
    monkeypatch.setattr(metadata, "distribution", bare)
    assert refused(name) == f"{name} is not installed beside Thetis."


@pytest.mark.parametrize("name", STEPS_OF_PROGRAMS)
def test_a_program_that_hangs_is_ended(stand_in, monkeypatch, name):
    stand_in("exec sleep 20")
    monkeypatch.setattr(checkers, "WALL_S", 0.2)
    assert "did not end within 0.2 s" in refused(name)


def test_a_program_that_computes_without_end_is_ended(stand_in, monkeypatch):
    stand_in("ulimit -t 20; while :; do :; done")  # ends by itself where the rule is taken away
    monkeypatch.setattr(checkers, "CPU_S", 1)
    assert "more than 1 s of processor time" in refused("ruff")


def test_a_flood_of_findings_keeps_its_first_ones(stand_in, monkeypatch):
    monkeypatch.setattr(checkers, "MAX_OUTPUT", 10_000)
    finding = {"filename": "PLACE/main.py", "location": {"row": 3}, "code": "F821", "message": "m"}
    stand_in(f"i=0; while [ $i -lt 500 ]; do echo '{json.dumps(finding)}' | sed \"s|PLACE|$PWD|\"; i=$((i+1)); done; exit 1")
    [found] = ruff.run(Candidate(tool(TOOL_MAIN)), FakeBench())
    assert (found.path, found.line) == ("main.py", 3)


def test_the_programs_are_given_no_environment_and_only_the_modules(stand_in):
    script = "(find . -type f | sort; env | cut -d= -f1 | sort) | tr '\\n' ' '; exit 3"
    stand_in(script)
    candidate = Candidate(tool(TOOL_MAIN, **{"pkg.part": "x = 1\n"}))
    with checkers.written(candidate.source.modules, candidate.paths) as directory:
        answer = checkers.check("ruff", [], directory)
    assert "./main.py ./pkg/part.py " in answer.text
    assert not {"PATH_OF_OURS", "SSH_AUTH_SOCK", "VIRTUAL_ENV", "THETIS_STATE"} & set(answer.text.split())
    assert set(answer.text.split()[2:]) <= {"HOME", "NO_COLOR", "PWD", "OLDPWD", "SHLVL", "TMPDIR", "XDG_CONFIG_HOME", "_"}


def test_nothing_of_a_check_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(checkers.tempfile, "tempdir", str(tmp_path))
    for step in STEPS_OF_PROGRAMS.values():
        assert step.run(Candidate(tool(TOOL_MAIN)), FakeBench()) == []
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("candidate")]


def test_no_room_to_write_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(checkers.tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert "could not be laid out" in refused_without_name()


def refused_without_name() -> str:
    with pytest.raises(GateError) as caught:
        ruff.run(Candidate(tool(TOOL_MAIN)), FakeBench())
    return caught.value.message


# Beside the others


def test_the_verdict_is_that_of_all_steps_in_a_row():
    """ruff and ty run beside compiling; a later step that fails sooner does not hide what they find."""
    bench = FakeBench(GateError("no", step="compile", diagnostics=[{"path": "main.py", "line": 9, "message": "late"}]))
    verdict = judge(tool("x: int = ''\n" + TOOL_MAIN), "k", bench, STEPS)
    assert [step.step for step in verdict.steps] == ["manifest", "layout", "ruff", "imports", "ty"]
    assert (verdict.steps[-1].diagnostics[0].path, verdict.steps[-1].diagnostics[0].line) == ("main.py", 1)


def test_the_times_add_up_to_the_verdicts():
    """A step beside the others counts with what it kept the verdict waiting, not with what it took meanwhile."""
    from thetis_kernel.forge.candidate import Step

    def slow(candidate, bench):
        threading.Event().wait(0.05)
        over.set()
        return []

    def inline(candidate, bench):
        over.wait(10)
        return []

    over = threading.Event()
    verdict = judge(tool(TOOL_MAIN), "k", FakeBench(), [Step("beside", slow, beside=True), Step("inline", inline)])
    beside, own = verdict.steps
    assert own.ms > beside.ms


def test_a_finding_that_is_there_already_ends_the_run():
    from thetis_kernel.forge.candidate import Step
    from thetis_kernel.protocol.gate import Diagnostic

    ran = []

    def waits(candidate, bench):
        time.sleep(0.05)
        return []

    steps = [
        Step("quick", lambda c, b: [Diagnostic("main.py", 1, "no")], beside=True),
        Step("inline", waits),
        Step("never", lambda c, b: ran.append(1) or []),
    ]
    verdict = judge(tool(TOOL_MAIN), "k", FakeBench(), steps)
    assert [step.step for step in verdict.steps] == ["quick"] and not ran


def test_the_versions_are_part_of_the_key(monkeypatch):
    from thetis_kernel.forge import key

    before = key.gate_version()
    monkeypatch.setattr(key, "versions", lambda: "ruff 9, ty 9")
    assert key.gate_version.__wrapped__() != before
    assert "ruff 0." in checkers.versions() and "ty 0." in checkers.versions()


@pytest.mark.parametrize("elsewhere", [True, False])
def test_programs_are_those_installed_with_thetis(monkeypatch, elsewhere, tmp_path):
    monkeypatch.setenv("PATH", "/nonexistent")
    if elsewhere:  # as with `pip install --target`: only the package knows where
        monkeypatch.setattr(checkers.sysconfig, "get_path", lambda kind: str(tmp_path))
    assert all(Path(checkers.program.__wrapped__(name)).is_file() for name in checkers.PROGRAMS)
