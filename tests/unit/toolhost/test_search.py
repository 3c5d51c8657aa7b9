"""A search runs a program outside the walls: nothing an agent can name may become an option of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost.operations import perform
from thetis_kernel.walls import reading
from thetis_kernel.walls.probe import probe

from tests.support.swapping import swapping
from tests.support.turns import turn_context


@pytest.mark.parametrize("name", ["--pre=./evil", "--hostname-bin=./evil", "-zz", "--files"])
def test_a_directory_named_like_an_option_is_a_directory(tmp_path: Path, name: str) -> None:
    context = turn_context(tmp_path)
    marker = tmp_path / "ran"
    evil = tmp_path / "wt" / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {marker}\n")
    evil.chmod(0o755)
    directory = tmp_path / "wt" / name
    (directory / "sub").mkdir(parents=True)
    (directory / "a.txt").write_text("needle\n")
    (tmp_path / "wt" / "b.txt").write_text("needle\n")
    found = perform(context, "files.search-files", "c", {"pattern": "needle", "path": name})
    assert [m["text"] for m in found["matches"]] == ["needle"]
    assert found["matches"][0]["path"].endswith("/a.txt")
    assert len(perform(context, "files.find-files", "c", {"glob": "*.txt", "path": name})["files"]) == 1
    assert not marker.exists()


def test_a_search_runs_where_it_cannot_be_led_out(tmp_path: Path) -> None:
    """Reliability S3: between our look at a directory and ripgrep's, another process makes it a link to the outside."""
    tier = probe()
    if tier.name == "none":
        pytest.skip("this machine has no walls")
    context = turn_context(tmp_path)
    context.reading = lambda base, program: reading.argv(tier, base, program)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f.txt").write_text("needle of somebody else\n")
    (tmp_path / "wt" / "victim").mkdir()
    (tmp_path / "wt" / "victim" / "f.txt").write_text("needle\n")
    (tmp_path / "wt" / "trap").symlink_to(tmp_path / "outside")
    found: set[str] = set()
    with swapping(tmp_path / "wt"):
        for _ in range(60):
            try:
                answer = perform(context, "files.search-files", "c", {"pattern": "needle", "path": "victim"})
            except ThetisError:
                continue
            found |= {match["text"] for match in answer["matches"]}
    assert found <= {"needle"}


def test_names_come_newest_first_where_nothing_else_can_be_seen(tmp_path: Path) -> None:
    tier = probe()
    if tier.name == "none":
        pytest.skip("this machine has no walls")
    context = turn_context(tmp_path)
    context.reading = lambda base, program: reading.argv(tier, base, program)
    for age, name in enumerate(("c.md", "a.md", "b.md")):
        (tmp_path / "wt" / name).write_text("x")
        os.utime(tmp_path / "wt" / name, (1_700_000_000 - age, 1_700_000_000 - age))
    assert perform(context, "files.find-files", "c", {"glob": "*.md"}) == {"files": ["c.md", "a.md", "b.md"], "truncated": False}
    assert perform(context, "files.find-files", "c", {"glob": "*.md", "max_results": 2})["truncated"]
