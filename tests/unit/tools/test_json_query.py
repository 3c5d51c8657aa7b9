"""The JSON tool: paths lead where they say, each value comes with its own path, and broken files are named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.paths import builtin_root

from tests.support.native_guest import native_guest

DATA = {"name": "loom", "size": 3, "odd key": {"x|y": 1}, "parts": [
    {"id": 1, "tags": ["a", "b"], "cost": 2.5, "done": True}, {"id": 2, "tags": [], "cost": 10, "note": 'says "hi"'},
    {"id": 3, "tags": ["b"], "cost": None, "deep": {"id": 4}}]}


@pytest.fixture(scope="module")
def main() -> Iterator[ModuleType]:
    with native_guest(builtin_root() / "tools" / "json_query") as module:
        yield module


@pytest.mark.parametrize(("query", "values"), [
    (".", [DATA]), (".name", ["loom"]), (".size", [3]), ('."odd key"."x|y"', [1]), (".parts[0].id", [1]), (".parts[-1].id", [3]),
    (".parts[].id", [1, 2, 3]), (".parts[1:].id", [2, 3]), (".parts[:1].id", [1]), ("..id", [1, 2, 3, 4]), (".parts[9]", []),
    (".missing.x", []), (".parts[?.cost > 2].id", [1, 2]), (".parts[?.cost >= 10].id", [2]), ('.parts[?.tags ~ "b"].id', [1, 3]),
    ('.parts[?.note == "says \\"hi\\""].id', [2]), (".parts[?.done].id", [1]), (".parts[?.deep.id == 4].id", [3]),
    (".parts[].tags[] | unique", ["a", "b"]), (".parts | length", [3]), (".parts[].tags | length", [2, 0, 1]),
    (". | keys", [list(DATA)]),
    (".parts[].cost | type", ["number", "number", "null"]), ("..tags | count", [3]), (".parts[?.id != 2].id", [1, 3]),
    ('.parts[?.tags[] == "a"].id', [1]), (".[]", list(DATA.values())), ('.parts[?.note ~ "]"].id', []),
])
def test_paths(main: ModuleType, query: str, values: list[Any]) -> None:
    assert [value for _, value in main.query.run(DATA, query)] == values


@pytest.mark.parametrize("query", [
    "name", ".a b", ".parts[", ".parts[?", ".parts[?.id ==", ".parts[?.id == ]", ".x | nothing", ".[?.a", "$", ".parts[?.id == 1",
    "..a" + ".a[]" * 80,
])
def test_what_cannot_be_read_is_said(main: ModuleType, query: str) -> None:
    from thetis_guest import HostError

    with pytest.raises(HostError, match="does not fit"):
        main.query.run(DATA, query)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=12)


@given(JSON)
def test_every_value_is_found_again_by_its_own_path(main: ModuleType, value: Any) -> None:
    for query in (".[]", ".[].[]", ".[][][]"):
        for place, one in main.query.run(value, query):
            assert [found for _, found in main.query.run(value, place)] == [one], place


@given(st.text(max_size=30))
def test_any_query_is_values_or_an_error(main: ModuleType, query: str) -> None:
    from thetis_guest import HostError

    try:
        main.query.run(DATA, query)
    except HostError:
        return


def test_files(main: ModuleType) -> None:
    from thetis_guest import HostError

    assert main.parsed('{"a": 1}\n{"a": 2}\n', "f") == [{"a": 1}, {"a": 2}]
    assert main.parsed("[1,\n2]", "f") == [1, 2]
    for text, words in (("{oops", "f is no JSON"), ('{"a": 1}\n{oops', "line 2"), ("", "f is no JSON"), ("[" * 100_000, "f is")):
        with pytest.raises(HostError, match=words):
            main.parsed(text, "f")


def test_the_outline_and_bounds(main: ModuleType) -> None:
    lines = main.outline(DATA)
    assert lines[0] == ".  object of 4" and ".parts[0].tags  list of 2" in lines and '."odd key"."x|y"  1' in lines
    told = main.told([(f".[{n}]", "x" * 9000) for n in range(1000)], 100)
    assert len(told) < 40_000 and "more values" in told
    assert "nothing" in main.told([], 10)


def test_through_the_tool(main: ModuleType) -> None:
    from thetis_guest import _bind

    _bind.install({"sandbox.read-file": lambda path, options: json.dumps(DATA)})
    assert main.invoke("s", {"path": "a.json", "query": ".size"}, {}) == ".size: 3"
    assert main.invoke("s", {"path": "a.json", "query": "..id"}, {"max_results": 1}).endswith("[... 3 more values]")
