"""SIGKILL at every point of bringing a trunk in, merging a conversation, and merging its guests.

Whatever dies (the git host, or the kernel with everything), the person's branch stands where it was or at the whole merge,
what they had in their checkout is there, and asking once more leaves everything as if nothing had happened.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from thetis_kernel.crash import REGISTRY

from tests.support.thetis import World, fingerprint

pytestmark = pytest.mark.runtimes

TEXT = "".join(f"line {number}\n" for number in range(12))
OURS, THEIRS = TEXT.replace("line 2\n", "ours\n"), TEXT.replace("line 9\n", "theirs\n")
BOTH = OURS.replace("line 9\n", "theirs\n")
OFTEN = {"branch.moved", "merge.moved"}
"""What every run of the suite looks at; the rest is for `make test-all`."""


def points(*prefixes: str) -> list[object]:
    return [pytest.param(name, marks=[] if name in OFTEN else [pytest.mark.slow])
            for name in sorted(REGISTRY) if name.startswith(prefixes)]  # fmt: skip


def begun(world: World) -> str:
    """A conversation that changed a line, in a repository whose trunk changed another since; its short id."""
    world.make_repository({"a.txt": TEXT, "b.txt": "b\n"})
    session = world.events("replace 'line 2' with ours in a.txt")[0]["session"]
    world.write({"a.txt": THEIRS, "c.txt": "c\n"})
    world.git("add", "-A")
    world.git("commit", "-qm", "theirs")
    world.write({"notes.txt": "mine\n"})
    return str(session)[:8]


def reached(trace: Path, point: str) -> bool:
    return trace.exists() and point in trace.read_text().split()


@pytest.mark.parametrize("point", points("branch."))
def test_killed_while_the_trunk_comes_in(point: str, tmp_path: Path) -> None:
    world, trace = World(tmp_path), tmp_path / "trace"
    short = begun(world)
    before = fingerprint(world.repository)
    dying = {"THETIS_CRASH": point, "THETIS_CRASH_TRACE": str(trace)}
    world.run("run", "--conversation", short, "update from the trunk", check=False, **dying)
    assert reached(trace, point)
    world.run("run", "--conversation", short, "update from the trunk")
    branch = f"conv/{short}"
    assert world.git("show", f"{branch}:a.txt") == BOTH and world.git("show", f"{branch}:c.txt") == "c\n"
    world.git("merge-base", "--is-ancestor", "main", branch)
    worktree = Path(world.run("path", short).stdout.strip())
    assert world.git("status", "--porcelain", at=worktree) == "" and (worktree / "a.txt").read_text() == BOTH
    assert fingerprint(world.repository) == before
    world.git("fsck", "--strict")


@pytest.mark.parametrize("point", points("merge."))
def test_killed_while_a_conversation_is_merged(point: str, tmp_path: Path) -> None:
    world, trace = World(tmp_path), tmp_path / "trace"
    short = begun(world)
    trunk = world.git("rev-parse", "main").strip()
    world.run("merge", short, check=False, THETIS_CRASH=point, THETIS_CRASH_TRACE=str(trace))
    assert reached(trace, point)
    now = world.git("rev-parse", "main").strip()
    assert now == trunk or (world.git("rev-parse", "main^").strip() == trunk and world.git("show", "main:a.txt") == BOTH)
    world.run("merge", short)
    assert world.git("rev-list", "--count", f"{trunk}..main").strip() == "1"
    assert world.git("show", "main:a.txt") == BOTH and (world.repository / "a.txt").read_text() == BOTH
    assert world.git("status", "--porcelain").strip() == "?? notes.txt" and world.git("stash", "list") == ""
    assert world.git("for-each-ref", "refs/thetis/presquash") and world.git("for-each-ref", "refs/thetis/forward") == ""
    world.run("run", "--conversation", short, "create more.txt with more")
    assert "nothing" not in world.run("merge", short).stdout and (world.repository / "more.txt").exists()
    world.git("fsck", "--strict")


@pytest.mark.parametrize("point", points("guests."))
def test_killed_while_guests_are_merged(point: str, tmp_path: Path) -> None:
    world, trace = World(tmp_path), tmp_path / "trace"
    world.make_repository({"README.md": "plum plum pear\n"})
    session = str(world.events("make yourself a tool")[0]["session"])[:8]
    world.run("self", "merge", "--conversation", session, check=False, THETIS_CRASH=point, THETIS_CRASH_TRACE=str(trace))
    assert reached(trace, point)
    half = world.events("list")[0]["session"]
    adopted = "tool/frequent-words" in own(world, half)
    assert adopted == (point == "guests.merged"), "what is not committed is nowhere to be seen"
    done = json.loads(world.run("self", "merge", "--conversation", session, "--json").stdout)
    assert done["ok"] and (done["merged"] == []) == adopted
    later = world.events("list")[0]["session"]
    assert own(world, later)["tool/frequent-words"] == own(world, session)["tool/frequent-words"]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["swap.before", "swap.after", "commit.before", "commit.after:2", "swap.after:2"])
def test_killed_while_a_guest_is_changed(point: str, tmp_path: Path) -> None:
    """Of building, storing, committing and swapping: what serves afterwards is a revision that passed, and it goes on."""
    world, trace = World(tmp_path), tmp_path / "trace"
    world.make_repository({"README.md": "plum plum pear\n"})
    session = str(world.events("list")[0]["session"])[:8]
    dying = {"THETIS_CRASH": point, "THETIS_CRASH_TRACE": str(trace)}
    world.run("run", "--conversation", session, "make yourself a tool", check=False, **dying)
    assert reached(trace, point.partition(":")[0])
    world.run("run", "--conversation", session, "list")
    guests = json.loads(world.run("self", "ls", "--conversation", session, "--json").stdout)["guests"]
    history = json.loads(world.run("self", "log", "--conversation", session, "--json").stdout)["revisions"]
    passed = {entry["revision"] for entry in history if entry["verdict"] == "pass"}
    assert {guest["revision"] for guest in guests if guest["origin"] == "own"} <= passed
    world.run("run", "--conversation", session, "run echo fine")
    assert json.loads(world.run("self", "merge", "--conversation", session, "--json", check=False).stdout or "{}").get("ok", True)
    bodies = next(iter((world.base / "state").rglob("body")), None)
    if bodies is not None:
        world.git("fsck", "--strict", at=bodies)


def own(world: World, session: str) -> dict[str, str]:
    listed = json.loads(world.run("self", "ls", "--conversation", session, "--json").stdout)["guests"]
    return {guest["aspect"]: guest["revision"] for guest in listed if guest["origin"] == "own"}
