"""A person's own editor: how it is told file and line, which files a block may name, and a text edited in it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError, UsageError

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import screen
from thetis_tui.editing import command, edited, place_in


@pytest.mark.parametrize(("editor", "argv"), [
    ("vim", ["vim", "+7", "/a/b.py"]),
    ("/usr/bin/nano -w", ["/usr/bin/nano", "-w", "+7", "/a/b.py"]),
    ("hx", ["hx", "/a/b.py:7"]),
    ("code -w", ["code", "-w", "-g", "/a/b.py:7"]),
    ("something", ["something", "/a/b.py"]),
])
def test_each_editor_is_told_the_line_in_its_own_way(editor: str, argv: list[str]) -> None:
    assert command({"EDITOR": editor}, "/a/b.py", 7) == argv


def test_visual_comes_before_editor_and_without_either_there_is_a_way_out() -> None:
    assert command({"VISUAL": "vi", "EDITOR": "ed"}, "/x")[0] == "vi"
    with pytest.raises(UsageError) as error:
        command({"EDITOR": "'"}, "/x")
    assert "export EDITOR" in error.value.hint


def test_the_first_existing_file_is_taken_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/parser.py").write_text("x")
    text = "read nothing.py, then ./src/parser.py:42: error, and src/parser.py:7"
    assert place_in(text, [str(tmp_path)]) == (str(tmp_path / "src/parser.py"), 42)
    assert place_in("src/parser.py", ["/nowhere", str(tmp_path)]) == (str(tmp_path / "src/parser.py"), 0)
    assert place_in("only words", [str(tmp_path)]) is None


def test_a_name_that_leads_out_of_the_worktree_names_nothing(tmp_path: Path) -> None:
    inside = tmp_path / "work"
    inside.mkdir()
    (tmp_path / "secret.txt").write_text("x")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    for text in ("../secret.txt", "link.txt", str(tmp_path / "secret.txt")):
        assert place_in(text, [str(inside)]) is None


def editor(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


class Still:
    """An app that can be put away."""

    def batch_update(self) -> object:
        from contextlib import nullcontext

        return nullcontext()

    suspend = batch_update


async def test_a_text_comes_back_as_it_was_left(tmp_path: Path) -> None:
    program = editor(tmp_path / "ed", 'printf "%s and more\\n" "$(cat "$1")" > "$1.new"; mv "$1.new" "$1"')
    assert await edited(Still(), "one\ntwo", {"EDITOR": program}) == "one\ntwo and more"  # type: ignore[arg-type]


async def test_a_failed_editor_changes_nothing_and_says_so(tmp_path: Path) -> None:
    program = editor(tmp_path / "ed", 'echo lost > "$1"; exit 3')
    with pytest.raises(ThetisError, match="ended with 3"):
        await edited(Still(), "kept", {"EDITOR": program})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="could not be started"):
        await edited(Still(), "kept", {"EDITOR": str(tmp_path / "nobody")})  # type: ignore[arg-type]


async def test_opening_a_file_nobody_named_says_how_to_name_one() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    async with screen(gateway, conversation=session) as s:
        await s.pilot.press("alt+o")
        await s.until(lambda: any("No file is named" in toast for toast in s.toasts()))
