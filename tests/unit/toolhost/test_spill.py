"""The spill is one conversation's: whatever an agent calls its calls, nothing is written or read elsewhere."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost.bounds import MAX_CONTENT
from thetis_kernel.toolhost.dispatch import invoke_many
from thetis_kernel.toolhost.operations import perform

from tests.support.turns import turn_context

LONG = "x" * (MAX_CONTENT + 1)
EVIL = ["../../escape", "/no-such-directory/escape", "../wt/escape", "a/b", "..", ".", "x\n", "é", "a" * 300,
        "conv/../../../escape", "c\x00d"]  # fmt: skip


def everything(base: Path) -> set[str]:
    return {str(path.relative_to(base)) for path in base.rglob("*")}


@pytest.mark.parametrize("call", EVIL)
def test_an_id_is_no_path(tmp_path: Path, call: str) -> None:
    """Reliability S5: ids come from the agent, which is a guest."""
    base = tmp_path / "root"
    base.mkdir()
    context = turn_context(base)
    before = everything(tmp_path)
    calls = [{"id": call, "name": "say", "op": "answer", "op-args": {"text": LONG, "ok": True}}]
    result = invoke_many(context, msgspec.json.encode(calls).decode())[0]
    made = everything(tmp_path) - before
    assert len(made) == 1 and made.pop().startswith("root/spill/")
    kept = next((base / "spill").iterdir())
    assert kept.read_text() == LONG and kept.stat().st_mode & 0o777 == 0o600
    recorded = context.journal.bodies[-1].spill  # type: ignore[attr-defined]
    assert perform(context, "files.read-file", "c", {"path": recorded})["text"].startswith("xxx")
    assert result["outcome"] == "ok"


def test_a_command_is_told_a_file_in_the_spill(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    for call in EVIL:
        perform(context, "terminal.run", call, {"command": "true"})
    assert {run.spill.parent for run in context.commands.asked} == {tmp_path / "spill"}  # type: ignore[attr-defined]


def test_a_link_planted_under_its_name_is_replaced(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    victim = tmp_path / "victim.txt"
    victim.write_text("old")
    (tmp_path / "spill" / "call_1.txt").symlink_to(victim)
    assert context.tree.keep("call_1", "new") == "/spill/call_1.txt"
    assert victim.read_text() == "old"
    assert (tmp_path / "spill" / "call_1.txt").read_text() == "new"


@pytest.mark.parametrize("path", ["/spill/../other/c.txt", "/spill/link", "/spill/dir/c.txt"])
def test_the_neighbours_spill_is_out_of_reach(tmp_path: Path, path: str) -> None:
    (tmp_path / "spills").mkdir()
    context = turn_context(tmp_path / "spills")
    other = tmp_path / "spills" / "other"
    other.mkdir()
    (other / "c.txt").write_text("theirs")
    (tmp_path / "spills" / "spill" / "link").symlink_to(other / "c.txt")
    (tmp_path / "spills" / "spill" / "dir").symlink_to(other)
    with pytest.raises(ThetisError):
        context.tree.read_bytes(path, 100)
