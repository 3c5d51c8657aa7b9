"""Rows of a table from text: CSV, TSV, JSON Lines. Numbers become numbers, everything else stays text.

A row is a dict by column; a column that a row does not have is missing from it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any

from thetis_guest import HostError

FORMATS = ("csv", "tsv", "jsonl")
ENDINGS = {"csv": "csv", "tsv": "tsv", "tab": "tsv", "jsonl": "jsonl", "ndjson": "jsonl"}
MAX_ROWS = 200_000
MAX_COLUMNS = 500
_NUMBER = re.compile(r"[+-]?(\d+|\d+\.\d*|\.\d+)([eE][+-]?\d+)?")

Rows = list[dict[str, Any]]


def format_of(path: str, wanted: Any) -> str:
    """The format asked for, else by the name. Raises HostError when neither says one."""
    found = wanted if wanted in FORMATS else ENDINGS.get(path.rpartition(".")[2].lower(), "")
    if not found:
        raise HostError("bad-arguments", f"{path} does not say which table it is.", "Give format: csv, tsv or jsonl.")
    return str(found)


def read(text: str, form: str, path: str) -> tuple[list[str], Rows]:
    """(columns in order, rows). Raises HostError with the line that does not fit."""
    text = text.removeprefix("\ufeff")
    columns, rows = _lines(text, path) if form == "jsonl" else _separated(text, form, path)
    if len(columns) > MAX_COLUMNS:
        raise HostError("too-wide", f"{path} has {len(columns)} columns, more than {MAX_COLUMNS}.", "Look at it with a command.")
    return columns, rows


def _separated(text: str, form: str, path: str) -> tuple[list[str], Rows]:
    separator = "\t"
    if form == "csv":
        first = text.partition("\n")[0]
        separator = max(",;", key=first.count)  # spreadsheets of half of Europe write semicolons
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    rows: Rows = []
    try:
        columns = _named(next(reader, []))
        for values in reader:
            if not values:
                continue
            if len(values) > len(columns):
                wrong = f"{path} line {reader.line_num} has {len(values)} cells for {len(columns)} columns."
                raise HostError("not-a-table", wrong, "Mend that line, or name another format.")
            rows.append({name: number(value) for name, value in zip(columns, values, strict=False)})
            _few(rows, path)
    except csv.Error as error:
        raise HostError("not-a-table", f"{path} line {reader.line_num} cannot be read: {error}.", "Mend that line.") from error
    if not columns:
        raise HostError("not-a-table", f"{path} is empty.", "Name a file with a header line.")
    return columns, rows


def _lines(text: str, path: str) -> tuple[list[str], Rows]:
    columns: dict[str, None] = {}
    rows: Rows = []
    for at, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise HostError("not-a-table", f"{path} line {at} is no JSON.", "Mend that line.") from error
        if not isinstance(row, dict):
            raise HostError("not-a-table", f"{path} line {at} is no object.", "Use json_query for other JSON.")
        rows.append({str(key): json.dumps(v, ensure_ascii=False) if isinstance(v, (dict, list)) else v for key, v in row.items()})
        columns.update(dict.fromkeys(rows[-1]))
        _few(rows, path)
    return list(columns), rows


def number(text: str) -> Any:
    """The number a text says, else the text; an empty one is nothing."""
    plain = text.strip()
    if not plain:
        return None
    if len(plain) > 40 or not plain.isascii() or not _NUMBER.fullmatch(plain) or (plain[0] == "0" and plain[1:2].isdigit()):
        return text  # also what begins with zeros: it is a code, not a number
    value = float(plain)
    if not math.isfinite(value):
        return text
    return int(plain) if plain.lstrip("+-").isdigit() else value


def _named(heads: list[str]) -> list[str]:
    """Column names, each different and none empty."""
    seen: dict[str, int] = {}
    names = []
    for at, head in enumerate(heads, 1):
        name = " ".join(head.split()) or f"column {at}"
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _few(rows: Rows, path: str) -> None:
    if len(rows) > MAX_ROWS:
        raise HostError("too-long", f"{path} has more than {MAX_ROWS} rows.", "Cut it with a command first.")
