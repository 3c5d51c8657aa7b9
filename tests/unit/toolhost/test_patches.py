"""What a person sees of a write: the file's own lines, in the result's data and nowhere the model or a guest reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.events import ToolResult
from thetis_kernel.toolhost.dispatch import direct, invoke_many
from thetis_kernel.toolhost.operations import perform
from thetis_kernel.toolhost.patches import MAX_COMPARED, MAX_PATCH, _lines, patch
from thetis_kernel.toolhost.sandbox import sandbox_imports

from tests.support.turns import turn_context

LINES = st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=8), max_size=30)


def test_it_names_the_lines_of_the_file(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    call = {"id": "c1", "name": "edit", "args": {}, "op": "files.edit-file",
            "op-args": {"path": "a.py", "old_text": "line 50", "new_text": "fifty"}}
    [answer] = invoke_many(context, json.dumps([call]))
    lines = answer["data"]["patch"].splitlines()
    assert lines == ["--- a/a.py", "+++ b/a.py", "@@ -48,5 +48,5 @@", " line 48", " line 49", "-line 50", "+fifty", " line 51",
                     " line 52"]
    assert "patch" not in answer["content"], "the model knows what it wrote"


def test_a_file_written_anew_shows_what_it_replaced(tmp_path: Path) -> None:
    context = turn_context(tmp_path)

    def write(contents: str) -> dict[str, Any]:
        call = {"id": f"c{len(contents)}", "name": "write", "args": {}, "op": "files.write-file",
                "op-args": {"path": "a.txt", "contents": contents}}
        [answer] = invoke_many(context, json.dumps([call]))
        assert answer["outcome"] == "ok"
        return dict(answer["data"])

    assert "patch" not in write("one\n"), "a new file has nothing to compare"
    assert write("one\ntwo\n")["patch"].splitlines()[-1] == "+two"
    assert "patch" not in write("one\ntwo\n"), "nothing changed"
    (tmp_path / "wt" / "a.txt").write_bytes(b"\0binary")
    assert "patch" not in write("text now\n")


def test_guests_are_not_handed_it(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "a.txt").write_text("before\n")
    assert "patch" not in perform(context, "files.write-file", "c", {"path": "a.txt", "contents": "after\n"})
    written = sandbox_imports(context, "c2", "t")["sandbox.write-file"]("a.txt", "later\n")
    assert "patch" not in str(written)
    assert "patch" not in direct(context, "files.edit-file", {"path": "a.txt", "old_text": "later", "new_text": "last"})
    [result] = [body for body in context.journal.bodies if isinstance(body, ToolResult)]
    assert result.data["patch"].endswith("-later\n+last") and "patch" not in result.content


@given(LINES, LINES)
def test_its_added_and_removed_lines_account_for_the_difference(old: list[str], new: list[str]) -> None:
    told = patch("f", "\n".join(old), "\n".join(new))
    before, after = _lines("\n".join(old)), _lines("\n".join(new))
    body = told.split("\n")[2:] if told else []
    assert len(told) <= MAX_PATCH and bool(told) == (before != after)
    removed, added = sum(x[:1] == "-" for x in body), sum(x[:1] == "+" for x in body)
    assert len(after) - len(before) == added - removed
    assert all(x[1:] in before for x in body if x[:1] == "-") and all(x[1:] in after for x in body if x[:1] == "+")


def test_a_long_one_says_what_is_missing_and_too_much_is_not_compared() -> None:
    many = patch("f", "", "\n".join(f"line {n}" for n in range(5000)))
    assert len(many) <= MAX_PATCH + 30 and many.splitlines()[-1].startswith("\\ ") and many.endswith(" more lines")
    assert f"\\ {5000 - (len(many.splitlines()) - 4)} more lines" in many
    assert patch("f", "a" * MAX_COMPARED, "b") == ""
