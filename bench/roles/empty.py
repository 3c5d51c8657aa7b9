"""The smallest role: what every child pays."""

from __future__ import annotations

from thetis_kernel.supervise.context import ChildContext


def serve(context: ChildContext) -> None:
    context.connect()
    context.run()
