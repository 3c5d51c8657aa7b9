"""Shim of the tool runtime: the tool world's exports, answered by the guest's `describe` and `invoke`."""

from __future__ import annotations

import json

import loader
import thetis_guest
import wit_world
from wit_world.imports import sandbox
from wit_world.imports import sys as host
from wit_world.imports.types import ToolManifest

loader.boot(sys=host, sandbox=sandbox)

_TEXT_FIELDS = ("name", "description", "input_schema", "group")


def _manifest() -> ToolManifest:
    said = loader.named(loader.entry(), "describe")()
    if isinstance(said, thetis_guest.ToolManifest):
        said = {field: getattr(said, field) for field in (*_TEXT_FIELDS, "mutating")}
    if not isinstance(said, dict):
        raise loader.WrongType(f"describe() returned {type(said).__name__}, not a ToolManifest")
    fields = {"group": "extra", "mutating": False, **said}
    if isinstance(fields.get("input_schema"), dict):
        fields["input_schema"] = json.dumps(fields["input_schema"])
    for name in _TEXT_FIELDS:
        if type(fields.get(name)) is not str:
            raise loader.WrongType(f"describe(): `{name}` is missing or not text")
    if type(fields["mutating"]) is not bool:
        raise loader.WrongType("describe(): `mutating` is not a bool")
    unknown = set(fields) - {*_TEXT_FIELDS, "mutating"}
    if unknown:
        raise loader.WrongType(f"describe(): unknown field {sorted(map(str, unknown))[0]!r}")
    texts = {name: thetis_guest._bind.scrub(fields[name]) for name in _TEXT_FIELDS}
    return ToolManifest(**texts, mutating=fields["mutating"])


def _invoke(session_id: str, args_json: str, config_json: str) -> str:
    args, config = json.loads(args_json), json.loads(config_json)
    answer = loader.named(loader.entry(), "invoke")(session_id, args, config)
    return answer if type(answer) is str else loader.json_text(answer, (dict, list, str, int, float), "invoke()")


class WitWorld(wit_world.WitWorld):
    def describe(self) -> ToolManifest:
        return loader.last_words(_manifest)  # type: ignore[no-any-return]

    def invoke(self, session_id: str, args_json: str, config_json: str) -> str:
        return loader.guarded(lambda: _invoke(session_id, args_json, config_json))
