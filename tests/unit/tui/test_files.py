"""Names of files in the prompt: listed by ripgrep below the ignore files, matched by a few letters, taken with Tab or Enter."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import screen
from thetis_tui.files import asked, listed, matching


def project(path: Path) -> Path:
    for name in ("engine/parser.py", "engine/nodes.py", "tests/test_parser.py", "docs/two words.md", ".github/ci.yml",
                 "build/out.o", "node_modules/x/parser.py", ".git/config"):
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    (path / ".gitignore").write_text("build/\nnode_modules/\n")
    return path


async def test_what_is_ignored_is_not_listed_and_hidden_files_are(tmp_path: Path) -> None:
    names = await listed(str(project(tmp_path)))
    assert set(names) == {"engine/parser.py", "engine/nodes.py", "tests/test_parser.py", "docs/two words.md", ".github/ci.yml",
                          ".gitignore"}


async def test_a_directory_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert await listed(str(tmp_path / "gone")) == []


async def test_a_name_with_control_characters_is_not_offered(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("x")
    (tmp_path / "bad\x1b[31m.py").write_text("x")
    (tmp_path / "two\nlines.py").write_text("x")
    assert await listed(str(tmp_path)) == ["good.py"]


def test_a_few_letters_find_a_file_and_the_best_is_first() -> None:
    names = ["src/a/prefix_rest_parse.txt", "engine/parser.py", "tests/test_parser.py", "p/a/r/s/e/x"]
    assert matching(names, "parse")[0] == "engine/parser.py"
    assert matching(names, "tpar")[0] == "tests/test_parser.py"
    assert matching(names, "PARSER.PY") == ["engine/parser.py", "tests/test_parser.py"]
    assert matching(names, "zzz") == []


@given(st.lists(st.text(min_size=1, max_size=20), max_size=30), st.text(max_size=5))
def test_what_matches_holds_the_letters_in_order(names: list[str], query: str) -> None:
    for name in matching(names, query):
        rest = iter(name.casefold())
        assert all(letter in rest for letter in query.casefold())


def test_an_at_sign_counts_at_the_start_of_a_word_only() -> None:
    assert asked("look at @eng") == "eng"
    assert asked("@") == ""
    assert asked("ada@home") is None and asked("@done with it") is None


async def test_tab_puts_the_name_where_the_letters_stood(tmp_path: Path) -> None:
    gateway = FakeGateway(root=str(project(tmp_path)))
    async with screen(gateway) as s:
        s.desk.prompt.load_text("")
        for letter in "read @enpars":
            s.desk.prompt.insert(letter)
        await s.until(lambda: s.desk.completing.chosen == "@engine/parser.py", "offered")
        await s.pilot.press("tab")
        await s.until(lambda: s.desk.prompt.text == "read @engine/parser.py ", "taken")
        assert not gateway.asked_anything()


async def test_enter_takes_a_name_and_sends_nothing_and_escape_closes_the_list(tmp_path: Path) -> None:
    gateway = FakeGateway(root=str(project(tmp_path)))
    async with screen(gateway) as s:
        s.desk.prompt.insert("@two")
        await s.until(lambda: s.desk.completing.chosen == '@"docs/two words.md"', "offered, quoted")
        await s.pilot.press("escape")
        await s.until(lambda: not s.desk.completing.chosen, "closed")
        s.desk.prompt.insert(" @nodes")
        await s.until(lambda: s.desk.completing.chosen == "@engine/nodes.py")
        await s.pilot.press("enter")
        await s.until(lambda: s.desk.prompt.text == "@two @engine/nodes.py ")
        assert not gateway.asked_anything()
