"""What `thetis doctor` says of the machine: also whether the gate has what it judges with."""

from __future__ import annotations

import pytest
from thetis_kernel.cli.machine import _gate
from thetis_kernel.errors import GateError
from thetis_kernel.forge import checkers


def found() -> dict[str, tuple[str, str]]:
    return {f.message.split()[0]: (f.level, f.message) for f in _gate()}


def test_the_gates_checkers_are_named_with_their_versions() -> None:
    said = found()
    assert {name: level for name, (level, _) in said.items()} == {"ruff": "ok", "ty": "ok"}
    assert said["ty"][1].startswith("ty 0.")


def test_one_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise GateError(f"{name} is not installed beside Thetis.", step=name, diagnostics=[])

    monkeypatch.setattr(checkers, "program", missing)
    assert found() == {name: ("error", f"{name} is missing, so no guest passes the gate.") for name in ("ruff", "ty")}
