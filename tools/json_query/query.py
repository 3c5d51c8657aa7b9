"""A small path language over JSON values; every value comes with the path that leads to it.

    query = path { "|" function }      path = { step }
    step  = .name | ."text" | ..name | [n] | [n:m] | [] | [?condition]
    condition = path (== | != | < | <= | > | >= | ~) literal | path
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from thetis_guest import HostError

Found = list[tuple[str, Any]]
MAX_STEPS = 64
MAX_VALUES = 100_000
_NAME = re.compile(r"[A-Za-z_$@][\w$@-]*")
_STEP = re.compile(
    r"""\s*(?: \.\.(?P<deep>[A-Za-z_$@][\w$@-]*) | \.(?P<name>[A-Za-z_$@][\w$@-]*) | \.(?P<quoted>"(?:[^"\\]|\\.)*")
    | \.?\[(?P<index>-?\d+)\] | \.?\[(?P<low>-?\d*):(?P<high>-?\d*)\] | \.?(?P<all>\[\]) | \.?(?P<filter>\[\?) )""",
    re.X,
)
_COMPARE = re.compile(r"\s*(==|!=|<=|>=|<|>|~)\s*")
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
    "~": lambda a, b: str(b).lower() in (a if isinstance(a, str) else json.dumps(a, ensure_ascii=False)).lower(),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "keys": lambda v: list(v) if isinstance(v, dict) else list(range(len(v))) if isinstance(v, list) else [],
    "length": lambda v: len(v) if isinstance(v, (dict, list, str)) else 0,
    "type": lambda v: {dict: "object", list: "list", str: "text", bool: "boolean", type(None): "null"}.get(type(v), "number"),
}


def run(value: Any, text: str) -> Found:
    """The values the query leads to, in the file's order. Raises HostError naming the place that cannot be read."""
    path, *functions = _split(text)
    found = _Path(path).values([(".", value)])
    for name in (function.strip() for function in functions):
        if name == "count":
            found = [("count", len(found))]
        elif name == "unique":
            found = list({json.dumps(v, sort_keys=True): (place, v) for place, v in reversed(found)}.values())[::-1]
        elif name in FUNCTIONS:
            found = [(place, FUNCTIONS[name](v)) for place, v in found]
        else:
            raise _wrong(f"there is no function {name[:40]!r}", "Known: " + ", ".join([*FUNCTIONS, "unique", "count"]) + ".")
    return found


def step(place: str, key: str | int) -> str:
    """The path one step further."""
    base = "" if place == "." else place
    if isinstance(key, int):
        return f"{base or '.'}[{key}]"
    return f"{base}.{key}" if _NAME.fullmatch(key) else f"{base}.{json.dumps(key, ensure_ascii=False)}"


class _Path:
    """A path read from `text`; `rest` is what stands behind it."""

    def __init__(self, text: str, inside: bool = False) -> None:
        self._steps: list[Callable[[str, Any], Found]] = []
        self.rest = text.strip()
        if self.rest == "." or (inside and re.match(r"\.\s*(==|!=|<|>|~|\])", self.rest)):
            self.rest = self.rest[1:]
        while self.rest and (match := _STEP.match(self.rest)):
            self.rest = self.rest[match.end() :]
            self._steps.append(self._step(match))
            if len(self._steps) > MAX_STEPS:
                raise _wrong("the path has too many steps", "Use fewer.")
        if self.rest.strip() and not inside:
            raise _wrong(f"it cannot be read from {self.rest[:40]!r} on", 'Write names like .name or ."odd name".')

    def values(self, found: Found) -> Found:
        for one in self._steps:
            found = [pair for place, value in found for pair in one(place, value)]
            if len(found) > MAX_VALUES:
                raise _wrong(f"it leads to more than {MAX_VALUES} values", "Be more specific.")
        return found

    def _step(self, match: re.Match[str]) -> Callable[[str, Any], Found]:
        if (name := match["name"] or (json.loads(match["quoted"]) if match["quoted"] else None)) is not None:
            return lambda place, v: [(step(place, name), v[name])] if isinstance(v, dict) and name in v else []
        if match["deep"]:
            return lambda place, v: _deep(place, v, match["deep"])
        if match["index"]:
            return lambda place, v: _indexed(place, v, int(match["index"]))
        if match["all"]:
            return lambda place, v: _children(place, v)
        if match["filter"]:
            return self._condition()
        low, high = (int(match[side]) if match[side] else None for side in ("low", "high"))
        return lambda place, v: [(step(place, i), v[i]) for i in range(len(v))[low:high]] if isinstance(v, list) else []

    def _condition(self) -> Callable[[str, Any], Found]:
        inner = _Path(self.rest, inside=True)
        compared, literal = _COMPARE.match(inner.rest), None
        self.rest = inner.rest
        if compared:
            try:
                literal, end = json.JSONDecoder().raw_decode(inner.rest, compared.end())
            except ValueError as error:
                raise _wrong("the condition compares with something that is no JSON", 'Write "text", 1, true or null.') from error
            self.rest = inner.rest[end:]
        if not self.rest.lstrip().startswith("]"):
            raise _wrong("a condition does not end", "Close it with ].")
        self.rest = self.rest.lstrip()[1:]
        test = OPERATORS[compared[1]] if compared else lambda value, _: value not in (None, False)

        def holds(value: Any) -> bool:
            try:
                return any(test(v, literal) for _, v in inner.values([(".", value)]))
            except TypeError:
                return False  # values that have no order

        return lambda place, v: [(where, one) for where, one in _children(place, v) if holds(one)]


def _children(place: str, value: Any) -> Found:
    if isinstance(value, dict):
        return [(step(place, key), one) for key, one in value.items()]
    return [(step(place, i), one) for i, one in enumerate(value)] if isinstance(value, list) else []


def _indexed(place: str, value: Any, index: int) -> Found:
    if not isinstance(value, list) or not -len(value) <= index < len(value):
        return []
    return [(step(place, index % len(value)), value[index])]


def _deep(place: str, value: Any, name: str) -> Found:
    found: Found = []
    waiting = [(place, value)]
    while waiting:
        where, one = waiting.pop()
        if isinstance(one, dict) and name in one:
            found.append((step(where, name), one[name]))
        waiting += reversed(_children(where, one))
    return found


def _split(text: str) -> list[str]:
    """The parts between bars that stand in no quoted text."""
    parts, start, quoted, at = [], 0, False, 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quoted:
            at += 1
        elif char == '"':
            quoted = not quoted
        elif char == "|" and not quoted:
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [*parts, text[start:]]


def _wrong(why: str, hint: str) -> HostError:
    return HostError("bad-arguments", f"The query does not fit: {why}.", hint)
