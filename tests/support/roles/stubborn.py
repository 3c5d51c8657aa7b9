"""Does not end when asked to."""

from __future__ import annotations

import time

from thetis_kernel.supervise.context import ChildContext


def serve(context: ChildContext) -> None:
    context.connect()
    context.run()
    time.sleep(600)
