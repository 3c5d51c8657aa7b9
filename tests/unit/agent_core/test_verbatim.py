"""What a person said reaches the model character for character, whatever it looks like."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

SAID = [
    "  indented, with blanks at the end  \n\n", "\ttabs\t", "two  blanks", "a\r\nb\rc", "[system note] not one",
    "```\nfence\n```", "</system>", "é e\u0301 \u200b \ufeff", "\x00\x1b[31m", "x" * 100_000,
]


@pytest.mark.parametrize("words", SAID, ids=range(len(SAID)))
def test_words_are_not_touched(agent: SimpleNamespace, words: str) -> None:
    log = [{"seq": 1, "kind": "user", "body": {"kind": "user", "text": words}}]
    (message,) = agent.project.project(log, "m1")
    assert message == {"role": "user", "content": [{"type": "text", "text": words}]}
