"""`thetis doctor --conversation`: a real log, the real agent guest, no model; whatever state the conversation is in."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.thetis import World, kinds

pytestmark = pytest.mark.runtimes


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "# Harbour\n"})
    return made


def examined(world: World, conversation: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """(exit status, the findings by name)."""
    done = world.run("doctor", "--conversation", conversation, "--json", check=False)
    assert done.stdout, done.stderr
    found: dict[str, list[dict[str, str]]] = {}
    for finding in json.loads(done.stdout)["findings"]:
        found.setdefault(finding["name"], []).append(finding)
    return done.returncode, found


def spoil(world: World, words: str) -> None:
    """Change `words` in the log behind the store's back, as a failing disk would."""
    (path,) = world.base.glob("state/roots/*/data/thetis.db")
    with sqlite3.connect(path) as db:
        triggers = db.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'"
        ).fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute(
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB) WHERE instr(body, CAST(? AS BLOB)) > 0",
            (words, words[::-1], words),
        )
        for _, sql in triggers:
            db.execute(sql)
    db.close()


def test_a_sound_conversation_by_a_prefix_of_its_id(world: World) -> None:
    events = world.events("read README.md")
    session = events[0]["session"]
    before = world.log(session)
    done = world.run("doctor", "--conversation", session[:5])
    assert f"ok     log         Each of its {len(before)} events verifies." in done.stdout
    assert (
        "The next request is one a model takes" in done.stdout and "the one message of a person is in it" in done.stdout
    )
    assert world.log(session) == before, "looking changes nothing"


def test_a_turn_cut_by_a_kill_is_told_and_its_history_is_whole(world: World) -> None:
    with world.started("run", "--json", "rehearse: slow 600000 ms") as child:
        assert child.stdout is not None
        session = next(
            event["session"] for line in child.stdout if (event := json.loads(line))["kind"] == "turn-started"
        )
        child.kill()
    status, found = examined(world, session)
    assert status == 0 and found["history"][0]["level"] == "ok" and found["log"][0]["level"] == "ok"
    assert (
        found["turn"][0]["level"] == "warn"
        and f'thetis run --conversation {session[:8]} "go on"' in found["turn"][0]["hint"]
    )
    assert kinds(world.log(session))[-1] == "turn-finished"


def test_a_damaged_log_is_an_error_with_how_far_it_is_good(world: World) -> None:
    bad = world.events("say nonce-c3")[0]["session"]
    spoil(world, "nonce-c3")
    status, found = examined(world, bad)
    assert status == 1 and found["log"][0]["level"] == "error" and "good up to event 1 of" in found["log"][0]["message"]
    assert "thetis log" in found["log"][0]["hint"] and found["history"][0]["level"] == "warn"


@pytest.mark.parametrize(("name", "says"), [("abcdef01", "thetis ls"), ("no such id", "0-9 a-f"), ("ab", "at least 4")])
def test_an_id_nobody_knows_is_a_sentence_with_the_way_out(world: World, name: str, says: str) -> None:
    done = world.run("doctor", "--conversation", name, check=False)
    assert done.returncode == 2 and done.stdout == "" and says in done.stderr and "Traceback" not in done.stderr


def test_beside_a_running_turn(world: World) -> None:
    """Attached to the gateway that runs it: the open call has its answer in the request, the turn goes on."""
    with world.started("run", "--json", "run until [ -e go ]; do sleep 0.1; done; echo nonce-b2") as child:
        assert child.stdout is not None
        seen: list[dict[str, Any]] = []
        for line in child.stdout:
            seen.append(json.loads(line))
            if seen[-1]["kind"] == "tool-invocation":
                break
        status, found = examined(world, seen[0]["session"])
        assert status == 0 and "running" in found["found"][0]["message"] and found["history"][0]["level"] == "ok"
        (worktree,) = world.base.glob("state/roots/*/worktrees/*")
        (worktree / "go").touch()
        rest = [json.loads(line) for line in child.stdout]
    assert rest[-1]["body"]["stopped_by"] == "stop" and any("nonce-b2" in json.dumps(event) for event in rest)
