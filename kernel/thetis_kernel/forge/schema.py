"""Is this a JSON Schema a model provider will take for a tool's input? Structure only, bounded in every direction.

A schema is a guest's word and travels to providers and validators, so what could blow up there is refused here:
references out of the document, cycles, depth, size. It knows JSON Schema, not guests.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_TEXT = 64 * 1024
MAX_DEPTH = 24
MAX_NODES = 2000
TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What the Messages API takes as a tool's name."""
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMAS = ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_STRINGS = ("title", "description", "format", "pattern", "$comment", "$id", "$schema")


def load_json(text: str, what: str) -> tuple[Any, str]:
    """(value, "") of a JSON text, or (None, a sentence that begins with `what`)."""

    def constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, parse_constant=constant), ""
    except ValueError as exc:
        return None, f"{what} is not JSON: {exc}"
    except RecursionError:
        return None, f"{what} is nested too deeply"


def schema_problem(schema: object) -> str:
    """What is wrong with `schema` as a tool's input schema, as one sentence; "" when nothing is."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "the input schema must be a JSON object with \"type\": \"object\""
    try:
        if len(json.dumps(schema)) > MAX_TEXT:
            return f"the input schema is larger than {MAX_TEXT // 1024} KiB"
        _Checker(schema).check(schema, "schema", 0)
    except _Wrong as exc:
        return str(exc)
    except RecursionError:
        return "the input schema is nested too deeply"
    return ""


class _Wrong(Exception):
    """The sentence about a schema. Never leaves this module."""


class _Checker:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def check(self, node: object, where: str, depth: int) -> None:
        self._nodes += 1
        if depth > MAX_DEPTH:
            raise _Wrong(f"the input schema is nested deeper than {MAX_DEPTH}")
        if self._nodes > MAX_NODES:
            raise _Wrong(f"the input schema has more than {MAX_NODES} parts")
        if isinstance(node, bool):
            return
        if not isinstance(node, dict):
            raise _Wrong(f"{where} must be a schema object")
        self._keywords(node, where)
        for key in _MAPS:
            for name, child in self._map(node, key, where).items():
                self.check(child, f"{where}.{key}.{name[:40]}", depth + 1)
        for key in _SCHEMAS:
            if key in node:
                self.check(node[key], f"{where}.{key}", depth + 1)
        for key in _LISTS:
            if key in node:
                children = node[key]
                if not isinstance(children, list) or not children:
                    raise _Wrong(f"{where}.{key} must be a list of schemas")
                for child in children:
                    self.check(child, f"{where}.{key}", depth + 1)

    def _map(self, node: dict[str, Any], key: str, where: str) -> dict[str, Any]:
        found = node.get(key, {})
        if not isinstance(found, dict):
            raise _Wrong(f"{where}.{key} must be an object")
        return found

    def _keywords(self, node: dict[str, Any], where: str) -> None:
        kinds = node.get("type", [])
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if not isinstance(kind, str) or kind not in TYPES:
                raise _Wrong(f"{where}.type is {str(kind)[:40]!r}; it must be one of {', '.join(sorted(TYPES))}")
        for keys, types, word in ((_NUMBERS, (int, float), "a number"), (_COUNTS, (int,), "a whole number"),
                                  (_STRINGS, (str,), "a string")):  # fmt: skip
            for key in keys:
                if key in node and (not isinstance(node[key], types) or isinstance(node[key], bool)):
                    raise _Wrong(f"{where}.{key} must be {word}")
        if "enum" in node and not (isinstance(node["enum"], list) and node["enum"]):
            raise _Wrong(f"{where}.enum must be a list of values")
        self._required(node, where)
        if "$ref" in node:
            self._reference(node["$ref"], where)

    def _required(self, node: dict[str, Any], where: str) -> None:
        required = node.get("required", [])
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise _Wrong(f"{where}.required must be a list of property names")
        properties = node.get("properties")
        if isinstance(properties, dict):
            for name in required:
                if name not in properties:
                    raise _Wrong(f"{where}.required names {name[:40]!r}, which is not among its properties")

    def _reference(self, reference: object, where: str) -> None:
        """Only to a definition of this document that itself refers to nothing: no cycle, no growth."""
        match = re.fullmatch(r"#/(\$defs|definitions)/([^/]+)", reference) if isinstance(reference, str) else None
        if match is None:
            raise _Wrong(f"{where}.$ref must point at #/$defs/NAME")
        holder = self._root.get(match[1])
        target = holder.get(match[2]) if isinstance(holder, dict) else None
        if target is None:
            raise _Wrong(f"{where}.$ref points at {match[2][:40]!r}, which is not defined")
        if '"$ref"' in json.dumps(target):
            raise _Wrong(f"{where}.$ref points at {match[2][:40]!r}, which holds a $ref itself")


def tool_problem(tool: object, *, fields: tuple[str, ...] = ("name", "description", "input_schema", "mutating")) -> str:
    """What is wrong with one entry of a tool list, which must have `fields`; "" when nothing is."""
    if not isinstance(tool, dict):
        return "a tool must be an object"
    name = tool.get("name")
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        return f"a tool's name is {str(name)[:80]!r}; it must be 1-64 letters, digits, hyphens and underscores"
    missing = [field for field in fields if field not in tool]
    if missing:
        return f"tool {name} lacks {missing[0]}"
    if not isinstance(tool["description"], str) or not tool["description"].strip():
        return f"tool {name} has no description"
    if "mutating" in fields and not isinstance(tool["mutating"], bool):
        return f"tool {name}: mutating must be true or false"
    problem = schema_problem(tool["input_schema"])
    return f"tool {name}: {problem}" if problem else ""
