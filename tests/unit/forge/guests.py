"""Guests as text, for tests: a good one of each world, varied by keyword."""

from __future__ import annotations

from pathlib import Path

from thetis_kernel.forge.source import read_guest
from thetis_kernel.protocol.gate import GuestSource

FIXTURES = Path(__file__).parents[2] / "fixtures" / "guests"
GOOD = {"tool/good": "tool_good", "agent": "agent_good", "gateway/tui": "gateway_good"}


def good(aspect: str) -> GuestSource:
    """The good fixture guest of an aspect."""
    return read_guest(FIXTURES / GOOD[aspect], aspect)


def manifest(name: str = "probe", world: str = "tool") -> str:
    """A valid guest.toml."""
    return f'name = "{name}"\nworld = "{world}"\nversion = "0.1.0"\ndescription = "A probe."\n'


def tool(main: str, **modules: str) -> GuestSource:
    """A tool named `probe` with this main.py and further modules."""
    return GuestSource("tool/probe", "tool", manifest(), {"main": main, **modules})


TOOL_MAIN = '''from thetis_guest import ToolManifest
def describe() -> ToolManifest:
    return ToolManifest(name="probe", description="A probe.", input_schema={"type": "object", "properties": {}})
def invoke(session_id: str, args: dict[str, object], config: dict[str, object]) -> object:
    return "ok"
'''
