"""SIGKILL at every named point: nothing acknowledged is lost, every call has one result, every turn one end, no effect twice.

The scenario is one turn with a mutating command. Some points kill the gateway (the program dies), some a child (the program goes
on). Afterwards the conversation continues on the next start.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.crash import REGISTRY

from tests.support.thetis import World, fingerprint, kinds

pytestmark = pytest.mark.runtimes

PROMPT = "run echo done >> effects.log"
ARTIFACTS = {"swap.before", "swap.after"}
"""Points of storing an artifact: reached when the shipped guests are judged for the first time on a machine."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "# Crash\n"})
    return made


def without_artifacts(world: World) -> dict[str, str]:
    """A cache of its own that has the runtimes but no judged guests."""
    shared, own = Path(os.environ["THETIS_RUNTIMES"]), world.base / "runtimes"
    own.mkdir(mode=0o700, exist_ok=True)
    for file in shared.iterdir():
        if file.is_file() and not (own / file.name).exists():
            os.link(file, own / file.name) if file.stat().st_dev == own.stat().st_dev else (own / file.name).write_bytes(
                file.read_bytes())
    return {"THETIS_RUNTIMES": str(own)}


def check_log(log: list[dict[str, Any]]) -> None:
    """The promises of a log, wherever it was cut."""
    assert [e["seq"] for e in log] == list(range(1, len(log) + 1))
    invoked = Counter(e["body"]["call"] for e in log if e["kind"] == "tool-invocation")
    answered = Counter(e["body"]["call"] for e in log if e["kind"] == "tool-result")
    assert all(count == 1 for count in invoked.values()) and all(answered[call] == 1 for call in invoked)
    started = Counter(e["body"]["turn"] for e in log if e["kind"] == "turn-started")
    finished = Counter(e["body"]["turn"] for e in log if e["kind"] == "turn-finished")
    assert started == finished and set(started.values()) <= {1}
    asked = {b["id"] for e in log if e["kind"] == "assistant" for b in e["body"]["blocks"] if b["type"] == "tool_use"}
    assert asked <= set(answered)


def test_every_point_is_hit_by_the_scenario(world: World) -> None:
    trace = world.base / "trace"
    world.run("run", PROMPT, THETIS_CRASH_TRACE=str(trace), **without_artifacts(world))
    assert set(trace.read_text().split()) == set(REGISTRY)


@pytest.mark.parametrize("point", sorted(REGISTRY))
def test_killed_at(world: World, point: str) -> None:
    before = fingerprint(world.repository)
    extra = without_artifacts(world) if point in ARTIFACTS else {}
    done = world.run("run", "--json", PROMPT, check=False, THETIS_CRASH=point, **extra)
    acknowledged = [json.loads(line) for line in done.stdout.splitlines() if line.endswith("}")]
    listed = json.loads(world.run("ls", "--json", **extra).stdout)
    if not listed:  # killed before the conversation was durable: then nothing was acknowledged
        assert not acknowledged
        return
    assert len(listed) == 1
    session = listed[0]["id"]
    log = world.log(session)
    check_log(log)
    assert log[: len(acknowledged)] == acknowledged
    after = world.events("--conversation", session, "list", **extra)
    assert after[-1]["body"]["stopped_by"] == "stop"
    log = world.log(session)
    check_log(log)
    branch = log[0]["body"]["branch"]
    effects = world.git("show", f"{branch}:effects.log").splitlines() if "effects.log" in world.git(
        "ls-tree", "--name-only", branch) else []
    ran = [e for e in log if e["kind"] == "tool-invocation" and e["body"]["op"] == "terminal.run"]
    assert len(effects) <= len(ran)  # a call is never run twice; the model may ask again, as a new call
    assert kinds(log).count("user") == 2
    world.git("fsck", "--strict")
    assert fingerprint(world.repository) == before
