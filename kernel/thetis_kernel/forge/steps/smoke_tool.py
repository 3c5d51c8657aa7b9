"""Smoke of a tool: describe() fits its manifest; invoke() answers or says no, without arguments and with plausible ones."""

from __future__ import annotations

import json
from typing import Any

from thetis_kernel.forge.fakes.tool import ToolHost
from thetis_kernel.forge.schema import load_json, tool_problem
from thetis_kernel.forge.steps.smoking import Smoke


def run(smoke: Smoke) -> None:
    """Raises Failed."""
    described = smoke.json(ToolHost(), "describe")
    if not isinstance(described, dict):
        smoke.fail("describe() must return a ToolManifest")
    manifest = smoke.candidate.manifest
    if manifest is not None and described.get("name") != manifest.name:
        smoke.fail(f"describe() says the name {str(described.get('name'))[:80]!r}, guest.toml says {manifest.name!r}")
    schema, problem = load_json(str(described.get("input_schema", "")), "describe(): input_schema")
    problem = problem or tool_problem({**described, "input_schema": schema})
    if problem:
        smoke.fail(problem if problem.startswith("describe()") else f"describe(): {problem}")
    smoke.described({**described, "input_schema": schema})
    for arguments in _argument_sets(schema):
        host = ToolHost()
        doing = f"invoke() with {'plausible' if arguments else 'no'} arguments"
        smoke.answer(host, "invoke", host.session, json.dumps(arguments), "{}", doing=doing)


def _argument_sets(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """No arguments at all, and a plausible value for each required one."""
    properties = schema.get("properties", {})
    plausible = {name: _plausible(name, properties.get(name)) for name in schema.get("required", [])}
    return [{}, plausible] if plausible else [{}]


def _plausible(name: str, schema: Any) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    values: dict[Any, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}, "null": None}
    return values.get(kind, "src/ledger/book.py" if "path" in name or "file" in name else "book")
