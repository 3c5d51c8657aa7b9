"""Checks a model's arguments against a tool's schema before anything runs.

Owns the sentence a model gets for wrong arguments: it names the argument, what is wrong, and what would be right.
Knows the part of JSON Schema that tools use: type, required, properties, additionalProperties, enum, minimum,
minLength, maxLength; other keywords are the tool's own to check. Must not know any tool.
"""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_SPOKEN = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class Invalid(Exception):
    """The arguments do not fit; the message is a sentence for the model."""


def checked(name: str, schema: dict[str, Any], args: Any) -> dict[str, Any]:
    """`args` with whole numbers and booleans that came as text put right; raises `Invalid` for what does not fit.

    A null for an argument that may be left out counts as left out.
    """
    if not isinstance(args, dict):
        raise Invalid(f"{name}: the arguments must be an object, not {_kind(args)}.")
    properties = schema.get("properties")
    known: dict[str, Any] = properties if isinstance(properties, dict) else {}
    required = [key for key in schema.get("required") or [] if isinstance(key, str)]
    good: dict[str, Any] = {}
    for key, value in args.items():
        if key in known:
            if value is not None or key in required:
                good[key] = _value(name, key, known[key] if isinstance(known[key], dict) else {}, value)
        elif schema.get("additionalProperties") is False:
            raise Invalid(f"{name} has no argument `{key}`. It takes: {_listed(known, required)}.")
        else:
            good[key] = value
    for key in required:
        if key not in good:
            raise Invalid(f"{name}: the argument `{key}` is missing{_about(known.get(key))}.")
    return good


def _value(name: str, key: str, schema: dict[str, Any], value: Any) -> Any:
    kinds = schema.get("type")
    wanted = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind in _TYPES]
    if wanted:
        value = _put_right(wanted, value)
        if not any(_is(kind, value) for kind in wanted):
            spoken = " or ".join(_SPOKEN[kind] for kind in wanted)
            raise Invalid(f"{name}: `{key}` must be {spoken}, not {_kind(value)}{_about(schema)}.")
    choices = schema.get("enum") or schema.get("choices")
    if isinstance(choices, list) and value not in choices:
        raise Invalid(f"{name}: `{key}` must be one of {', '.join(map(str, choices))}, not {_short(value)}.")
    least = schema.get("minimum")
    if isinstance(least, (int, float)) and isinstance(value, (int, float)) and value < least:
        raise Invalid(f"{name}: `{key}` must be at least {least}, not {value}.")
    if isinstance(value, str):
        shortest, longest = schema.get("minLength"), schema.get("maxLength")
        if isinstance(shortest, int) and len(value) < shortest:
            raise Invalid(f"{name}: `{key}` must not be empty{_about(schema)}.")
        if isinstance(longest, int) and len(value) > longest:
            raise Invalid(f"{name}: `{key}` is {len(value)} characters long; at most {longest} are allowed.")
    return value


def _put_right(wanted: list[str], value: Any) -> Any:
    """What small models write as text and plainly mean as a number or a boolean."""
    if isinstance(value, float) and value.is_integer() and "integer" in wanted:
        return int(value)
    if not isinstance(value, str) or "string" in wanted:
        return value
    plain = value.strip().lower()
    if "integer" in wanted and plain.removeprefix("-").isascii() and plain.removeprefix("-").isdigit():
        return int(plain[:20])
    if "boolean" in wanted and plain in ("true", "false"):
        return plain == "true"
    return value


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {_short(value)}"
    for kind in ("boolean", "integer", "number", "array", "object", "null"):
        if _is(kind, value):
            return f"{_SPOKEN[kind]} ({_short(value)})" if kind in ("integer", "number") else _SPOKEN[kind]
    return type(value).__name__


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _about(schema: Any) -> str:
    known = schema if isinstance(schema, dict) else {}
    description = known.get("description") or known.get("hint")
    return f" ({description})" if isinstance(description, str) and description else ""


def _listed(known: dict[str, Any], required: list[str]) -> str:
    return ", ".join(key if key in required else f"{key} (optional)" for key in known) or "no arguments"
