"""Dies with a traceback before its hello."""

from __future__ import annotations

from thetis_kernel.supervise.context import ChildContext


def serve(context: ChildContext) -> None:
    print("a print goes to the log")
    raise ValueError("no such luck")
