"""Killed while files go back. The git host: another one finishes it, and nothing of either state is lost. The gateway: it is
finished before the next turn, and a fork whose files were not there yet has them then.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.thetis import World, fingerprint
from tests.unit.repo.test_snapshots import digest

pytestmark = pytest.mark.runtimes
CHANGE = "run rm -r a; mkdir -p b; for n in 1 2 3 4; do echo $n > b/$n; done; echo later > README.md"


@pytest.mark.parametrize("point", ["snapshot.before-ref", "snapshot.after-ref", "snapshot.restore", "snapshot.restoring:1",
                                   "snapshot.restoring:4"])
def test_another_git_host_finishes_it(point: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n", "a/x": "x\n", "a/y": "y\n"})
    root = fingerprint(world.repository)
    first = world.events("run echo draft > notes.txt")
    session = first[0]["session"]
    tree = Path(next(each for each in json.loads(world.run("ls", "--json").stdout) if each["id"] == session)["worktree"])
    wanted = digest(tree)
    world.events("--conversation", session, CHANGE)
    changed = digest(tree)
    moments = json.loads(world.run("rewind", session, "--json").stdout)
    trace = tmp_path / "trace"
    done = world.run("rewind", session, str(moments[1]["seq"]), check=False, THETIS_CRASH=point, THETIS_CRASH_TRACE=str(trace))
    assert point.partition(":")[0] in trace.read_text().split()
    assert done.returncode == 0 and digest(tree) == wanted, done.stderr
    log = world.log(session)
    ended = [event["body"] for event in log if event["kind"] == "branch-op" and event["body"]["op"] == "restored"]
    rewound = [event for event in log if event["kind"] == "rewind"]
    assert len(rewound) == 1 and [each["ok"] for each in ended] == [True]
    assert world.run("doctor", "--conversation", session).returncode == 0
    world.run("undo", session)
    assert digest(tree) == changed and fingerprint(world.repository) == root
    assert world.git("fsck", "--strict", "--no-dangling").strip() == ""


def worktree(world: World, session: str) -> Path:
    return Path(next(each for each in json.loads(world.run("ls", "--json").stdout) if each["id"] == session)["worktree"])


def test_the_gateway_dies_once_a_rewind_is_durable(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n", "a/x": "x\n", "a/y": "y\n"})
    session = world.events("run echo draft > notes.txt")[0]["session"]
    tree = worktree(world, session)
    wanted = digest(tree)
    world.events("--conversation", session, CHANGE)
    changed = digest(tree)
    moments = json.loads(world.run("rewind", session, "--json").stdout)
    done = world.run("rewind", session, str(moments[1]["seq"]), check=False, THETIS_CRASH="rewind.logged")
    assert done.returncode != 0 and digest(tree) == changed, "nothing has gone back yet"
    world.events("--conversation", session, "list")
    assert digest(tree) == wanted
    ended = [event["body"] for event in world.log(session) if event["kind"] == "branch-op" and event["body"]["op"] == "restored"]
    assert [each["ok"] for each in ended] == [True]
    assert world.run("doctor", "--conversation", session).returncode == 0


def test_the_gateway_dies_before_a_fork_has_its_files(tmp_path: Path) -> None:
    """Its files are more than its commit's: what was ignored and not committed comes with the first turn, too."""
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n", ".gitignore": "notes.txt\n"})
    session = world.events("run echo draft > notes.txt")[0]["session"]
    world.events("--conversation", session, "run echo later > notes.txt")
    moments = json.loads(world.run("rewind", session, "--json").stdout)
    world.run("fork", session, str(moments[1]["seq"]), check=False, THETIS_CRASH="fork.made")
    [forked] = [each["id"] for each in json.loads(world.run("ls", "--json").stdout) if each["id"] != session]
    world.events("--conversation", forked, "list")
    assert (worktree(world, forked) / "notes.txt").read_text() == "draft\n"
    assert (worktree(world, session) / "notes.txt").read_text() == "later\n"
    ended = [event["body"] for event in world.log(forked) if event["kind"] == "branch-op" and event["body"]["op"] == "restored"]
    assert [each["ok"] for each in ended] == [True]
    refused = world.run("undo", forked, check=False)
    assert refused.returncode != 0 and "rewound" in refused.stderr
