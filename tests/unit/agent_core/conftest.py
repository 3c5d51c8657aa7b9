"""The agent's modules, loaded natively."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from thetis_kernel.paths import builtin_root

from tests.support.agent_host import AgentHost
from tests.support.native_guest import native_guest


@pytest.fixture(scope="session")
def agent() -> SimpleNamespace:
    """The agent's modules by name."""
    directory = builtin_root() / "aspects" / "agent_core"
    with native_guest(directory):
        return SimpleNamespace(
            **{path.stem: sys.modules[path.stem] for path in directory.glob("*.py") if path.stem in sys.modules}
        )


@pytest.fixture
def run(agent: SimpleNamespace) -> Any:
    """Call handle_turn against a host: the outcome, logged as the kernel logs it."""
    from thetis_guest import _bind

    def call(host: AgentHost, turn: dict[str, Any]) -> dict[str, Any]:
        _bind.install(host.imports())
        try:
            outcome: dict[str, Any] = agent.main.handle_turn(turn)
        finally:
            _bind.install(None)
        host.finish(outcome)
        return outcome

    return call
