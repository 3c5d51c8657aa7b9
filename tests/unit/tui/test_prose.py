"""Markdown as lines: what a reply looks like, also while it grows."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from thetis_tui.prose import Document

REPLY = """\
# Title

A paragraph with **bold**, *soft*, `code` and ~~gone~~ words that is long enough to wrap.

- one
- two
  1. inner
  2. `more`
- [x] done

> quoted
> twice

```python
def main() -> int:
    return 0  # [red]not markup[/red]
```

| a | b |
|---|--:|
| 日本語 | 1 |

[name](https://example.org/x) <b>html</b> app.py
"""


def plain(text: str, width: int = 40, **how: bool) -> list[str]:
    return [line.content.plain for line in Document(text, **how).lines(width)]


def test_the_blocks_of_a_reply() -> None:
    lines = plain(REPLY)
    assert lines[0] == "Title"
    assert "• one" in lines
    assert "  1. inner" in lines
    assert "☑ done" in lines
    assert "▎ quoted twice" in lines
    assert " def main() -> int:" in lines
    assert any(line.startswith("日本語") and line.endswith("1") for line in lines)


def test_nothing_in_a_reply_is_markup_or_disappears() -> None:
    lines = "\n".join(plain(REPLY, 100))
    assert "[red]not markup[/red]" in lines
    assert "<b>html</b>" in lines
    assert "app.py" in lines
    assert plain("[bold]x[/bold] [@click=app.quit]y[/]") == ["[bold]x[/bold] [@click=app.quit]y[/]"]


def test_a_link_says_where_it_leads() -> None:
    assert plain("[bank](https://evil.example)", 80) == ["bank (https://evil.example)"]
    assert plain("<https://good.example>", 80) == ["https://good.example"]


def test_no_line_is_wider_than_the_screen() -> None:
    for width in (8, 20, 33, 80):
        for line in Document(REPLY + "\n\n" + "日本語" * 40 + "\n\n```\n" + "x" * 200 + "\n```").lines(width):
            assert line.content.cell_length <= width, (width, line.content.plain)


def test_a_fence_split_over_pieces_is_one_fence() -> None:
    document = Document(growing=True)
    for piece in ("before\n\n``", "`py", "thon\ndef ", "f():\n", "    pass\n", "``", "`\n\naf", "ter"):
        document.append(piece)
        document.lines(40)
    document.growing = False
    shown = [line.content.plain for line in document.lines(40)]
    assert shown == ["before", "", " def f():", "     pass", "", "after"]


def test_a_tables_first_line_waits_for_its_second() -> None:
    document = Document("Look:\n\n", growing=True)
    document.append("| a | b |")
    assert [line.content.plain for line in document.lines(40)] == ["Look:"]
    document.append("\n|---|---|\n| 1 | 2 |\n")
    assert [line.content.plain for line in document.lines(40)][2:] == ["a  b", "─  ─", "1  2"]
    waits = Document("| no table", growing=True)
    assert waits.lines(40) == []
    waits.growing = False
    assert [line.content.plain for line in waits.lines(40)] == ["| no table"]


MARKDOWN = st.lists(
    st.sampled_from([
        "word ", "**b** ", "*", "`", "\n", "\n\n", "- ", "1. ", "  - ", "> ", "# ", "```\n", "```py\n", "| a | b |\n",
        "|---|---|\n", "| 1 | 2 |\n", "---\n", "    code\n", "日本 ", "===\n", "~~", "<i>", "\\", "&amp; ",
    ]),
    max_size=40,
).map("".join)


@settings(max_examples=40, deadline=None)
@example("- | a | b |\n**b** ", [13, 1], 10)
@example("a\n\n- b\n  c\n\n    d\n", [3, 1], 20)
@given(MARKDOWN, st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(10, 60))
def test_growing_piece_by_piece_ends_as_the_whole(text: str, sizes: list[int], width: int) -> None:
    document = Document(growing=True)
    at = 0
    for index in range(len(text)):
        size = sizes[index % len(sizes)]
        document.append(text[at : at + size])
        document.lines(width)
        at += size
        if at >= len(text):
            break
    document.growing = False
    assert document.source == text
    assert [line.content.plain for line in document.lines(width)] == plain(text, width)


@settings(max_examples=20, deadline=None)
@given(MARKDOWN)
def test_a_changed_width_lays_all_of_it_out_again(text: str) -> None:
    document = Document(text)
    document.lines(20)
    assert [line.content.plain for line in document.lines(50)] == plain(text, 50)
