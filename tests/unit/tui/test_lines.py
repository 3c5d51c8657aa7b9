"""Lines, tables, diffs and code: layout within a width, measured in cells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content

from tests.support.fake_scenes import PATCH
from thetis_tui import diffs
from thetis_tui.codes import code_lines, highlighted
from thetis_tui.difflines import diff_lines
from thetis_tui.lines import Line, copied, folded, prefixed, wrapped
from thetis_tui.tables import fitted, table_lines
from thetis_tui.text import age, count, cut, cut_left, duration, plural


def test_a_copy_undoes_soft_wraps_and_leaves_the_indentation_out() -> None:
    body = wrapped(Content("one two three four\nnext"), 9)
    lines = prefixed(body, Content("• "), Content("  "))
    assert [line.content.plain for line in lines] == ["• one two", "  three", "  four", "  next"]
    assert copied(lines, [(y, 0, -1) for y in range(4)]) == "• one two three four\n  next"
    assert copied(lines, [(0, 2, -1), (1, 0, 7)]) == "one two three"


def test_wide_characters_are_folded_by_cells() -> None:
    for line in folded(Content("日本語テキスト🚀🚀"), 7):
        assert line.content.cell_length <= 7
    assert "".join(line.content.plain for line in folded(Content("日本語テキスト"), 5)) == "日本語テキスト"


@given(st.text("ab日🚀 é", max_size=30), st.integers(0, 20))
def test_a_cut_text_fits_and_says_so(text: str, cells: int) -> None:
    for made in (cut(text, cells), cut_left(text, cells)):
        assert cell_len(made) <= cells
        assert made == text or not made or "…" in made


def test_columns_share_what_there_is() -> None:
    assert fitted([4, 10], 40) == [4, 10]
    assert sum(fitted([30, 50, 5], 60)) + 4 <= 60
    assert fitted([30, 50, 5], 60)[2] == 5
    assert min(fitted([30, 50, 60], 10)) >= 1
    rows = [[Content("a"), Content("b")], [Content("x" * 30), Content("日本語")]]
    assert all(line.content.cell_length <= 24 for line in table_lines(rows, ["left", "right"], 24))
    assert table_lines([], [], 10) == []


def test_a_diff_has_numbers_marks_and_files() -> None:
    parsed = diffs.parse(PATCH)
    assert diffs.tally(parsed) == (4, 2)
    assert parsed[0] == diffs.DiffLine("file", "engine/parser.py")
    added = next(line for line in parsed if line.kind == "added")
    assert (added.old, added.new) == (0, 44)
    lines = diff_lines(parsed, 80)
    assert any("44 + " in line.content.plain and "$success-muted" in line.fill for line in lines)
    assert all(line.content.cell_length <= 50 for line in diff_lines(parsed, 50))


def test_lines_that_look_like_headers_inside_a_hunk_are_content() -> None:
    parsed = diffs.parse("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- removed dashes\n+++ added pluses\n same\n")
    assert [line.kind for line in parsed] == ["file", "hunk", "removed", "added", "same"]
    assert parsed[2].text == "-- removed dashes"


def test_a_deleted_file_and_no_newline() -> None:
    parsed = diffs.parse("--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n")
    assert parsed[0].text == "gone (deleted)"
    assert parsed[-1].kind == "note"


@given(st.text("+-@ ab\n\\d0123,", max_size=200))
def test_anything_is_read_as_some_diff(text: str) -> None:
    for line in diff_lines(diffs.parse(text), 30):
        assert line.content.cell_length <= 30


def test_code_is_coloured_when_known_and_plain_when_not() -> None:
    assert highlighted("def f(): pass", "python").spans
    assert not highlighted("def f(): pass", "no-such-language").spans
    assert not highlighted("x" * 50_000, "python").spans
    assert highlighted("a\tb", "").plain == "a   b"
    assert all(line.fill for line in code_lines("a\nb", "python", 20))


def test_short_texts_for_people() -> None:
    assert [age(0, ms) for ms in (0, 5 * 60_000, 7_200_000, 3 * 86_400_000)] == ["now", "5m", "2h", "3d"]
    assert [duration(s) for s in (0.42, 12, 185, 7620)] == ["0.4s", "12s", "3m 05s", "2h 07m"]
    assert [count(n) for n in (940, 1234, 34_000, 1_200_000)] == ["940", "1.2k", "34k", "1.2M"]
    assert (plural(1, "file"), plural(3, "file")) == ("1 file", "3 files")
    assert prefixed([Line(Content("x"))], Content(), Content())[0].content.plain == "x"
