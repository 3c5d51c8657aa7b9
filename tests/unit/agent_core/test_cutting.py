"""Text is cut between visible characters."""

from __future__ import annotations

import unicodedata
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

FAMILY, FLAG, ACCENT, THUMB, ENGLAND = "👩‍👩‍👧‍👦", "🇩🇪", "e\u0301\u0323", "👍🏽", "🏴\U000e0067\U000e0062\U000e007f"
VISIBLE = [FAMILY, FLAG, ACCENT, THUMB, ENGLAND, "❤️", "\r\n", "a", "漢", "😀"]


@given(parts=st.lists(st.sampled_from(VISIBLE), min_size=1, max_size=12), limit=st.integers(0, 90))
def test_complaint_18_no_visible_character_is_halved(agent: SimpleNamespace, parts: list[str], limit: int) -> None:
    whole = "".join(parts)
    shown = agent.cutting.head(whole, limit)
    assert whole.startswith(shown) and len(shown) <= max(limit, 0)
    fits = 0
    while fits < len(parts) and len("".join(parts[: fits + 1])) <= limit:
        fits += 1
    assert shown == "".join(parts[:fits]), "and no more is left out than must be"


@pytest.mark.parametrize("endless", ["\u0301" * 500, FAMILY[:2] * 500, "🇩" * 501])
def test_what_joins_for_ever_is_cut_all_the_same(agent: SimpleNamespace, endless: str) -> None:
    assert len(agent.cutting.head(endless, 200)) >= 200 - 64 and len(agent.cutting.head(endless, 200)) <= 200


def test_what_fits_is_left_alone(agent: SimpleNamespace) -> None:
    assert agent.cutting.head("short", 5) == "short" and agent.cutting.head("", 0) == ""
    assert unicodedata.normalize("NFC", ACCENT) != ACCENT, "the examples are decomposed"
