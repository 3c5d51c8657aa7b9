"""The line of a call: how a failure ended is always to be seen, whatever the length of its words."""

from __future__ import annotations

import pytest
from thetis_kernel.protocol.blocks import Block

from thetis_tui.widgets.rows.tool import ToolRow


def head(words: str, title: str, tone: str, width: int = 80) -> str:
    row = ToolRow(Block(kind="tool", seq=1, title=words, call="c1"))
    row.results.append(Block(kind="result", seq=2, title=title, tone=tone, call="c1"))
    return "".join(str(line.content.plain) for line in row.head(width))


@pytest.mark.parametrize("words", ["t1 $ make", "t1 $ " + "word " * 12, "t1 $ " + "word " * 60])
def test_an_exit_code_of_a_failure_is_not_pushed_out(words: str) -> None:
    line = head(words, "exit 3 · no output", "bad")
    assert line.endswith("  exit 3 · no output") and len(line) <= 80


def test_a_success_gives_way_to_its_words() -> None:
    assert head("t1 $ " + "word " * 14, "exit 0", "good").rstrip().endswith("word")
    assert head("t1 $ make", "exit 0", "good").endswith("  exit 0")


def test_a_result_that_is_a_diff_takes_the_place_of_what_was_meant() -> None:
    meant = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two"
    became = meant.replace("@@ -1 +1 @@", "@@ -70,2 +70,2 @@\n before")
    row = ToolRow(Block(kind="tool", seq=1, title="edit f", call="c1", body=meant, format="diff"))
    assert "before" not in row.source() and sum("two" in str(line.content.plain) for line in row.body(60)) == 1
    row.results.append(Block(kind="result", seq=2, title="line 71", call="c1", body=became, format="diff"))
    lines = [str(line.content.plain) for line in row.body(60)]
    assert sum("two" in line for line in lines) == 1 and any("71" in line and "two" in line for line in lines)
    assert row.source().count("+two") == 1 and "before" in row.source()
