"""Role modules that only benchmarks start."""

from __future__ import annotations
