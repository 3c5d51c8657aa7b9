"""What a turn's prompt says about the checkout: the project's rules and one level of the workspace.

Stable between turns on purpose: no sizes, no dates, so that the prompt stays byte-identical while nothing changes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol import cutting
from thetis_kernel.toolhost.tree import Tree

RULE_FILES = ("AGENTS.md", "CLAUDE.md")
MAX_RULES = 32 * 1024
MAX_WORKSPACE = 120
"""Entries of the workspace that are named."""


def surroundings(tree: Tree, workspace: Path) -> dict[str, Any]:
    """{"project_rules": text, "project_rules_file": name, "workspace": [names, directories with a slash first]}."""
    found: dict[str, Any] = {"project_rules": "", "project_rules_file": ""}
    for name in RULE_FILES:
        try:
            raw = tree.read_bytes(name, 1 << 20)
        except ThetisError:
            continue  # not there, or not a file that can be read: the same as no rules
        found = {"project_rules": cutting.head_of(raw, MAX_RULES), "project_rules_file": name}
        break
    found["workspace"] = _entries(workspace)[:MAX_WORKSPACE]
    return found


def _entries(workspace: Path) -> list[str]:
    """Directories first, then by name. No link is followed: whether something outside is a directory is nobody's business."""
    try:
        with os.scandir(workspace) as found:
            named = sorted((not entry.is_dir(follow_symlinks=False), entry.name) for entry in found)
    except FileNotFoundError:
        return []
    return [name if plain else f"{name}/" for plain, name in named]
