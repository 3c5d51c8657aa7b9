"""Reading the contract."""

from __future__ import annotations

import re

import pytest
from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.wasm import contract
from thetis_kernel.wasm.settings import WORLDS


def test_every_world_is_read_with_its_imports_and_exports():
    loaded = contract.load()
    assert set(loaded.imports) == set(WORLDS)
    assert loaded.imports["tool"] == ("sys", "sandbox")
    assert not loaded.imports["compiler"]
    assert set(contract.world_exports("tool")) == {"describe", "invoke"}
    assert loaded.instance("sys") == f"thetis:grip/sys@{loaded.version}"


def test_every_function_of_the_file_is_read():
    text = re.sub(r"//[^\n]*", "", contract.contract_file().read_text())
    loaded = contract.load()
    read = sum(map(len, loaded.interfaces.values())) + sum(map(len, loaded.exports.values()))
    assert read == len(re.findall(r":\s*func\b", text)) > 30


def test_shapes_carry_names_types_and_what_they_answer():
    imports = contract.world_imports("agent")
    read = imports["files.read-file"]
    assert read.params == (("path", "string"), ("offset", "u32"), ("limit", "u32"))
    assert read.fallible and read.answers_json and read.key == "files.read-file"
    assert imports["files.edit-file"].params[3] == ("replace-all", "bool")
    assert imports["sys.now-ms"].result == "u64" and not imports["sys.now-ms"].fallible
    assert imports["sys.log"].result == ""
    assert not contract.world_imports("tool")["sandbox.read-file"].answers_json
    assert contract.world_exports("tool")["describe"].result == "tool-manifest"


def test_text_results_name_functions_that_exist():
    known = {key for world in WORLDS for key in contract.world_imports(world)}
    assert known >= contract.TEXT_RESULTS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("interface a { f: func() -> list<u8>; }", "no package line"),
        ("package a:b@1.0.0;\ninterface a { f: func() -> list<u8>; }", "a.f .* list<u8>"),
        ("package a:b@1.0.0;\ninterface a { f: func(x: s32); }", "a.f .* s32"),
    ],
)
def test_what_the_host_cannot_carry_is_said(text, said):
    with pytest.raises(RuntimeBuildError, match=said):
        contract._parse(text)
