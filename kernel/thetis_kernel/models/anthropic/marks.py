"""Where the cache marks of a request go: at most four, so that a request finds what the one before it stored.

The API stores the prefix up to each mark, and looks back from a mark over at most 20 blocks for a stored one. The last
block alone would miss after a round of many calls, so the two last blocks of every `STRIDE` carry one too: where they
are depends on what stands before them only, so they stay where they are as the history grows. Must not know the rest of
a request.
"""

from __future__ import annotations

from typing import Any

from thetis_kernel.models.thinking import THINKING

LOOK_BACK = 20
"""Blocks the API looks back (its documentation of prompt caching)."""
STRIDE = 15
MARK = {"type": "ephemeral"}


def positions(messages: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """(message, block) of each block to mark in a history, at most three."""
    anchors: list[tuple[int, int]] = []
    newest: tuple[int, int] | None = None
    count = 0
    for m, message in enumerate(messages):
        for b, block in enumerate(message["content"]):
            count += 1
            if block.get("type") not in THINKING:
                newest = (m, b)
            if count % STRIDE == 0 and newest is not None and newest not in anchors:
                anchors.append(newest)
    if newest is None:
        return []
    return [*[anchor for anchor in anchors if anchor != newest][-2:], newest]


def marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The history with its marks; blocks without one are the same objects as before."""
    copied = list(messages)
    for m, b in positions(messages):
        content = list(copied[m]["content"])
        content[b] = {**content[b], "cache_control": MARK}
        copied[m] = {**copied[m], "content": content}
    return copied
