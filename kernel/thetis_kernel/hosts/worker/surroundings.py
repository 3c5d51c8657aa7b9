"""What a turn's prompt says about the checkout: the project's rules and one level of the workspace.

Stable between turns on purpose: no sizes, no dates, so that the prompt stays byte-identical while nothing changes. The rules
are a stranger's text: data with a bound, put into the log when they change, so that a person sees what the agent was told.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.events import StateChanged
from thetis_kernel.toolhost.context import Journal
from thetis_kernel.toolhost.tree import Tree

RULE_FILES = ("AGENTS.md", "CLAUDE.md")
MAX_RULES = 32 * 1024
RULES_SCOPE, RULES_KEY = "rules", "project"
MAX_WORKSPACE = 120
"""Entries of the workspace that are named."""


def surroundings(tree: Tree, workspace: Path, named: str) -> dict[str, Any]:
    """{"project_rules": text, "project_rules_file": name, "project_rules_cut": bool, "workspace": [names, directories with a
    slash first], "workspace_more": how many more there are, "workspace_path": how commands name it}."""
    found: dict[str, Any] = {"project_rules": "", "project_rules_file": "", "project_rules_cut": False}
    for name in RULE_FILES:
        try:
            raw = tree.read_bytes(name, 1 << 20)
        except ThetisError:
            continue  # not there, or not a file that can be read: the same as no rules
        found = {"project_rules": cutting.head_of(raw, MAX_RULES), "project_rules_file": name,
                 "project_rules_cut": len(raw) > MAX_RULES}
        break
    entries = _entries(workspace)
    found["workspace"] = entries[:MAX_WORKSPACE]
    found["workspace_more"] = max(0, len(entries) - MAX_WORKSPACE)
    found["workspace_path"] = named
    return found


def tell_rules(journal: Journal, around: dict[str, Any]) -> None:
    """Put the rules into the log when they are others than those the conversation was told last, or are there no more."""
    known = journal.state(RULES_SCOPE).get(RULES_KEY, "")
    now = ""
    if around["project_rules"].strip():
        now = json.dumps({"file": around["project_rules_file"], "cut": around["project_rules_cut"],
                          "text": around["project_rules"]}, ensure_ascii=False)
    if now != known:
        journal.append(StateChanged(scope=RULES_SCOPE, key=RULES_KEY, value=now))


def _entries(workspace: Path) -> list[str]:
    """Directories first, then by name. No link is followed: whether something outside is a directory is nobody's business."""
    try:
        with os.scandir(workspace) as found:
            named = sorted((not entry.is_dir(follow_symlinks=False), entry.name) for entry in found)
    except FileNotFoundError:
        return []
    return [name if plain else f"{name}/" for plain, name in named]
