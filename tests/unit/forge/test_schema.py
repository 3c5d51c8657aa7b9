from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.forge.schema import load_json, schema_problem, tool_problem

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def nested(depth):
    schema = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        PATH,
        nested(20),
        {"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x"]}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "integer", "minimum": 1}}},
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "x-vendor": {"anything": 1}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "maxItems": 3}}},
    ],
)
def test_good_schemas(schema):
    assert schema_problem(schema) == ""


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (None, 'with "type": "object"'),
        ([], 'with "type": "object"'),
        ({}, 'with "type": "object"'),
        ({"type": "string"}, 'with "type": "object"'),
        ({"type": "object", "properties": []}, "properties must be an object"),
        ({"type": "object", "properties": {"a": 3}}, "schema.properties.a must be a schema object"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "it must be one of"),
        ({"type": "object", "properties": {"a": {"type": [3]}}}, "it must be one of"),
        ({"type": "object", "properties": {}, "required": ["a"]}, "not among its properties"),
        ({"type": "object", "required": "a"}, "list of property names"),
        ({"type": "object", "properties": {"a": {"enum": []}}}, "enum must be a list"),
        ({"type": "object", "properties": {"a": {"minimum": "1"}}}, "minimum must be a number"),
        ({"type": "object", "properties": {"a": {"maxLength": True}}}, "whole number"),
        ({"type": "object", "properties": {"a": {"pattern": 3}}}, "pattern must be a string"),
        ({"type": "object", "anyOf": []}, "anyOf must be a list"),
        ({"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}, "#/$defs/NAME"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "#/$defs/NAME"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}}, "not defined"),
        (nested(30), "nested deeper"),
        (nested(400), "nested"),
        ({"type": "object", "properties": {str(n): {} for n in range(3000)}}, "more than 2000 parts"),
        ({"type": "object", "description": "x" * 70_000}, "larger than 64 KiB"),
    ],
)
def test_bad_schemas(schema, words):
    assert words in schema_problem(schema)


def test_a_cycle_of_references_is_refused():
    bomb = {"$ref": "#/$defs/B"}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"allOf": [bomb]}, "B": {}}}
    assert "holds a $ref itself" in schema_problem(schema)


def test_growing_references_are_refused():
    """Each definition twice the one before: 2**30 parts when followed."""
    defs = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)} | {"d30": {}}
    assert schema_problem({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs})


def test_a_deep_text_is_no_crash():
    assert load_json("[" * 200_000, "it")[1] == "it is nested too deeply"
    assert load_json("NaN", "it")[1].startswith("it is not JSON")
    assert load_json('{"a": 1}', "it") == ({"a": 1}, "")


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "properties", "items", "required", "$ref", "$defs", "anyOf", "enum", "minimum", "a"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=15,
)


@given(values)
def test_any_value_gets_a_sentence_or_passes(value):
    assert isinstance(schema_problem(value), str)
    assert isinstance(schema_problem({"type": "object", "properties": {"x": value}}), str)
    assert isinstance(tool_problem(value), str)


def test_judging_a_schema_is_quick():
    started = time.process_time()
    schema_problem({"type": "object", "$defs": {"A": {"description": "x" * 30_000}},
                    "properties": {str(n): {"$ref": "#/$defs/A"} for n in range(1500)}})  # fmt: skip
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"name": "no spaces"}, "it must be 1-64"),
        ({"name": "x" * 65}, "it must be 1-64"),
        ({"name": None}, "it must be 1-64"),
        ({"description": ""}, "no description"),
        ({"mutating": 1}, "true or false"),
        ({"input_schema": "{}"}, "type"),
    ],
)
def test_tools(change, words):
    tool = {"name": "read", "description": "Reads.", "input_schema": PATH, "mutating": False} | change
    problem = tool_problem(tool)
    assert words in problem and bool(problem) == bool(words)
    assert tool_problem({"name": "read"}).endswith("lacks description")
