"""The guests that ship with Thetis: which there are, and their artifacts.

They pass the same gate as any other guest, once per machine and runtime; every later start reads their artifacts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thetis_kernel.forge.layout import MANIFEST
from thetis_kernel.forge.source import read_guest
from thetis_kernel.paths import builtin_root
from thetis_kernel.protocol.gate import GuestSource, Verdict

if TYPE_CHECKING:  # the gate host looks which guests ship, and does without asyncio
    from thetis_kernel.forge.service import Forge

ASPECTS = {"agent": "agent_core", "gateway/tui": "gateway_tui"}
"""Aspect name -> directory below aspects/."""


def shipped_guests(root: Path | None = None) -> dict[str, Path]:
    """The directory of each shipped guest by aspect name; `root` is where `aspects/` and `tools/` lie (default: ours).

    A tool is a directory below tools/ with a manifest; names that begin with an underscore are templates.
    """
    root = root or builtin_root()
    found = {aspect: root / "aspects" / directory for aspect, directory in ASPECTS.items()}
    tools = root / "tools"
    if tools.is_dir():
        for directory in sorted(tools.iterdir()):
            if not directory.name.startswith(("_", ".")) and (directory / MANIFEST).is_file():
                found[f"tool/{directory.name}"] = directory
    return found


def builtin_sources(root: Path | None = None) -> list[GuestSource]:
    """The shipped guests as candidates. Raises GateError when one cannot be read: the installation is damaged."""
    return [read_guest(directory, aspect) for aspect, directory in shipped_guests(root).items()]


async def builtin_verdicts(forge: Forge, root: Path | None = None) -> dict[str, Verdict]:
    """The verdict over each shipped guest by aspect name: from the store, or by judging it now, one after another."""
    return {source.aspect: await forge.verdict(source) for source in builtin_sources(root)}
