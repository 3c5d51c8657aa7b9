"""How each operation's result reads for the model."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest


@pytest.fixture
def shown(agent: SimpleNamespace) -> Any:
    def show(op: str, content: Any, outcome: str = "ok", args: dict[str, Any] | None = None, **more: Any) -> str:
        words = content if isinstance(content, str) else json.dumps(content, separators=(",", ":"))
        return agent.formats.result_text(op, args or {}, {"outcome": outcome, "content": words, **more})  # type: ignore[no-any-return]

    return show


def test_a_file_reads_with_line_numbers_and_says_where_to_read_on(shown: Any) -> None:
    read = shown("files.read-file", {"text": "a\n\tb", "first": 9, "lines": 2, "total": 12, "truncated": True})
    assert read == "     9\ta\n    10\t\tb\n[lines 9-10 of 12; read on with offset=11]"


def test_a_whole_file_has_no_last_line_about_it(shown: Any) -> None:
    assert shown("files.read-file", {"text": "a", "first": 1, "lines": 1, "total": 1}) == "     1\ta"


def test_the_end_and_emptiness_of_a_file_are_said(shown: Any) -> None:
    assert shown("files.read-file", {"text": "", "first": 1, "lines": 0, "total": 0}) == "(an empty file)"
    assert "12 lines" in shown("files.read-file", {"text": "", "first": 40, "lines": 0, "total": 12})


def test_a_minified_line_is_shortened(shown: Any) -> None:
    read = shown("files.read-file", {"text": "x" * 5000, "first": 1, "total": 1})
    assert len(read) < 2100 and "3000 characters" in read


def test_a_command_reads_as_its_output_with_the_end_last(shown: Any) -> None:
    assert shown("terminal.run", {"exit": 0, "output": "2 passed\n", "duration_ms": 5}) == "2 passed\n[exit 0]"
    assert shown("terminal.run", {"exit": 1, "output": ""}, "error") == "[exit 1, no output]"
    assert "timeout_ms" in shown("terminal.run", {"exit": None, "output": "x", "timed_out": True, "duration_ms": 2000}, "error")
    assert shown("terminal.run", {"exit": None, "signal": "KILL", "output": ""}, "error") == "[killed by signal KILL, no output]"
    assert shown("terminal.run", {"cancelled": True, "output": "x"}, "cancelled").endswith("[stopped by the person]")


def test_20_a_spilled_output_ends_with_the_way_to_the_rest(shown: Any) -> None:
    run = shown("terminal.run", {"exit": 0, "output": "head", "truncated": True, "spill": "/spill/c1.txt"})
    assert run.splitlines()[-1] == "[exit 0; output cut, the whole is in /spill/c1.txt]"
    tool = shown("tool:outline", "head\n[... 9 bytes left out ...]\ntail", truncated=True, spill="/spill/c2.txt")
    assert tool.splitlines()[-1].startswith("[cut; the whole is in /spill/c2.txt")


def test_json_that_the_log_cut_in_the_middle_still_reads(shown: Any) -> None:
    content = json.dumps({"path": "f", "text": 'one\n"two"\\n \ud83d\ude00 ☃'}, separators=(",", ":"))
    assert 'one\n"two"\\n ' in shown("files.read-file", content[:-2], truncated=True)
    entries = [{"name": f"n{i}", "kind": "file", "size": 1} for i in range(9)]
    listed = shown("files.list-dir", json.dumps({"entries": entries}, separators=(",", ":"))[:120], truncated=True)
    assert listed.startswith("n0  1 B\nn1  1 B") and "cut" in listed.splitlines()[-1]
    broken = shown("files.search-files", '{"matches":[{"path":"a","line":1,"te', truncated=True, args={"pattern": "x"})
    assert "no matches" in broken


def test_listing_searching_finding(shown: Any) -> None:
    entries = [{"name": "src", "kind": "dir", "size": 0}, {"name": "a", "kind": "file", "size": 2048},
               {"name": "l", "kind": "link", "size": 0}]  # fmt: skip
    assert shown("files.list-dir", {"entries": entries}) == "src/\na  2.0 KB\nl  (link)"
    assert shown("files.list-dir", {"entries": []}) == "(an empty directory)"
    matches = {"matches": [{"path": "a.py", "line": 3, "text": "  x = 1\n"}], "truncated": True}
    found = shown("files.search-files", matches, args={"pattern": "x"})
    assert found.startswith("a.py:3:   x = 1\n[cut") and "max_results" in found
    assert shown("files.search-files", {"files": ["a", "b"]}) == "a\nb"
    assert shown("files.search-files", {"counts": [{"path": "a", "count": 2}]}) == "a: 2"
    assert "'zz'" in shown("files.search-files", {"matches": []}, args={"pattern": "zz"})
    assert shown("files.find-files", {"files": ["b.py", "a.py"]}) == "b.py\na.py"
    assert "'*.x'" in shown("files.find-files", {"files": []}, args={"glob": "*.x"})


def test_writing_editing_and_notes(shown: Any) -> None:
    assert shown("files.write-file", {"path": "a", "bytes": 3, "created": True}) == "created a (3 bytes)"
    assert shown("files.edit-file", {"path": "a", "replaced": 2, "line": 7}) == "edited a: replaced 2 times"
    assert shown("notes.remember", {"key": "k"}, args={"key": "k"}) == "noted k"
    assert shown("notes.recall", {"notes": [{"key": "k", "content": "v"}]}) == "k: v"
    assert "no notes" in shown("notes.recall", {"notes": []})


def test_a_failure_says_what_and_the_way_out(shown: Any) -> None:
    assert shown("files.read-file", {"code": "x", "message": "There is no a.", "hint": "Use list."}, "error") == (
        "error: There is no a.\nUse list."
    )
    assert shown("files.write-file", "Read-only mode.", "refused") == "refused: Read-only mode."
    assert shown("terminal.run", "", "interrupted").startswith("Interrupted")
    assert shown("terminal.run", "", "cancelled").startswith("Not run")


def test_a_tools_own_text_is_passed_on_as_it_stands(shown: Any) -> None:
    assert shown("tool:outline", '{"a": 1}') == '{"a": 1}'
    assert shown("files.read-file", "not json") == "not json"
