"""Reading in parts, exact-once edits, search: what a model sees of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.toolhost.operations import OPERATIONS, perform
from thetis_kernel.toolhost.search import search_files

from tests.support.turns import turn_context


def test_reading_in_parts(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    first = perform(context, "files.read-file", "c", {"path": "long.txt"})
    assert (first["first"], first["lines"], first["total"], first["truncated"]) == (1, 2000, 5000, True)
    rest = perform(context, "files.read-file", "c", {"path": "long.txt", "offset": 4999, "limit": 10})
    assert rest["text"] == "line 4999\nline 5000" and rest["truncated"] is False
    with pytest.raises(ThetisError, match="past its end"):
        perform(context, "files.read-file", "c", {"path": "long.txt", "offset": 6000})


def test_long_lines_binary_and_bad_utf8(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "wide.txt").write_text("x" * 10_000)
    assert "more characters" in perform(context, "files.read-file", "c", {"path": "wide.txt"})["text"]
    (tmp_path / "wt" / "bin").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(ThetisError, match="binary"):
        perform(context, "files.read-file", "c", {"path": "bin"})
    (tmp_path / "wt" / "latin").write_bytes("caf\xe9".encode("latin-1"))
    assert perform(context, "files.read-file", "c", {"path": "latin"})["note"]
    with pytest.raises(ThetisError, match="not UTF-8"):
        perform(context, "files.edit-file", "c", {"path": "latin", "old_text": "caf", "new_text": "x"})
    assert (tmp_path / "wt" / "latin").read_bytes() == "caf\xe9".encode("latin-1")


def test_edits_need_exactly_one_match(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    file = tmp_path / "wt" / "a.py"
    file.write_text("def f():\n    return 1\n\ndef g():\n    return 1\n")

    def edit(**arguments: object) -> dict[str, object]:
        return perform(context, "files.edit-file", "c", {"path": "a.py", **arguments})

    with pytest.raises(ThetisError, match=r"occurs 2 times.*lines 2, 5"):
        edit(old_text="return 1", new_text="return 2")
    with pytest.raises(ThetisError) as none:
        edit(old_text="def f():\n  return 1", new_text="x")
    assert "white space only" in none.value.hint
    assert edit(old_text="def f():\n    return 1", new_text="def f():\n    return 3")["line"] == 1
    assert edit(old_text="return", new_text="yield", replace_all=True)["replaced"] == 2
    assert file.read_text() == "def f():\n    yield 3\n\ndef g():\n    yield 1\n"


def test_edits_keep_crlf(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    perform(context, "files.edit-file", "c", {"path": "dos.txt", "old_text": "one\ntwo", "new_text": "1\n2"})
    assert (tmp_path / "wt" / "dos.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


def test_arguments_are_checked_by_name(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    for arguments, message in [({}, "needs the argument path"), ({"path": 3}, "path must be a text"),
                               ({"path": "a", "sandbox": False}, "no argument 'sandbox'"),
                               ({"path": "a", "offset": True}, "offset must be a whole number")]:
        with pytest.raises(ThetisError, match=message):
            perform(context, "files.read-file", "c", arguments)


def test_read_only_refuses_every_effect(tmp_path: Path) -> None:
    context = turn_context(tmp_path, read_only=True)
    (tmp_path / "wt" / "a.txt").write_text("a")
    for name, operation in OPERATIONS.items():
        if operation.changes:
            with pytest.raises(Refused, match="read-only"):
                perform(context, name, "c", {"path": "a.txt", "contents": "b", "command": "true"})
    assert (tmp_path / "wt" / "a.txt").read_text() == "a"
    assert context.commands.asked == []


def test_search_finds_hidden_but_not_git_nor_ignored(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    for name, text in [("a.py", "needle = 1\n"), (".github/x.yml", "needle: 2\n"), (".git/config", "needle\n"),
                       ("node_modules/x.js", "needle"), ("b.txt", "nothing")]:
        (tmp_path / "wt" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "wt" / name).write_text(text)
    (tmp_path / "wt" / ".gitignore").write_text("node_modules\n")
    found = perform(context, "files.search-files", "c", {"pattern": "needle"})["matches"]
    assert sorted((m["path"], m["line"]) for m in found) == [(".github/x.yml", 1), ("a.py", 1)]
    only = perform(context, "files.search-files", "c", {"pattern": "needle", "mode": "files", "glob": "*.py"})
    assert only["files"] == ["a.py"]
    counts = perform(context, "files.search-files", "c", {"pattern": "needle", "mode": "count"})["counts"]
    assert {c["path"]: c["count"] for c in counts} == {".github/x.yml": 1, "a.py": 1}
    with pytest.raises(ThetisError, match="regex parse error"):
        perform(context, "files.search-files", "c", {"pattern": "("})


def test_search_takes_no_options_from_its_arguments(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "a.txt").write_text("--pre=touch\n")
    marker = tmp_path / "ran"
    found = perform(context, "files.search-files", "c", {"pattern": "--pre=touch", "glob": f"--pre=touch {marker}"})
    assert found["matches"] == [] and not marker.exists()
    assert perform(context, "files.search-files", "c", {"pattern": "--pre=touch"})["matches"][0]["path"] == "a.txt"


def test_search_does_not_follow_a_link_out(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "s.txt").write_text("needle")
    (tmp_path / "wt" / "out").symlink_to(tmp_path / "outside")
    assert perform(context, "files.search-files", "c", {"pattern": "needle"})["matches"] == []
    with pytest.raises(ThetisError):
        perform(context, "files.search-files", "c", {"pattern": "needle", "path": "out"})


def test_find_is_bounded_and_newest_first(tmp_path: Path) -> None:
    import os

    context = turn_context(tmp_path)
    for n in range(20):
        file = tmp_path / "wt" / f"f{n:02}.md"
        file.write_text("x")
        os.utime(file, (1000 + n, 1000 + n))
    found = perform(context, "files.find-files", "c", {"glob": "*.md", "max_results": 3})
    assert found == {"files": ["f19.md", "f18.md", "f17.md"], "truncated": True}


def test_a_stopped_search_says_so(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "a.txt").write_text("x\n")
    context.cancelled.set()
    try:
        search_files(context, {"pattern": "zzz"})
    except ThetisError as error:
        assert error.code == "cancelled"


def test_listing_shows_directories_first_and_no_git(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "z").mkdir()
    (tmp_path / "wt" / ".git").mkdir()
    (tmp_path / "wt" / "a.txt").write_text("12")
    (tmp_path / "wt" / "l").symlink_to("a.txt")
    listed = perform(context, "files.list-dir", "c", {})["entries"]
    assert [(e["name"], e["kind"]) for e in listed] == [("z", "dir"), ("a.txt", "file"), ("l", "link")]
