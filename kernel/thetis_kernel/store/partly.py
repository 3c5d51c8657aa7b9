"""Bodies read in part: most of a log is replies and results, and of those a fold looks at a few fields alone."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from thetis_kernel.protocol.spending import Usage


class Block(msgspec.Struct, gc=False):
    """Of a block only its text."""

    type: str = ""
    text: str = ""


class Reply(msgspec.Struct, gc=False):
    """Of a reply only its tokens and texts."""

    model: str = ""
    usage: Usage = Usage()
    cost: Decimal | None = None
    blocks: list[Block] = []


class Result(msgspec.Struct, gc=False):
    """Of a result only whose it is."""

    call: str
