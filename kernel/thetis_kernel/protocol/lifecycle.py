"""What every child is asked whatever its role: the supervisor's own vocabulary."""

from __future__ import annotations

from thetis_kernel.protocol.wire import Ask


class ShutdownIfIdle(Ask[bool], frozen=True, tag="lifecycle.shutdown-if-idle"):
    """May you be stopped now? True means: nothing is under way here and nothing is lost. False declines."""
