"""Choosing, ordering and summing up rows. Text is compared as text, numbers as numbers, and the two never with each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_guest import HostError

Rows = list[dict[str, Any]]

TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
    "contains": lambda a, b: a is not None and str(b).lower() in str(a).lower(),
    "empty": lambda a, b: a is None or a == "",
    "not empty": lambda a, b: a is not None and a != "",
}
SUMS: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "distinct": lambda values: len({str(value) for value in values}),
    "sum": lambda values: sum(_numbers(values)),
    "mean": lambda values: sum(_numbers(values)) / len(_numbers(values)) if _numbers(values) else None,
    "median": lambda values: _median(sorted(_numbers(values))),
    "min": lambda values: min(_alike(values), default=None),
    "max": lambda values: max(_alike(values), default=None),
}


def known(name: str, columns: list[str]) -> str:
    """The column, also when only its case differs. Raises HostError naming those there are."""
    if name in columns:
        return name
    close = [column for column in columns if column.lower() == name.strip().lower()]
    if len(close) == 1:
        return close[0]
    raise HostError("bad-arguments", f"There is no column {name[:60]!r}.", "Columns: " + ", ".join(columns[:40]) + ".")


def kept(rows: Rows, columns: list[str], conditions: list[dict[str, Any]]) -> Rows:
    """The rows for which every condition holds."""
    for condition in conditions:
        column, test, value = known(str(condition["column"]), columns), TESTS[condition["op"]], condition.get("value")
        rows = [row for row in rows if _holds(test, row.get(column), value)]
    return rows


def ordered(rows: Rows, columns: list[str], by: str) -> Rows:
    """Sorted by a column: numbers, then text, what is empty last; a minus in front turns it round."""
    down = by.startswith("-") and by not in columns
    column = known(by[1:] if down else by, columns)
    full = [row for row in rows if row.get(column) is not None]
    full.sort(key=lambda row: _rank(row[column]), reverse=down)
    return full + [row for row in rows if row.get(column) is None]


def summed(rows: Rows, columns: list[str], by: list[str], sums: list[dict[str, Any]]) -> tuple[list[str], Rows]:
    """(columns, a row for each group in the order they first appear)."""
    keys = [known(name, columns) for name in by]
    wanted = []
    for one in sums:
        what = one["what"]
        if what != "count" and not one.get("column"):
            raise HostError("bad-arguments", f"{what} needs a column.", "Add `column` to it.")
        column = known(str(one["column"]), columns) if one.get("column") else ""
        wanted.append((f"{what}({column})" if column else what, what, column))
    groups: dict[tuple[Any, ...], Rows] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    found = []
    for key, members in groups.items():
        line = dict(zip(keys, key, strict=True))
        for name, what, column in wanted:
            values = [row[column] for row in members if row.get(column) is not None] if column else members
            line[name] = SUMS[what](values)
        found.append(line)
    return [*keys, *(name for name, _, _ in wanted)], found


def kind(column: str, rows: Rows) -> str:
    """What a column holds, in a few words."""
    values = [row[column] for row in rows if row.get(column) is not None]
    numbers = _numbers(values)
    empty = f", {len(rows) - len(values)} empty" if len(values) < len(rows) else ""
    if values and len(numbers) == len(values):
        return f"numbers {min(numbers):g} to {max(numbers):g}{empty}"
    return f"{'text' if not numbers else 'text and numbers'}, {len({str(value) for value in values})} different{empty}"


def _holds(test: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    try:
        return test(left, right)
    except TypeError:
        return False


def _rank(value: Any) -> tuple[int, Any]:
    return (0, value) if isinstance(value, (int, float)) else (1, str(value))


def _numbers(values: list[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]


def _alike(values: list[Any]) -> list[Any]:
    """Numbers when there are any, else the texts: the two have no order among each other."""
    return _numbers(values) or [str(value) for value in values]


def _median(values: list[Any]) -> Any:
    if not values:
        return None
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
