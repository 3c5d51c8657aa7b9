"""A gateway nobody sits at: the daemon's, or one whose screen has gone. What it logs, and when it ends."""

from __future__ import annotations

from thetis_kernel.gateway.headless.logfile import LogFile, log_lines
from thetis_kernel.gateway.headless.staying import LINGER_S, Staying

__all__ = ["LINGER_S", "LogFile", "Staying", "log_lines"]
