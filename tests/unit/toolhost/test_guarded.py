"""Files for secrets are not read, edited, replaced or searched by any name, unless the person allowed them."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.errors import Refused
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.guarded import Guard
from thetis_kernel.toolhost.operations import perform
from thetis_kernel.toolhost.tree import Tree

from tests.support.turns import turn_context

CANARY = "canary-5d1f"
GUARDED = [".env", ".ENV", ".env.local", "deploy/.env.production", "prod.env", "id_rsa", "keys/server.KEY", "tls.pem", ".netrc",
           ".ssh/config", "a/.aws/credentials", "thetis.local.toml", "ssh-hosts.local.toml", "credentials.json"]
OPEN = [".env.example", ".env.sample", "id_rsa.pub", "environment.py", "src/env.py", "keys.md", "monkey.txt", ".envelope/a"]


@pytest.mark.parametrize("path", GUARDED)
def test_what_is_guarded(path: str) -> None:
    assert Guard().holds(path)


@pytest.mark.parametrize("path", OPEN)
def test_what_is_not(path: str) -> None:
    assert not Guard().holds(path)


@pytest.fixture
def context(tmp_path: Path) -> TurnContext:
    made = turn_context(tmp_path)
    for path in GUARDED:
        file = tmp_path / "wt" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"TOKEN={CANARY}\n")
    (tmp_path / "ws" / ".env").write_text(CANARY)
    (tmp_path / "wt" / "alias.txt").symlink_to(".env")
    (tmp_path / "wt" / "hop").symlink_to("deploy")
    return made


@pytest.mark.parametrize("path", [*GUARDED, "alias.txt", "hop/.env.production", "./deploy/../.env", "/workspace/.env"])
def test_no_name_reads_edits_or_replaces_one(context: TurnContext, tmp_path: Path, path: str) -> None:
    """Complaint 130: .env values in transcripts."""
    before = {file: file.read_bytes() for file in (tmp_path / "wt").rglob("*") if file.is_file()}
    with pytest.raises(Refused, match="secrets"):
        perform(context, "files.read-file", "c", {"path": path})
    with pytest.raises(Refused, match="secrets"):
        perform(context, "files.edit-file", "c", {"path": path, "old_text": "TOKEN", "new_text": "X"})
    with pytest.raises(Refused, match="secrets"):
        perform(context, "files.write-file", "c", {"path": path, "contents": "gone"})
    with pytest.raises(Refused, match="secrets"):
        perform(context, "files.search-files", "c", {"pattern": "TOKEN", "path": path})
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.parametrize("query", [
    {}, {"mode": "files"}, {"mode": "count"}, {"glob": ".env"}, {"glob": "**/*"}, {"max_results": 1}, {"path": "deploy"},
    {"path": ".ssh"}, {"path": "hop"},
])
def test_a_search_does_not_look_into_them(context: TurnContext, query: dict[str, object]) -> None:
    found = perform(context, "files.search-files", "c", {"pattern": "TOKEN|canary", **query})
    kind = {"files": "files", "count": "counts"}.get(str(query.get("mode")), "matches")
    assert found == {kind: [], "truncated": False}


def test_a_search_still_finds_the_rest(context: TurnContext, tmp_path: Path) -> None:
    (tmp_path / "wt" / ".env.example").write_text("TOKEN=\n")
    (tmp_path / "wt" / "src.py").write_text("TOKEN = 1\n")
    found = perform(context, "files.search-files", "c", {"pattern": "TOKEN"})
    assert [m["path"] for m in found["matches"]] == ["src.py"]


def test_the_person_can_allow_some(tmp_path: Path) -> None:
    for name in ("wt", "ws", "spill"):
        (tmp_path / name).mkdir()
    (tmp_path / "wt" / "tests").mkdir()
    (tmp_path / "wt" / "tests" / "ca.pem").write_text("made for tests")
    (tmp_path / "wt" / "ca.pem").write_text("real")
    tree = Tree(tmp_path / "wt", tmp_path / "ws", tmp_path / "spill", ("tests/*.pem",))
    assert tree.read_bytes("tests/ca.pem", 100) == b"made for tests"
    with pytest.raises(Refused):
        tree.read_bytes("ca.pem", 100)


def test_one_that_does_not_exist_can_be_made(context: TurnContext, tmp_path: Path) -> None:
    perform(context, "files.write-file", "c", {"path": "new/.env", "contents": "A=1\n"})
    assert (tmp_path / "wt" / "new" / ".env").read_text() == "A=1\n"
