"""Keeping results within what a log row and a model's window can hold: head and tail (the whole: `Tree.keep`)."""

from __future__ import annotations

from thetis_kernel.protocol import cutting

MAX_CONTENT = 48 * 1024
"""Bytes of a result's text in the log."""
HEAD_SHARE = 0.75


def cut(text: str, limit: int = MAX_CONTENT) -> tuple[str, bool]:
    """(text of at most about `limit` bytes: three quarters head, the rest tail, a line between; whether it was cut).

    Cuts never split what a reader sees as one character.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text, False
    head = cutting.head_of(data, int(limit * HEAD_SHARE))
    tail = cutting.tail_of(data, limit - int(limit * HEAD_SHARE))
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[... {left_out} bytes left out ...]\n{tail}", True

