"""A tool that nobody would ever be offered is refused with its reason."""

from __future__ import annotations

import sys

import pytest
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.own_names import agents_own_names
from thetis_kernel.forge.steps import manifest as step
from thetis_kernel.paths import builtin_root
from thetis_kernel.protocol.gate import GuestSource

from tests.support.native_guest import native_guest
from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import TOOL_MAIN, manifest


def test_every_tool_of_the_agents_own_is_among_them():
    with native_guest(builtin_root() / "aspects" / "agent_core"):
        own = sys.modules["toolbox"].OWN
    assert agents_own_names() >= {tool.name for tool in own}


@pytest.mark.parametrize("name", ["read", "write_code", "write-code", "todo-set"])
def test_such_a_name_is_refused_with_its_line(name):
    names = agents_own_names()
    source = GuestSource(f"tool/{name}", "tool", "# mine\n" + manifest(name), {"main": TOOL_MAIN})
    found = step.run(Candidate(source), FakeBench())
    assert bool(found) == bool({name, name.replace("-", "_")} & names)
    if found:
        assert (found[0].path, found[0].line) == ("guest.toml", 2) and "agent's own tools" in found[0].message
