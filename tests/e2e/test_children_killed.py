"""SIGKILL while sub-agents are begun, at work, slept for and settled: nothing lost, none runs twice, each has one end that its
parent is told of. Points of `thetis_kernel.crash` whose scenario needs sub-agents.
"""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.crashes import SECONDS, Disk, Headless
from tests.support.thetis import World
from tests.support.waiting import blocking_until

pytestmark = pytest.mark.runtimes

WORDS = "have agents run echo one >> one.log; run echo two >> two.log"
POINTS = ("spawn.made", "spawn.logged", "spawn.begun", "child.ending", "child.settled", "child.ending:2", "child.settled:2",
          "spawn.made:2", "spawn.logged:2")
OFTEN = ("spawn.logged:2", "child.ending")


def of(log: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["body"] for event in log if event["kind"] == kind]


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "# x\n"})
    return made


def family(world: World) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    """The parent's id, and every log."""
    logs = Disk(world).logs()
    (parent,) = [session for session, log in logs.items() if of(log, "session-started")[0].get("relation", "") != "child"]
    return parent, logs


def whole(world: World) -> list[dict[str, Any]]:
    """What holds after any death and one start: looked at, and the ends of the children handed back."""
    parent, logs = family(world)
    begun, ended = of(logs[parent], "child-started"), of(logs[parent], "child-settled")
    children = set(logs) - {parent}
    assert sorted(body["child"] for body in begun) == sorted(children), "the parent knows of each, once"
    assert sorted(body["child"] for body in ended) == sorted(children), "each has one end"
    for session, log in logs.items():
        calls = Counter(body["call"] for body in of(log, "tool-invocation"))
        answers = Counter(body["call"] for body in of(log, "tool-result"))
        assert set(calls) <= set(answers) and set(answers.values()) <= {1}, session
        starts, ends = of(log, "turn-started"), of(log, "turn-finished")
        assert sorted(body["turn"] for body in starts) == sorted(body["turn"] for body in ends), session
        if session != parent:
            assert len(starts) <= 1 and len(of(log, "user")) <= 1, "no child runs twice"
    for name in ("one.log", "two.log"):
        for path in (world.base / "state").rglob(name):
            assert path.read_text().count("\n") <= 1, "no effect happens twice"
    for body in ended:
        own = of(logs[body["child"]], "turn-finished")
        assert (body["state"] == "done") == bool(own and own[0]["stopped_by"] == "stop"), "cut off is no success"
    return ended


def goes_on(world: World) -> None:
    """The conversation is one that a model accepts, and the parent is told."""
    parent, _ = family(world)
    events = Headless().say(world, "how are the agents", conversation=parent)
    assert of(events, "turn-finished")[-1]["stopped_by"] == "stop"
    told = [body["content"] for body in of(events, "tool-result")]
    ended = whole(world)
    assert all(body["label"] in " ".join(told) for body in ended)
    found = world.run("doctor", "--conversation", parent, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("point", [
    pytest.param(point, marks=[] if point in OFTEN else [pytest.mark.slow]) for point in POINTS])
def test_44_killed_at_each_point(world: World, point: str) -> None:
    """44: running children forgotten, spawned twice."""
    trace = world.base / "trace"
    Headless().say(world, WORDS, crash=point, trace=trace)
    name, _, count = point.partition(":")
    assert Counter(trace.read_text().split())[name] >= int(count or 1), "the scenario reaches the point"
    world.run("ls")  # only looks, and settles what was left
    ended = whole(world)
    if name in ("spawn.made", "spawn.logged"):
        assert any(body["state"] == "failed" for body in ended)
    goes_on(world)


@pytest.mark.slow
def test_killed_again_while_settling_what_was_left(world: World) -> None:
    trace = world.base / "trace"
    Headless().say(world, WORDS, crash="child.ending")
    world.run("ls", check=False, THETIS_CRASH="children.found", THETIS_CRASH_TRACE=str(trace))
    assert "children.found" in trace.read_text()
    world.run("ls")
    whole(world)
    goes_on(world)


def test_killed_in_a_sleep(world: World) -> None:
    """The parent sleeps, one child is at work, the other has ended: its answer is not lost, the first is no success."""
    disk = Disk(world)
    run = subprocess.Popen(
        [world.thetis, "run", "have agents nap 300; run echo one >> one.log"], cwd=world.repository, env=world.environ,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        begun = "SELECT 1 FROM events WHERE kind = 'child-started'"
        blocking_until(lambda: disk.has("child-settled") and len(disk.ask(begun)) == 2, SECONDS)
        run.send_signal(signal.SIGKILL)
    finally:
        run.kill()
        run.wait()
    world.run("ls")
    ended = {body["label"]: body for body in whole(world)}
    assert ended["nap 300"]["state"] == "failed" and "Thetis stopped" in ended["nap 300"]["detail"]
    assert ended["run echo one >> one.log"[:24]]["state"] == "done"
    parent, logs = family(world)
    notes = [body["text"] for body in of(logs[parent], "nudge")]
    assert any("restarted" in note and "nap 300" in note for note in notes), "the parent is told"
    goes_on(world)


@pytest.mark.slow
def test_the_worker_dies_with_all_of_them(world: World) -> None:
    """Parent and children share a process; the gateway lives, and goes on with the parent alone."""
    Headless().say(world, WORDS, crash="tool.running")
    whole(world)
    goes_on(world)
