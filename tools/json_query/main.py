"""The JSON tool: what a file holds, by a path into it.

Owns its manifest and how values are told. Must not know the path language (`query`).
"""

from __future__ import annotations

import json
from typing import Any

import query
from thetis_guest import HostError, ToolManifest, sandbox

MAX_TEXT = 20_000
MAX_VALUE = 4_000
DEFAULT_RESULTS = 100

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "query": {
            "type": "string",
            "description": "`.` the whole, `.name`, `.\"odd name\"`, `[0]`, `[-1]`, `[2:5]`, `[]` each, `..name` at any depth, "
            "`[?.size > 10]` (== != < <= > >= ~ contains); then ` | keys` (length, type, unique, count). Default: the outline",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}


def describe() -> ToolManifest:
    """What the model is told of this tool."""
    return ToolManifest(
        name="json_query",
        description="Look into a JSON or JSON Lines file rather than read it: its outline, or a query's values with their paths.",
        input_schema=SCHEMA,
        group="data",
        mutating=False,
    )


def invoke(session_id: str, args: dict[str, Any], config: dict[str, Any]) -> str:
    """The values as text, one a line. Raises HostError for a file that is no JSON or a query that cannot be read."""
    path, wanted = args.get("path"), args.get("query", "")
    if not isinstance(path, str) or not path or not isinstance(wanted, str):
        raise HostError("bad-arguments", "`path` is missing.", "Give a JSON file, relative to the checkout.")
    value = parsed(sandbox.read_file(path, limit=-1), path)
    if not wanted.strip():
        return "\n".join([f"{path}:", *outline(value)])
    most = config.get("max_results", DEFAULT_RESULTS)
    return told(query.run(value, wanted), most if isinstance(most, int) and most > 0 else DEFAULT_RESULTS)


def parsed(text: str, path: str) -> Any:
    """The file's value; JSON Lines are a list. Raises HostError with the line that does not fit."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise HostError("not-json", f"{path} is too deeply nested.", "Nothing reasonable is nested that deep.") from error
    except ValueError as error:
        first = error
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except ValueError:
            if number == 1:  # not even one line of it: then it is broken JSON, and that is what to say
                break
            raise HostError("not-json", f"{path} is no JSON Lines: line {number} does not fit.", "Mend that line.") from None
    else:
        if values:
            return values
    raise HostError("not-json", f"{path} is no JSON: {first}.", "Read the place it names.")


def told(found: list[tuple[str, Any]], most: int) -> str:
    """Each value with its path, cut to what fits."""
    if not found:
        return "(nothing: the path leads nowhere in this file)"
    lines: list[str] = []
    size = 0
    for place, value in found[:most]:
        text = json.dumps(value, ensure_ascii=False)
        text = text if len(text) <= MAX_VALUE else text[:MAX_VALUE] + f" [... {len(text) - MAX_VALUE} more characters]"
        size += len(text) + len(place)
        if size > MAX_TEXT and lines:
            break
        lines.append(f"{place}: {text}")
    left = len(found) - len(lines)
    return "\n".join(lines + ([f"[... {left} more values]"] if left else []))


def outline(value: Any, depth: int = 3, place: str = ".") -> list[str]:
    """Keys and types down to `depth`; a list is told by its first element."""
    lines = [f"{place}  {kind(value)}"]
    if depth == 0:
        return lines
    if isinstance(value, dict):
        for key in list(value)[:40]:
            lines += outline(value[key], depth - 1, query.step(place, key))
        if len(value) > 40:
            lines.append(f"{place}  [... {len(value) - 40} more keys]")
    elif isinstance(value, list) and value:
        lines += outline(value[0], depth - 1, query.step(place, 0))
    return lines


def kind(value: Any) -> str:
    """A value's type with its size."""
    if isinstance(value, dict):
        return f"object of {len(value)}"
    if isinstance(value, list):
        return f"list of {len(value)}"
    if isinstance(value, str):
        return f"text of {len(value)}" if len(value) > 40 else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
