"""Which tools are offered, and what becomes of a call."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.native_guest import shipped_tools

OUTLINE = {"name": "outline", "description": "Outline.", "group": "extra", "mutating": False,
           "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}  # fmt: skip
DEPLOY = {**OUTLINE, "name": "deploy", "mutating": True}
SELF = {"new_tool", "write_code", "patch_code", "remove_code", "roll_back", "add_dependency", "remove_dependency"}
TERMINALS = {"terminal_open", "terminal_run", "terminal_send", "terminal_signal", "terminal_close"}
BRANCH = {"branch_commit", "update_from_trunk", "complete_merge", "abort_merge", "reset_branch"}
MACHINES = {"ssh_host_list", "ssh_host_get", "ssh_host_set", "ssh_host_remove", "ssh_host_rename"}
"""Not one of them in a read-only mode: what machines there are is nobody's to know there."""
CHANGES = {"edit", "write", "run", "deploy", "git_clone", "write_skill", "update_code", "set_config"} | SELF | TERMINALS | BRANCH
CHANGES |= MACHINES


@pytest.fixture
def box(agent: SimpleNamespace) -> Any:
    def make(read_only: bool = False, *registry: dict[str, Any]) -> Any:
        return agent.toolbox.Toolbox(list(registry or (OUTLINE, DEPLOY)), read_only, "plan" if read_only else "agent")

    return make


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "c1", "name": name, "input": args}


def test_a_writing_mode_has_all_tools_and_a_reading_one_no_changing_ones(box: Any) -> None:
    names = {tool["name"] for tool in box().definitions()}
    assert names >= CHANGES | {"read", "list", "search", "find", "remember", "recall", "outline"}
    assert {tool["name"] for tool in box(True).definitions()} == names - CHANGES


def test_39_a_mode_that_does_not_say_it_may_write_is_read_only(agent: SimpleNamespace) -> None:
    assert [agent.toolbox.read_only(mode) for mode in ({}, {"id": "agent"}, {"read_only": None}, {"read_only": 0})] == [
        True
    ] * 4
    assert agent.toolbox.read_only({"id": "agent", "read_only": False}) is False


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_126_a_changing_call_in_a_read_only_mode_is_answered_not_run(box: Any, name: str) -> None:
    resolved = box(True).resolve(call(name, path="f", command="x"))
    assert resolved["op"] == "answer" and resolved["op-args"]["ok"] is False
    assert "read-only" in resolved["op-args"]["text"]


def test_definitions_are_the_same_bytes_whatever_the_registrys_order(box: Any) -> None:
    assert json.dumps(box(False, OUTLINE, DEPLOY).definitions()) == json.dumps(
        box(False, DEPLOY, OUTLINE).definitions()
    )


def test_a_guest_cannot_take_the_place_of_a_built_in_tool(box: Any) -> None:
    resolved = box(False, {**OUTLINE, "name": "read"}).resolve(call("read", path="f"))
    assert resolved["op"] == "files.read-file"


def test_a_guest_that_does_not_say_it_only_reads_counts_as_changing(box: Any) -> None:
    silent = {"name": "silent", "description": "", "input_schema": "{}"}
    assert "silent" not in {tool["name"] for tool in box(True, silent).definitions()}


def test_a_call_becomes_its_operation_with_the_models_own_arguments_kept(box: Any) -> None:
    assert box().resolve(call("read", path="f", limit="5")) == {
        "id": "c1", "name": "read", "args": {"path": "f", "limit": "5"},
        "op": "files.read-file", "op-args": {"path": "f", "limit": 5},
    }  # fmt: skip
    assert box().resolve(call("outline", path="f"))["op"] == "tool:outline"


def test_an_unknown_tool_is_answered_with_the_tools_there_are(box: Any) -> None:
    words = box().resolve(call("bash", command="ls"))["op-args"]["text"]
    assert "'bash'" in words and "run" in words and "outline" in words


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("read", {}, ["`path`", "missing", "in the checkout"]),
        ("read", {"path": 3}, ["`path`", "text", "a whole number (3)"]),
        ("read", {"path": "f", "offset": 0}, ["`offset`", "at least 1"]),
        ("read", {"path": "f", "limit": "many"}, ["`limit`", "a whole number", "'many'"]),
        ("read", {"path": "f", "lines": 3}, ["`lines`", "offset (optional)"]),
        ("search", {"pattern": "x", "mode": "all"}, ["`mode`", "content, files, count"]),
        ("edit", {"path": "f", "old_text": "", "new_text": "x"}, ["`old_text`", "empty"]),
        (
            "edit",
            {"path": "f", "old_text": "a", "new_text": "b", "replace_all": "often"},
            ["`replace_all`", "true or false"],
        ),
        ("remember", {"key": "k" * 81, "content": "x"}, ["`key`", "81", "80"]),
        ("run", {"command": ["ls"]}, ["`command`", "text", "a list"]),
        ("run", {"command": None}, ["`command`"]),
        ("outline", {}, ["`path`"]),
    ],
)
def test_wrong_arguments_are_answered_by_name_with_the_way_out(
    box: Any, name: str, args: dict[str, Any], says: list[str]
) -> None:
    resolved = box().resolve(call(name, **args))
    assert resolved["op"] == "answer"
    for words in (name, *says):
        assert words in resolved["op-args"]["text"]


def test_arguments_that_are_no_object_are_answered(box: Any) -> None:
    resolved = box().resolve({"id": "c1", "name": "read", "input": "README.md"})
    assert resolved["op"] == "answer" and "object" in resolved["op-args"]["text"]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"path": "f", "offset": "7"}, {"path": "f", "offset": 7}),
        ({"path": "f", "offset": 7.0}, {"path": "f", "offset": 7}),
        ({"path": "f", "offset": None}, {"path": "f"}),
    ],
)
def test_what_is_plainly_meant_is_taken(box: Any, given: dict[str, Any], taken: dict[str, Any]) -> None:
    assert box().resolve(call("read", **given))["op-args"] == taken


def test_booleans_written_as_text_are_taken_and_numbers_are_not_booleans(box: Any) -> None:
    args = {"path": "f", "old_text": "a", "new_text": "b"}
    assert box().resolve(call("edit", **args, replace_all="true"))["op-args"]["replace_all"] is True
    assert box().resolve(call("edit", **args, replace_all=1))["op"] == "answer"


def test_every_built_in_operation_is_one_the_host_knows_with_just_these_arguments(agent: SimpleNamespace) -> None:
    from thetis_kernel.toolhost.operations import OPERATIONS

    for tool in agent.catalog.BUILTIN:
        chosen = {"scope"} if tool.op.startswith("notes.") else set()  # which of two operations it is
        assert set(tool.schema["properties"]) - chosen == set(OPERATIONS[tool.op].parameters), tool.name
        changes = OPERATIONS[tool.op].changes
        assert tool.mutating == changes, tool.name


def test_the_built_in_schemas_are_json_schema_of_the_kind_that_is_checked(agent: SimpleNamespace) -> None:
    known = {"type", "items", "description", "hint", "enum", "choices", "minimum", "maximum", "minLength", "maxLength"}
    for tool in agent.toolbox.OWN:
        assert tool.schema["additionalProperties"] is False
        assert set(tool.schema["required"]) <= set(tool.schema["properties"])
        for schema in tool.schema["properties"].values():
            assert set(schema) <= known and schema["type"]
    for tool in agent.catalog.BUILTIN:
        for name, schema in tool.schema["properties"].items():
            assert schema.get("description") or schema.get("hint"), (
                f"{tool.name}.{name}: whoever gets it wrong is told nothing"
            )


def test_what_only_the_check_needs_is_not_sent(agent: SimpleNamespace) -> None:
    """A hint is told to whoever got the argument wrong; a choice counts although another tool's text names it."""
    sent = json.dumps([tool.definition() for tool in agent.toolbox.OWN])
    assert not any(f'"{word}":' in sent for word in ("hint", "choices", "minimum", "maxLength", "additionalProperties"))
    own = {tool.name: tool for tool in agent.toolbox.OWN}
    assert own["recall"].definition()["input_schema"]["properties"]["scope"] == {"type": "string"}
    with pytest.raises(agent.validate.Invalid, match="conversation, project"):
        agent.validate.checked("recall", own["recall"].schema, {"scope": "world"})


def test_a_guests_argument_may_be_called_as_a_keyword_is(agent: SimpleNamespace) -> None:
    schema = {
        "type": "object",
        "properties": {"hint": {"type": "string"}, "minimum": {"type": "integer", "minimum": 1}},
    }
    assert agent.schemas.on_the_wire(schema)["properties"] == {
        "hint": {"type": "string"},
        "minimum": {"type": "integer"},
    }


def test_all_tools_that_ship_fit_twenty_kib(agent: SimpleNamespace) -> None:
    """Every request carries them all where grouping is off: one that is added is paid for by words elsewhere."""
    registry = shipped_tools()
    assert len(registry) >= 4
    whole = agent.toolbox.Toolbox(registry, False, "agent").definitions()
    assert agent.toolbox.size(whole) <= 20 * 1024
