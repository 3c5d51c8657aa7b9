"""The table tool: rows are what the file says, sums are right, and what does not fit is named by its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.paths import builtin_root

from tests.support.native_guest import native_guest

CSV = 'city,people,code\nUtrecht,361924,030\nDelft,104000,015\n"Den, Haag",549000,070\nLeiden,,071\n'
JSONL = '{"city": "Utrecht", "n": 1}\n\n{"city": "Delft", "n": 2.5, "more": {"a": [1]}}\n'


@pytest.fixture(scope="module")
def main() -> Iterator[ModuleType]:
    with native_guest(builtin_root() / "tools" / "table") as module:
        yield module


def ask(main: ModuleType, text: str = CSV, path: str = "t.csv", config: dict[str, Any] | None = None, **args: Any) -> list[str]:
    from thetis_guest import _bind

    _bind.install({"sandbox.read-file": lambda name, options: text})
    return str(main.invoke("s", {"path": path, **args}, config or {})).splitlines()


def test_a_peek(main: ModuleType) -> None:
    lines = ask(main)
    assert lines[0] == "t.csv: 4 rows, 3 columns"
    assert "  people: numbers 104000 to 549000, 1 empty" in lines and "  code: text, 4 different" in lines
    assert lines[4].split() == ["city", "people", "code"] and lines[6].split() == ["Utrecht", "361924", "030"]


@pytest.mark.parametrize(("where", "cities"), [
    ([{"column": "people", "op": ">", "value": 200000}], ["Utrecht", "Den, Haag"]),
    ([{"column": "People", "op": "empty"}], ["Leiden"]),
    ([{"column": "people", "op": "not empty"}, {"column": "city", "op": "contains", "value": "D"}], ["Delft", "Den, Haag"]),
    ([{"column": "city", "op": "==", "value": "Delft"}], ["Delft"]),
    ([{"column": "city", "op": "<", "value": 5}], []),
    ([{"column": "code", "op": "==", "value": "030"}], ["Utrecht"]),
])
def test_filters(main: ModuleType, where: list[dict[str, Any]], cities: list[str]) -> None:
    lines = ask(main, where=where, columns=["city"])
    assert lines[0] == f"{len(cities)} of 4 rows"
    assert lines[3:] == cities


def test_sums_and_order(main: ModuleType) -> None:
    text = "kind,n\na,1\nb,10\na,2\nb,x\nc,\n"
    sums = [{"what": what, "column": "n"} for what in ("count", "sum", "mean", "median", "min", "max", "distinct")]
    lines = ask(main, text, group_by=["kind"], sum_up=sums, sort="-sum(n)")
    assert [line.split() for line in lines[3:]] == [["b", "2", "10", "10", "10", "10", "10", "2"],
                                                    ["a", "2", "3", "1.5", "1.5", "1", "2", "2"], ["c", "0", "0", "0"]]
    assert ask(main, text, sum_up=[{"what": "count"}])[-1] == "5"
    assert [line[0] for line in ask(main, text, sort="n", columns=["kind", "n"])[3:]] == ["a", "a", "b", "b", "c"]


def test_other_formats(main: ModuleType) -> None:
    assert ask(main, JSONL, "t.jsonl")[0] == "t.jsonl: 2 rows, 3 columns"
    assert ask(main, "a\tb\n1\t2\n", "t.tsv")[0] == "t.tsv: 1 rows, 2 columns"
    assert ask(main, "a;b\n1;2\n")[0] == "t.csv: 1 rows, 2 columns"
    assert ask(main, "\ufeffa,a,\n1,2,3\n", "t.data", format="csv")[1:4] == [
        "  a: numbers 1 to 1", "  a (2): numbers 2 to 2", "  column 3: numbers 3 to 3"]


@pytest.mark.parametrize(("text", "path", "args", "words"), [
    ("a,b\n1,2,3\n", "t.csv", {}, "line 2 has 3 cells"), ("", "t.csv", {}, "empty"),
    ("[1]\n", "t.jsonl", {}, "line 1 is no object"), ('{"a": 1}\n{', "t.jsonl", {}, "line 2 is no JSON"),
    (CSV, "t.bin", {}, "which table"), (CSV, "t.csv", {"columns": ["x"]}, "no column 'x'"),
    (CSV, "t.csv", {"sum_up": [{"what": "sum"}]}, "needs a column"), (CSV, "t.csv", {"sort": "x"}, "Columns: city, people, code"),
    ("a," * 600 + "\n1\n", "t.csv", {}, "columns, more than"),
])
def test_what_does_not_fit_is_named(main: ModuleType, text: str, path: str, args: dict[str, Any], words: str) -> None:
    from thetis_guest import HostError

    with pytest.raises(HostError, match=words):
        ask(main, text, path, **args)


def test_bounds(main: ModuleType) -> None:
    text = "n,long\n" + "".join(f"{n},{'x' * 500}\n" for n in range(300))
    lines = ask(main, text, sort="n", limit=1000)
    assert lines[-1] == "[... 250 more rows]" and max(map(len, lines)) < 90
    assert ask(main, text, sort="n", config={"max_rows": 3})[-1] == "[... 297 more rows]"


@pytest.mark.parametrize(("text", "value"), [
    ("1", 1), ("-2.5", -2.5), ("1e3", 1000.0), ("007", "007"), ("0", 0), ("0.5", 0.5), ("", None), (" 3 ", 3), ("nan", "nan"),
    ("1_0", "1_0"), ("\u0661", "\u0661"), ("1e999", "1e999"), ("9" * 60, "9" * 60),
])
def test_numbers(main: ModuleType, text: str, value: Any) -> None:
    assert main.reading.number(text) == value


CELLS = st.lists(st.lists(st.text(st.sampled_from('ab,;"\n 1'), max_size=6), min_size=2, max_size=2), min_size=1, max_size=6)


@given(CELLS)
def test_what_was_written_is_read(main: ModuleType, cells: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([["first,x", "second"], *cells])
    columns, rows = main.reading.read(out.getvalue(), "csv", "f")
    assert columns == ["first,x", "second"]
    read = [[row.get(name) for name in columns] for row in rows]
    assert read == [[main.reading.number(text) for text in line] for line in cells]
