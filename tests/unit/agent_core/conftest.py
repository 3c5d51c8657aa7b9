"""The agent's modules, loaded natively."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.agent_host import AgentHost


def _load() -> SimpleNamespace:
    import importlib
    import sys
    from pathlib import Path

    root = Path(__file__).parents[3]
    directory = root / "aspects" / "agent_core"
    names = [path.stem for path in directory.glob("*.py")]
    sys.path[:0] = [str(directory), str(root / "guest")]
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    try:
        return SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    finally:
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)
        del sys.path[:2]


@pytest.fixture(scope="session")
def agent() -> SimpleNamespace:
    """The agent's modules by name."""
    return _load()


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
