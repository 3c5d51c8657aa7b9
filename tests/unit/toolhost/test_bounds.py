"""Cutting a result: at most the limit, whole characters, and the line between counts what is gone."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.toolhost.bounds import cut

TEXTS = st.text(st.sampled_from("aé€😀\n"), max_size=200)


@given(TEXTS, st.integers(min_value=8, max_value=300))
def test_a_cut_text_is_its_own_beginning_and_end(text: str, limit: int) -> None:
    shown, truncated = cut(text, limit)
    size = len(text.encode())
    assert truncated == (size > limit)
    if not truncated:
        assert shown == text
        return
    head, left_out, tail = re.fullmatch(r"(.*)\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n(.*)", shown, re.S).groups()
    assert text.startswith(head) and text.endswith(tail)
    assert len((head + tail).encode()) + int(left_out) == size
    assert limit - 8 < len((head + tail).encode()) <= limit


def test_every_place_of_a_cut_is_tried() -> None:
    for text in ("é" * 40, "€" * 40, "😀" * 40):
        for limit in range(8, 60):
            assert "\ufffd" not in cut(text, limit)[0]
