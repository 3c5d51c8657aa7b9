"""Pictures of pages, kept compressed beside the tests and compared with what is drawn now.

`pytest --snapshot-update` writes them anew: look at them before accepting (any browser opens a .svgz). One app draws many, so
they are kept by name and not one a test.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

KEPT = Path(__file__).parents[1] / "unit/tui/__snapshots__/pages"
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_UNIQUE = re.compile(r"terminal-\d+")


def still(svg: str) -> str:
    """A picture without what differs from run to run, and without fonts to fetch."""
    return _UNIQUE.sub("terminal", _FONTS.sub("", svg))


class Album:
    """What was drawn in one test; `differing` are the names whose picture is not the kept one."""

    def __init__(self, out: Path, *, update: bool) -> None:
        self._out = out
        self._update = update
        self.drawn: set[str] = set()
        self.differing: list[str] = []

    def put(self, name: str, svg: str) -> None:
        """Compare a picture with the one kept under `name`, or keep it."""
        assert name not in self.drawn, name
        self.drawn.add(name)
        file = KEPT / f"{name}.svgz"
        now = still(svg)
        kept = gzip.decompress(file.read_bytes()).decode() if file.exists() else ""
        if now == kept:
            return
        if self._update:
            KEPT.mkdir(parents=True, exist_ok=True)
            file.write_bytes(gzip.compress(now.encode(), mtime=0))
            return
        self._out.mkdir(parents=True, exist_ok=True)
        (self._out / f"{name}.svg").write_text(now)
        self.differing.append(name)

    def problem(self) -> str:
        """What is to be looked at, "" when all are as they were."""
        if not self.differing:
            return ""
        names = ", ".join(self.differing)
        return f"{names} differ from what is kept; as they are now: {self._out}. --snapshot-update keeps them."
