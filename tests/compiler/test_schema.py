"""The schema for editors says what the structurer says, as far as a schema can see, and the committed file is fresh."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.as_editors import data
from compiler.golden import GOLDEN
from compiler.specs import DOOR, WRITER, edited
from compiler.test_error_goldens import CASES as ERRORS
from compiler.test_error_goldens import GOLDEN as BROKEN
from compiler.test_front_properties import mutated
from compiler.test_language_page import EXAMPLE, FRAGMENT
from pawl.tools.compiler import spec
from pawl.tools.compiler.compile import compile_text
from pawl.tools.compiler.load import load_text
from pawl.tools.compiler.names import NAME, is_name
from pawl.tools.compiler.nodes import Scalar
from pawl.tools.compiler.schema import schema, schema_text
from pawl.tools.compiler.structure import structure

ROOT = Path(__file__).parents[2]
SCHEMA = schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

VALID = [
    *sorted((ROOT / "fsm_specs").glob("*.yaml")),
    *sorted(GOLDEN.glob("*/**/*.yaml")),
]


def wrong(text: str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(data(text))]


def test_the_committed_schema_is_fresh() -> None:
    committed = (ROOT / "fsm_specs" / "pawl.schema.json").read_text(encoding="utf-8")
    assert committed == schema_text(), "run `pawl schema --out fsm_specs/pawl.schema.json`"


def test_it_is_a_schema_of_2020_12() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]


def test_every_reference_in_it_leads_somewhere() -> None:
    references = set(re.findall(r'"\$ref": "#/\$defs/(\w+)"', schema_text()))
    assert references == set(SCHEMA["$defs"])


@pytest.mark.parametrize("path", VALID, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_spec_that_compiles_is_valid(path: Path) -> None:
    assert wrong(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("text", [DOOR, WRITER, EXAMPLE, FRAGMENT])
def test_an_example_is_valid(text: str) -> None:
    assert wrong(text) == []


SEEN = [case for case in ERRORS if case.partition("_")[0] in ("Y12", "Y13", "Y14", "Y15")]

UNSEEN = {
    "Y15_automatic",  # a row without `on`, from a state that is not automatic
    "Y15_barrier",  # keys that exclude each other, unless one of them says false
    "Y15_group",  # whether a name is a state or an event
    "Y15_kinds",  # as with barriers
    "Y15_timer",  # whether a state ever waits
    "Y15_wildcard",  # a row without `on`, again
}
"""What the schema does not see, most of it because it is about more than one mapping."""


@pytest.mark.parametrize("case", SEEN)
def test_a_spec_of_a_wrong_form_is_invalid(case: str) -> None:
    found = [path for path in (BROKEN / case).rglob("*.yaml") if wrong(path.read_text(encoding="utf-8"))]
    assert bool(found) is (case not in UNSEEN), case


FORMED = [case for case in ERRORS if case[0] in "EW" and not case.startswith(("E10", "E06_keywords"))]


@pytest.mark.parametrize("case", FORMED)
def test_a_spec_with_another_mistake_than_its_form_is_valid(case: str) -> None:
    for path in (BROKEN / case).rglob("*.yaml"):
        assert wrong(path.read_text(encoding="utf-8")) == [], path.name


@given(mutated())
@settings(max_examples=150, deadline=None)
def test_whatever_compiles_is_valid(text: str) -> None:
    if compile_text(text).errors:
        return
    part, _ = structure(load_text(text, "spec.yaml"))
    names = {leaf.text for leaf in leaves(part) if isinstance(leaf, spec.Name)}
    if not names & {"true", "false", "null"}:  # names to the compiler, and no text to an editor
        assert wrong(text) == []


def leaves(value: object) -> list[Scalar]:
    if isinstance(value, Scalar):
        return [value]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in leaves(item)]
    kind: Any = type(value)
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    return [leaf for field in fields for leaf in leaves(getattr(value, field.name))]


def test_every_key_of_every_mapping_is_in_it_and_explained() -> None:
    classes = (
        spec.Spec, spec.Fragment, spec.UseSpec, spec.StateSpec, spec.EventSpec, spec.RowSpec, spec.AfterSpec,
        spec.BarriersSpec, spec.UnhandledSpec, spec.MigrationSpec,
    )  # fmt: skip
    definitions = [each for each in SCHEMA["$defs"].values() if "properties" in each]
    assert len(definitions) == len(classes)
    for cls in classes:
        (found,) = (each for each in definitions if set(each["properties"]) == set(spec.keys(cls)))
        assert found["additionalProperties"] is False
        assert all(re.fullmatch(r".{4,}[.]", each["description"]) for each in found["properties"].values())


@pytest.mark.parametrize(
    "change",
    [
        ("open: {}", "open: {barrier: b}"),
        ("open: {}", "open: {stop: gone, barrier: b}"),
        ("open: {}", "open: "),
        ("version: 1", 'version: "1"'),
        ("initial: true", "initial: 'true'"),
        ("from: [closed, open]", 'from: "*"'),
        ("from: [closed, open]", 'from: ["up.*", open]'),
        ("to: open", "to: open.committing"),
        ("ignore: [push, pull]", 'ignore: "*"'),
        ("machine: door", "machine: door\ninclude: a.yaml\nuse: b as c"),
        ("machine: door", "machine: door\nuse: [b, {fragment: c, as: d, with: {e: f, G: h.i}}]"),
        ("unhandled:", "checks: {W15: off, E08: error}\nunhandled:"),
        ("unhandled:", "guards: {a: , b: 12}\nunhandled:"),
    ],
)
def test_what_the_language_allows_is_valid(change: tuple[str, str]) -> None:
    assert structure(load_text(edited(DOOR, change), "spec.yaml"))[1] == ()
    assert wrong(edited(DOOR, change)) == []


@pytest.mark.parametrize(
    "change",
    [
        ("open: {}", "open: {refused: gone}"),
        ("open: {}", "open: {behind: a.b}"),
        ("open: {}", "open: {outcome: a}"),
        ("to: open", 'to: "*"'),
        ("from: [closed, open]", "from: []"),
        ("from: [closed, open]", 'from: "*.up"'),
        ("pawl: 1", "pawl: 2"),
        ("version: 1", "version: 1.5"),
        ("machine: door", "machine: Door"),
        ("machine: door", "machine: door\ninclude: a.json"),
        ("machine: door", "machine: door\nfragment: door"),
        ("machine: door", "machine: door\nuse: [b as]"),
        ("unhandled:", "checks: {E08: off}\nunhandled:"),
        ("unhandled:", "checks: {W99: off}\nunhandled:"),
    ],
)
def test_what_the_language_refuses_is_invalid(change: tuple[str, str]) -> None:
    assert wrong(edited(DOOR, change)) != []


@given(st.text(alphabet=string.ascii_letters + string.digits + "_-. \n\0~^{`", max_size=8))
@settings(max_examples=300, deadline=None)
def test_the_pattern_of_a_name_says_what_the_compiler_says(text: str) -> None:
    assert (re.fullmatch(NAME, text) is not None) is is_name(text)


@pytest.mark.parametrize("text", ["été", "状態", "состояние", "a1_é2"])
def test_the_pattern_of_a_name_takes_every_alphabet(text: str) -> None:
    assert re.fullmatch(NAME, text)
    assert is_name(text)


def test_the_text_of_the_schema_is_its_data() -> None:
    loaded: Any = json.loads(schema_text())
    assert loaded == SCHEMA
    assert schema_text().isascii()
