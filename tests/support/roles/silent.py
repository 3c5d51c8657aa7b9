"""Starts and never says hello."""

from __future__ import annotations

from thetis_kernel.supervise.context import ChildContext


def serve(context: ChildContext) -> None:
    context.wait()
