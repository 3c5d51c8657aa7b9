"""A search runs a program outside the walls: nothing an agent can name may become an option of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.toolhost.operations import perform

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
