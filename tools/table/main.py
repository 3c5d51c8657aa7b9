"""The table tool: look at, filter and sum up rows of a CSV, TSV or JSON Lines file.

Owns its manifest, its arguments and how rows are told. Must not know file formats (`reading`) or sums (`sums`).
"""

from __future__ import annotations

from typing import Any

import reading
import sums
from thetis_guest import HostError, ToolManifest, sandbox

DEFAULT_ROWS = 50
MAX_CELL = 60

_CONDITION: dict[str, object] = {
    "type": "object",
    "properties": {
        "column": {"type": "string"},
        "op": {"type": "string", "enum": list(sums.TESTS)},
        "value": {},
    },
    "required": ["column", "op"],
    "additionalProperties": False,
}
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "format": {"type": "string", "enum": list(reading.FORMATS)},
        "where": {"type": "array", "items": _CONDITION, "maxItems": 20},
        "columns": {"type": "array", "items": {"type": "string"}, "maxItems": 100},
        "sort": {"type": "string", "description": "column, or -column: largest first"},
        "group_by": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "sum_up": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": {"what": {"type": "string", "enum": list(sums.SUMS)}, "column": {"type": "string"}},
                "required": ["what"],
                "additionalProperties": False,
            },
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def describe() -> ToolManifest:
    """What the model is told of this tool."""
    return ToolManifest(
        name="table",
        description="Look into a table (CSV, TSV, JSON Lines) rather than read it or write a script: the path alone shows its "
        "columns and first rows. All of where must hold; sum_up gives a line a group, or one.",
        input_schema=SCHEMA,
        group="data",
        mutating=False,
    )


def invoke(session_id: str, args: dict[str, Any], config: dict[str, Any]) -> str:
    """A text table. Raises HostError for a file that is no table or a column that is not there."""
    path = args.get("path")
    if not isinstance(path, str) or not path:
        raise HostError("bad-arguments", "`path` is missing.", "Give a .csv, .tsv or .jsonl file.")
    columns, rows = reading.read(sandbox.read_file(path, limit=-1), reading.format_of(path, args.get("format")), path)
    most = config.get("max_rows", DEFAULT_ROWS)
    limit = min(args.get("limit") or DEFAULT_ROWS, most if isinstance(most, int) and most > 0 else DEFAULT_ROWS)
    if not any(args.get(name) for name in ("where", "columns", "sort", "group_by", "sum_up")):
        return peek(path, columns, rows, min(limit, 10))
    found = sums.kept(rows, columns, args.get("where") or [])
    if args.get("sum_up") or args.get("group_by"):
        columns, shown = sums.summed(found, columns, args.get("group_by") or [], args.get("sum_up") or [{"what": "count"}])
    else:
        shown = found
    if args.get("sort"):
        shown = sums.ordered(shown, columns, str(args["sort"]))
    chosen = [sums.known(name, columns) for name in args.get("columns") or columns]
    head = f"{len(found)} of {len(rows)} rows" + (f", {len(shown)} groups" if shown is not found else "")
    return "\n".join([head, *table(chosen, shown[:limit]), *left(len(shown) - limit)])


def peek(path: str, columns: list[str], rows: list[dict[str, Any]], limit: int) -> str:
    """What the file holds: its columns with their kinds, and the first rows."""
    lines = [f"{path}: {len(rows)} rows, {len(columns)} columns"]
    lines += [f"  {name}: {sums.kind(name, rows)}" for name in columns]
    return "\n".join([*lines, *table(columns, rows[:limit]), *left(len(rows) - limit)])


def left(count: int) -> list[str]:
    """The line that says how many rows are not shown."""
    return [f"[... {count} more rows]"] if count > 0 else []


def table(columns: list[str], rows: list[dict[str, Any]]) -> list[str]:
    """Rows under their columns, cells cut."""
    cells = [[cell(row.get(name)) for name in columns] for row in rows]
    heads = [cell(name) for name in columns]
    widths = [max([len(head), *(len(line[i]) for line in cells)]) for i, head in enumerate(heads)]
    lines = [heads, ["-" * width for width in widths], *cells]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def cell(value: Any) -> str:
    """A value in one short line."""
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"
