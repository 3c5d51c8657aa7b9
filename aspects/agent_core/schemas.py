"""What a tool takes, as JSON Schema: one way to write it for all of the agent's own tools, and what of it is sent.

A `hint` says what an argument is to whoever got it wrong (`validate`), and `choices` what it may be where another tool's
`enum` has told already; neither is sent: names that speak for themselves need no words in every request. Must not know any
tool.
"""

from __future__ import annotations

from typing import Any

OURS = (
    "additionalProperties", "choices", "hint", "minLength", "maxLength", "minimum", "maximum", "maxItems", "minItems",
)  # fmt: skip
"""What `validate` and the tools check or say, and a model need not read with every request."""


def takes(required: str = "", **properties: dict[str, Any]) -> dict[str, Any]:
    """An object of these arguments. `required`: the names of those that must be given, parted by spaces."""
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def string(description: str = "", **more: Any) -> dict[str, Any]:
    """A text; `more`: enum, minLength, maxLength, hint."""
    return _described("string", description, more)


def count(description: str = "", **more: Any) -> dict[str, Any]:
    """A whole number from 1 on."""
    return _described("integer", description, {"minimum": 1, **more})


def boolean(description: str = "", **more: Any) -> dict[str, Any]:
    """True or false."""
    return _described("boolean", description, more)


def array(items: dict[str, Any], description: str = "", **more: Any) -> dict[str, Any]:
    """A list of `items`."""
    return _described("array", description, {"items": items, **more})


def _described(kind: str, description: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, **({"description": description} if description else {}), **more}


def on_the_wire(schema: Any) -> Any:
    """A schema without what only costs tokens: bounds that are checked anyway, hints, an empty `required`, and the type of
    what is one of some texts.
    """
    if isinstance(schema, list):
        return [on_the_wire(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        schema = {**schema, "properties": {name: on_the_wire(value) for name, value in schema["properties"].items()}}
        return {key: value for key, value in schema.items() if key not in OURS and (key, value) != ("required", [])}
    plain = {key: on_the_wire(value) for key, value in schema.items() if key not in OURS}
    if "enum" in plain and plain.get("type") == "string":
        del plain["type"]
    return plain
