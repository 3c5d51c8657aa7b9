"""How long a person's words may be. Must not know turns or the log.

Words that fit no model's window must not get into the log: every later request of the conversation would hold them.
"""

from __future__ import annotations

import msgspec

from thetis_kernel.errors import UsageError

MAX_WORDS = 1 << 20
"""Bytes of their JSON: some 250,000 tokens, and far below a frame (8 MiB) and a request (7 MiB)."""


def sendable(text: str) -> str:
    """`text` itself. Raises UsageError, `words-too-long`, for more than MAX_WORDS."""
    size = len(msgspec.json.encode(text))
    if size > MAX_WORDS:
        raise UsageError(
            f"These words have {size:,} bytes; a message may have {MAX_WORDS:,}.",
            hint="Put them into a file of the repository, and name the file.",
            code="words-too-long",
        )
    return text
