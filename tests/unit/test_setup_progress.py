"""Progress of `thetis setup`: one line on a terminal, elsewhere each step once, in a file nobody wants to scroll through."""

from __future__ import annotations

import pytest
from thetis_kernel.cli.setup import _Bar
from thetis_kernel.wasm.runtimes import Progress


def test_ticks_of_two_worlds_by_turns_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    bar = _Bar()
    for tick in range(20):
        for world in ("tool", "agent"):
            bar.show(Progress(world=world, step="precompile", done=2, total=8, seconds=tick))
    bar.show(Progress(world="tool", step="done", done=3, total=8, seconds=21))
    announced, *steps = capsys.readouterr().err.splitlines()
    assert "once for this machine" in announced
    assert [line.split("] ")[1] for line in steps] == ["2/8 compiling tool", "2/8 compiling agent", "3/8 tool done"]


def test_a_terminal_has_one_line_that_says_all_that_goes_on_and_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    bar = _Bar()
    bar.show(Progress(world="", step="waiting", done=0, total=8, seconds=0))
    bar.show(Progress(world="tool", step="precompile", done=1, total=8, seconds=1))
    bar.show(Progress(world="agent", step="componentize", done=1, total=8, seconds=1))
    bar.show(Progress(world="tool", step="done", done=2, total=8, seconds=2))
    bar.show(Progress(world="agent", step="done", done=8, total=8, seconds=3))
    _, shown = capsys.readouterr().err.split("\n", 1)
    lines = shown.rstrip("\n").split("\r")[1:]
    assert {len(line) for line in lines} == {59} and shown.count("\n") == 1
    doing = [line.split(" s ")[1].strip() for line in lines[:4]]
    assert doing == ["", "compiling tool", "compiling tool, buil", "building agent"]
