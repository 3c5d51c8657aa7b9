"""Answers tests.support.words."""

from __future__ import annotations

from thetis_kernel.supervise.context import ChildContext

from tests.support.words import ThreadEnd


def serve(context: ChildContext) -> None:
    end = ThreadEnd()
    end.peer = context.connect(asks=end.asks(), tells=end.tells(), quick=end.QUICK)
    context.run()
