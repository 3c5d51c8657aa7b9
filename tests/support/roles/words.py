"""Answers tests.support.words."""

from __future__ import annotations

from tests.support.words import ThreadEnd
from thetis_kernel.supervise.context import ChildContext


def serve(context: ChildContext) -> None:
    end = ThreadEnd()
    end.peer = context.connect(asks=end.asks(), tells=end.tells(), quick=end.QUICK)
    context.run()
