"""The agent's exports: what the kernel calls.

Owns nothing but the doors; each leads into one module. Must not hold state: a fresh instance serves every call.
"""

from __future__ import annotations

from typing import Any

from catalog import BUILTIN
from loop import run_turn
from project import project
from prompt import system_prompt
from thetis_guest import tooling
from toolbox import WRITING_MODES, Toolbox

VERSION = "0.1.0"


def describe() -> dict[str, Any]:
    """Name and version."""
    return {"name": "agent_core", "version": VERSION}


def health() -> dict[str, Any]:
    """Whether this agent can do its work: it projects a small log and writes a prompt, without asking the host."""
    log = [{"seq": 1, "ts_ms": 0, "kind": "user", "body": {"kind": "user", "text": "Are you well?"}}]
    messages = project(log, "")
    prompt = system_prompt({}, True)
    return {"ok": bool(messages and prompt), "version": VERSION, "tools": [tool.name for tool in BUILTIN]}


def list_tools(mode: str) -> list[dict[str, Any]]:
    """The tools the model would be offered in `mode`; a mode nobody here knows is read-only."""
    toolbox = Toolbox(tooling.registry(), mode not in WRITING_MODES, mode)
    return [{**tool.definition(), "mutating": tool.mutating} for tool in toolbox.offered]


def handle_turn(turn: dict[str, Any]) -> dict[str, Any]:
    """Run one turn to its end: {"stopped_by", "detail", "iterations"}."""
    return run_turn(turn)
