"""What a new worktree gets of the root's ignored files, and the person's setup command: from words to commit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.thetis import World, answer, fingerprint

pytestmark = pytest.mark.runtimes


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "# Harbour\n", ".gitignore": "node_modules/\n.env\n.venv/\n"})
    made.write({"node_modules/pad/index.js": "pad\n", ".env": "PORT=1\n"})
    return made


def configure(world: World, text: str) -> None:
    file = world.base / "config.toml"
    file.write_text(f"[worktree]\n{text}\n")
    world.environ["THETIS_CONFIG"] = str(file)


def last(world: World) -> dict[str, object]:
    return json.loads(world.run("ls", "--json").stdout)[0]


def test_links_copies_and_a_setup_command_and_nothing_of_them_is_committed(world: World) -> None:
    before = fingerprint(world.repository)
    configure(world, 'link = ["node_modules"]\ncopy = [".env"]\nsetup = "cat node_modules/pad/index.js .env > made; echo set up"')
    events = world.events("run cat made node_modules/pad/index.js; touch node_modules/mine || echo read-only")
    assert "pad\nPORT=1\npad\n" in answer(events) and "read-only" in answer(events)
    [checked_out] = [event for event in events if event["kind"] == "branch-op" and event["body"]["op"] == "materialised"]
    data = checked_out["body"]["data"]
    assert sorted(data["brought"]) == [".env", "node_modules"]
    assert (data["setup"]["exit"], data["setup"]["output"]) == (0, "set up")
    assert world.git("ls-tree", "-r", "--name-only", str(last(world)["branch"])).split() == [".gitignore", "README.md", "made"]
    assert fingerprint(world.repository) == before
    again = world.events("--conversation", str(last(world)["id"]), "run cat node_modules/pad/index.js")
    assert "pad" in answer(again)
    assert not [event for event in again if event["kind"] == "branch-op" and event["body"]["op"] == "materialised"]


def test_a_setup_that_fails_is_told_and_the_turn_goes_on(world: World) -> None:
    configure(world, 'setup = "echo no such package; exit 3"')
    events = world.events("list")
    [note] = [event["body"] for event in events if event["kind"] == "system-note" and event["body"]["about"] == "setup"]
    assert note["text"].endswith("ended with 3:\nno such package")
    assert events[-1]["kind"] == "turn-finished" and "README.md" in answer(events)


def test_a_linked_environment_runs(world: World) -> None:
    venv = world.repository / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    configure(world, 'link = [".venv"]')
    events = world.events("run .venv/bin/python -c 'import sys, json; print(sys.prefix != sys.base_prefix)'")
    assert "True" in answer(events)


def test_a_repository_cannot_ask_for_any_of_it(world: World) -> None:
    world.write({"thetis.toml": '[worktree]\nsetup = "touch owned"\ncopy = [".env"]\n'})
    events = world.events("run ls -A")
    assert "owned" not in answer(events) and ".env" not in answer(events)
