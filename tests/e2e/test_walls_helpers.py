"""The process helpers come from: what it hands on, what it keeps to itself, and that nothing depends on its life."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from thetis_kernel.walls import helper
from thetis_kernel.walls.helper import Helpers
from thetis_kernel.walls.runner import Runner
from thetis_kernel.walls.tier import Tier

from tests.support.terminals import terminal
from tests.support.walls import (
    BARE,
    Bench,
    alive,
    bench,
    children,
    every_tier,
    every_wall,
    helpers_of,
    mark,
    nursery,
    wait_until,
)

__all__ = ["bench", "mark"]


@every_tier
def test_a_command_gets_no_descriptor_but_the_three(tier: Tier, bench: Bench) -> None:
    """The second of two at once: what the nursery held for the first must not reach it either."""
    text = "exec 2>/dev/null; for n in $(seq 0 200); do { true <&$n; } && echo $n; done"
    heard: list[str] = []

    def beside(_: str) -> None:
        if not heard:
            heard.append(bench.run(tier, text).output)

    bench.run(tier, "echo begun; sleep 0.2", on_output=beside)

    assert heard == ["0\n1\n2\n"]


@every_wall
def test_when_it_is_killed_what_runs_goes_on_and_the_next_command_has_another(tier: Tier, bench: Bench) -> None:
    first: list[int] = []

    def kill(text: str) -> None:
        if "begun" in text:
            first.append(nursery())
            os.kill(first[0], signal.SIGKILL)

    running = bench.run(tier, "echo begun; sleep 0.2; echo done", on_output=kill)
    after = bench.run(tier, "echo after")

    assert (running.output, running.exit_code, running.notes) == ("begun\ndone\n", 0, ())
    assert after.output == "after\n"
    assert nursery() != first[0]


def test_it_ends_with_its_owner_and_leaves_no_process(bench: Bench) -> None:
    bench.run(BARE, "true")
    pid = nursery()
    assert wait_until(lambda: helpers_of(pid) == [])
    bench.helpers.close()
    assert not Path(f"/proc/{pid}").exists()
    assert bench.run(BARE, "echo again").output == "again\n"


def test_dead_helpers_are_collected(bench: Bench) -> None:
    for _ in range(5):
        bench.run(BARE, "true")
    where = Path(f"/proc/{nursery()}/task/{nursery()}/children")
    assert wait_until(lambda: where.read_text() == "")


@every_wall
def test_a_helper_that_does_not_end_is_killed(
    tier: Tier, bench: Bench, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper, "GRACE_S", 0.3)

    def freeze(_: str) -> None:
        for pid in helpers_of(nursery()):
            os.kill(pid, signal.SIGSTOP)
        raise LookupError("the listener's")

    with pytest.raises(LookupError):
        bench.run(tier, f"echo begun; sleep {mark}", on_output=freeze)
    assert wait_until(lambda: helpers_of(nursery()) == [] and not alive(mark))


@every_wall
def test_terminals_and_commands_from_one(tier: Tier, bench: Bench) -> None:
    before = children(os.getpid())  # other tests' of this process
    with terminal(tier, bench.worktree) as opened:
        results: dict[int, str] = {}

        def one(number: int) -> None:
            with Helpers() as mine:
                results[number] = Runner(tier, mine).run(bench.command(f"echo {number}")).output

        threads = [threading.Thread(target=one, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        said = opened.says("echo from the terminal")
        for thread in threads:
            thread.join()
    assert said == "from the terminal\n"
    assert results == {number: f"{number}\n" for number in range(3)}
    assert set(children(os.getpid())) <= set(before)
