"""The environment of a command: made from nothing, so nothing of ours can be in it.

The same dictionary is the environment of bubblewrap itself, whose /proc/1/environ can be read inside.
"""

from __future__ import annotations

from pathlib import Path

from thetis_kernel.walls import scratch
from thetis_kernel.walls.toolchains import Toolchains


def build(toolchains: Toolchains, private: Path, visible: tuple[Path, ...] | None) -> dict[str, str]:
    """Variables for a command with the scratch directory `private`.

    `visible`: real paths PATH may point into besides the toolchains' own; None: do not filter (no walls).
    """
    variables = dict(toolchains.variables)
    variables |= {
        "PATH": ":".join(_path(toolchains, visible)),
        "HOME": str(private / scratch.HOME),
        "TMPDIR": str(private / scratch.TMP),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        # git inside must not ask, must not read the machine's configuration, must not try to write the index
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    return variables


def _path(toolchains: Toolchains, visible: tuple[Path, ...] | None) -> list[str]:
    from thetis_kernel.walls import system

    kept = []
    for entry in toolchains.path:
        path = Path(entry)
        if visible is None or system.contains(path) or any(path.is_relative_to(one) for one in visible):
            kept.append(entry)
    return kept
