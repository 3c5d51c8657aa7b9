"""How a benchmark says a figure: one JSON line on standard output."""

from __future__ import annotations

import json
import sys


def emit(name: str, value: float, unit: str, n: int, p95: float | None = None, against: str | None = None) -> None:
    """One figure. `value` is the median of `n`; `against` says what it was compared with, or is held to."""
    line = {"name": name, "value": round(value, 4), "unit": unit, "n": n,
            "p95": None if p95 is None else round(p95, 4), "against": against}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
