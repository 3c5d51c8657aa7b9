"""What a turn is told of the checkout: rules with a bound, in the log when they change; one level of the workspace."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.hosts.worker.surroundings import MAX_RULES, MAX_WORKSPACE, surroundings, tell_rules
from thetis_kernel.protocol.events import StateChanged
from thetis_kernel.toolhost.context import TurnContext

from tests.support.turns import turn_context


def around(context: TurnContext) -> dict[str, Any]:
    return surroundings(context.tree, Path(context.place.workspace), "/workspace")


@pytest.fixture
def context(tmp_path: Path) -> TurnContext:
    return turn_context(tmp_path)


def test_directories_come_first_by_name_without_sizes_and_dates(context: TurnContext, tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    for name in ("b", "a"):
        (ws / name / "inside").mkdir(parents=True)
    (ws / "c.txt").write_text("x")
    (ws / "away").symlink_to("/etc")
    first = around(context)
    assert first["workspace"] == ["a/", "b/", "away", "c.txt"]
    (ws / "c.txt").write_text("much longer than before")
    os.utime(ws / "a", (1, 1))
    (ws / "a" / "new.txt").write_text("x")
    assert around(context) == first


def test_a_full_workspace_says_how_much_more_there_is(context: TurnContext, tmp_path: Path) -> None:
    for number in range(MAX_WORKSPACE + 7):
        (tmp_path / "ws" / f"d{number:03}").mkdir()
    found = around(context)
    assert (len(found["workspace"]), found["workspace_more"]) == (MAX_WORKSPACE, 7)


def test_rules_are_told_once_and_again_when_they_change(context: TurnContext, tmp_path: Path) -> None:
    file = tmp_path / "wt" / "AGENTS.md"
    told: list[str] = []
    for words in ("", "Use tabs.\n", "Use tabs.\n", "Use spaces.\n", ""):
        if words:
            file.write_text(words)
        else:
            file.unlink(missing_ok=True)
        tell_rules(context.journal, around(context))
    for body in context.journal.bodies:  # type: ignore[attr-defined]
        assert isinstance(body, StateChanged)
        assert (body.scope, body.key) == ("rules", "project")
        told.append(json.loads(body.value)["text"] if body.value else "")
    assert told == ["Use tabs.\n", "Use spaces.\n", ""]


def test_one_file_with_a_bound_and_no_link_out_of_the_checkout(context: TurnContext, tmp_path: Path) -> None:
    wt = tmp_path / "wt"
    (tmp_path / "secret").write_text("outside")
    (wt / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert around(context)["project_rules"] == ""
    (wt / "CLAUDE.md").write_text("C")
    assert around(context)["project_rules_file"] == "CLAUDE.md"
    (wt / "AGENTS.md").unlink()
    (wt / "AGENTS.md").write_text("é" * MAX_RULES)
    found = around(context)
    assert (found["project_rules_file"], found["project_rules_cut"]) == ("AGENTS.md", True)
    assert len(found["project_rules"].encode()) <= MAX_RULES
