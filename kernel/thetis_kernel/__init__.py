"""Thetis's trusted kernel: every real capability lives here, guests hold none."""

__version__ = "0.1.0"
