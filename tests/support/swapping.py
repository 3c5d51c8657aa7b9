"""A hostile neighbour: a process that swaps a directory for a link, as fast as it can, as long as a test looks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
while True:
    libc.renameat2(-100, b"victim", -100, b"trap", 2)  # RENAME_EXCHANGE: neither name is ever missing
"""


@contextmanager
def swapping(directory: Path) -> Iterator[None]:
    """Exchange the entries `victim` and `trap` of `directory` until the end of the block."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", _SWAPPER, str(directory)])
    try:
        yield
    finally:
        process.kill()
        process.wait()
