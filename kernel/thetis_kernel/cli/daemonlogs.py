"""`thetis daemon logs`: what a gateway without a screen wrote down, also when it is gone."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import msgspec

from thetis_kernel.cli.attach import place
from thetis_kernel.cli.printing import plain
from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.headless.logfile import log_lines

LOOK_S = 0.3
KNOWN = ("at", "level", "what")


def logs(arguments: argparse.Namespace) -> int:
    """Print the last lines, and with `--follow` those that come; 0."""
    path = place(arguments).daemon_log
    if not path.exists() and not arguments.follow:
        raise UsageError(f"No daemon of this root has logged anything ({path}).", hint="Start one: thetis daemon start")
    lines = list(log_lines(path))
    for line in lines[-arguments.lines :]:
        _print(line, arguments.json)
    seen = _identity(path)
    while arguments.follow:
        time.sleep(LOOK_S)
        if (now := _identity(path)) != seen:
            seen = now
            fresh = list(log_lines(path))
            # Lines only grow and fall off at the old end: what is new stands behind the last one that was printed.
            start = max((at + 1 for at, line in enumerate(fresh) if lines and line == lines[-1]), default=0)
            for line in fresh[start:]:
                _print(line, arguments.json)
            lines = fresh
    return 0


def _print(line: dict[str, Any], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    else:
        more = "  ".join(f"{name}={value}" for name, value in line.items() if name not in KNOWN and value != "")
        words = f"{line.get('at', '')}  {line.get('level', ''):<5}  {line.get('what', '')}"
        sys.stdout.write(plain(f"{words}  {more}".rstrip()).replace("\n", " ") + "\n")
    sys.stdout.flush()


def _identity(path: os.PathLike[str]) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, found.st_size
