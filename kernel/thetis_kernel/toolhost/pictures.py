"""Reading a picture or PDF for the model: the content goes into the conversation's blobs, the result names it.

Only for a call of the model itself: a tool guest and the agent's own code get text. Must not know models.
"""

from __future__ import annotations

import os
import stat
from typing import Any

import msgspec

from thetis_kernel.protocol import media
from thetis_kernel.toolhost import files
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.tree import PathError


def read_file(context: TurnContext, call: str, path: str, offset: int, limit: int) -> dict[str, Any]:
    """`files.read_file`, and for a picture or PDF {"path", "media_type", "size", "attachment"}."""
    if not call or call in context.callers:
        return files.read_file(context.tree, path, offset, limit)
    kind = media.media_type(_head(context, path))
    if not kind:
        return files.read_file(context.tree, path, offset, limit)
    content = context.tree.read_bytes(path, media.limit_of(kind))
    if why := media.problem(content):
        raise PathError(f"{path} {why}.", hint="Make it smaller with a command, or take a part of it.")
    kept = context.journal.keep(content, os.path.basename(path))
    return {"path": context.tree.shown(path), "media_type": kept.media_type, "size": kept.size,
            "attachment": msgspec.to_builtins(kept)}


def _head(context: TurnContext, path: str) -> bytes:
    """The first bytes of a regular file; nothing of anything else, which reading it then says."""
    descriptor = context.tree.open(path)
    try:
        return os.read(descriptor, media.HEAD) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)
