"""Every import of every world is classified, and read-only modes have no effects by any of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from thetis_kernel.errors import Refused
from thetis_kernel.paths import builtin_root
from thetis_kernel.toolhost.authority import CALLS, EFFECTS, IMPORTS, may, permit
from thetis_kernel.toolhost.operations import OPERATIONS

from tests.support.turns import turn_context


def imports_of_the_contract() -> set[str]:
    """Interface.function of every interface some world imports, read from the contract's text."""
    text = re.sub(r"//.*", "", (builtin_root() / "wit" / "thetis.wit").read_text())
    worlds = re.findall(r"world [\w-]+ \{(.*?)\n\}", text, re.S)
    imported = {name for world in worlds for name in re.findall(r"import ([\w-]+);", world)}
    found = set()
    for interface, body in re.findall(r"interface ([\w-]+) \{(.*?)\n\}", text, re.S):
        if interface in imported:
            found |= {f"{interface}.{function}" for function in re.findall(r"^\s*([\w-]+): func", body, re.M)}
    return found


def test_every_import_is_classified_and_nothing_else() -> None:
    found = imports_of_the_contract()
    assert len(found) > 20
    assert found == set(IMPORTS)


def test_what_changes_things_needs_an_effect() -> None:
    for name, operation in OPERATIONS.items():
        assert operation.changes == ((IMPORTS | CALLS)[name] in EFFECTS), name


def test_an_operation_without_an_import_is_in_the_other_table() -> None:
    assert set(CALLS) == set(OPERATIONS) - set(IMPORTS)
    assert not set(CALLS) & set(IMPORTS)


@pytest.mark.parametrize("name", sorted(IMPORTS | CALLS))
def test_read_only_modes_have_no_effects(name: str, tmp_path: Path) -> None:
    context = turn_context(tmp_path, read_only=True)
    capability = (IMPORTS | CALLS)[name]
    if capability in EFFECTS:
        with pytest.raises(Refused, match="read-only"):
            permit(context, name)
    else:
        permit(context, name)
    assert may(context, capability) == (capability not in EFFECTS)


@pytest.mark.parametrize("name", sorted(name for name, capability in IMPORTS.items() if capability in EFFECTS))
def test_a_tool_that_declares_no_effects_has_none(name: str, tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    context.harmless.add("c1")
    with pytest.raises(Refused, match="declares that it changes nothing"):
        permit(context, name, "c1")
    permit(context, name, "c2")


def test_what_is_not_in_the_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="not in the table"):
        permit(turn_context(tmp_path), "sandbox.format-disk")
