"""Schemas of outputs as `response_format`."""

from __future__ import annotations

from typing import Any

import pytest

from pawl.runtime.llm.openai_schema import is_wrapped, response_format, unwrap
from pawl.runtime.llm.port import OutputSchema

TEXT = {"type": "string"}


def record(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        **more,
    }


def sent(schema: dict[str, Any], name: str = "point") -> dict[str, Any]:
    given: dict[str, Any] = response_format(OutputSchema(name, schema))
    assert given["type"] == "json_schema"
    json_schema: dict[str, Any] = given["json_schema"]
    return json_schema


def test_objects_are_closed_at_every_depth_where_the_schema_is_strict() -> None:
    inner = record({"y": TEXT})
    schema = record(
        {"a": {"type": "array", "items": inner}, "b": {"anyOf": [inner, {"type": "null"}]}, "c": {"$ref": "#/$defs/C"}},
        **{"$defs": {"C": inner}},
    )
    closed = {**inner, "additionalProperties": False}
    given = sent(schema)
    assert given["strict"] is True
    assert given["schema"]["additionalProperties"] is False
    assert given["schema"]["properties"]["a"]["items"] == closed
    assert given["schema"]["properties"]["b"]["anyOf"][0] == closed
    assert given["schema"]["$defs"]["C"] == closed
    assert "additionalProperties" not in schema, "what was given is not changed"


LOOSE: dict[str, dict[str, Any]] = {
    "an optional key": record({"a": TEXT, "b": TEXT}, ["a"]),
    "a default": record({"a": {"type": "string", "default": "x"}}),
    "further keys allowed": record({"a": TEXT}, additionalProperties=True),
    "a dictionary": record({"a": {"type": "object", "additionalProperties": {"type": "integer"}}}),
    "lengths": record({"a": {"type": "string", "minLength": 1}}),
    "a tuple": record({"a": {"type": "array", "prefixItems": [TEXT], "items": False}}),
    "anything": record({"a": {}}),
    "only a description": record({"a": {"description": "anything"}}),
    "an array of anything": record({"a": {"type": ["array", "null"]}}),
    "a format of its own": record({"a": {"type": "string", "format": "decimal"}}),
    "allOf": record({"a": {"allOf": [TEXT]}}),
    "true as a schema": record({"a": True}),
}


@pytest.mark.parametrize("case", LOOSE)
def test_what_strict_mode_would_refuse_is_sent_as_it_is_and_not_strict(case: str) -> None:
    given = sent(LOOSE[case])
    assert given == {"name": "point", "schema": LOOSE[case], "strict": False}


def test_a_schema_nested_too_deep_or_too_wide_is_not_strict() -> None:
    deep: dict[str, Any] = TEXT
    for _ in range(12):
        deep = record({"a": deep})
    assert sent(deep)["strict"] is False
    assert sent(record({f"k{number}": TEXT for number in range(5001)}))["strict"] is False


def test_a_schema_that_contains_itself_in_python_is_not_strict() -> None:
    schema = record({"a": TEXT})
    schema["properties"]["a"] = schema
    assert sent(schema)["strict"] is False


def test_a_value_that_is_no_object_is_put_into_one_with_the_definitions_outside() -> None:
    schema = {"type": "array", "items": {"$ref": "#/$defs/P"}, "$defs": {"P": record({"x": TEXT})}}
    given = sent(schema)
    assert given["strict"] is True
    assert given["schema"]["required"] == ["value"]
    assert given["schema"]["properties"]["value"] == {"type": "array", "items": {"$ref": "#/$defs/P"}}
    assert set(given["schema"]["$defs"]) == {"P"}


@pytest.mark.parametrize(
    ("schema", "wrapped"), [(record({}), False), ({"anyOf": [record({})]}, True), (TEXT, True), ({}, True)]
)
def test_only_objects_stand_at_the_root(schema: dict[str, Any], wrapped: bool) -> None:
    assert is_wrapped(OutputSchema("x", schema)) is wrapped


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"value": [1, 2]}', "[1,2]"),
        ('{"value": "a"}', '"a"'),
        ('{"value": null}', "null"),
        ('{"value": 1, "more": 2}', '{"value": 1, "more": 2}'),
        ("[1]", "[1]"),
        ("no JSON", "no JSON"),
        ('{"value": NaN}', '{"value": NaN}'),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_the_value_is_taken_out_of_its_object_and_anything_else_is_left_alone(text: str, value: str) -> None:
    assert unwrap(text) == value


@pytest.mark.parametrize(
    ("name", "sent_as"), [("Point[int]", "Point_int_"), ("", "output"), ("x" * 80, "x" * 64), ("Ünï", "_n_")]
)
def test_names_are_what_the_server_takes(name: str, sent_as: str) -> None:
    assert sent(record({}), name)["name"] == sent_as
