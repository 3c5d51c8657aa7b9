"""Progress of `thetis setup` where no terminal is: each step once, in a file nobody wants to scroll through."""

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
    assert [line.split("] ")[1] for line in steps] == ["2/8 tool precompile", "2/8 agent precompile", "3/8 tool done"]
