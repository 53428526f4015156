"""Types that say more than a kind: constraints, types that contain themselves, generic classes, tagged unions."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

import attrs
import pytest
from typing_extensions import TypeAliasType

from pawl import tool
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.mismatch import Mismatch
from pawl.runtime.agent.schema import Scope, schema_of, shape_of
from pawl.runtime.records.errors import InvalidArguments

T = TypeVar("T")


@attrs.frozen
class Ge:
    """As the marks of `annotated_types` look."""

    ge: Any


@attrs.frozen
class Length:
    min_length: int


@attrs.frozen
class Between:
    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None


@attrs.frozen
class Step:
    multiple_of: float


@attrs.frozen
class Pattern:
    pattern: str


@attrs.frozen
class Info:
    """As pydantic's `Field` looks."""

    metadata: list[Any]
    description: str | None = None


@dataclasses.dataclass
class Node:
    child: Node | None = None


@dataclasses.dataclass
class Box(Generic[T]):
    value: T


class Cat(TypedDict):
    kind: Literal["cat"]
    lives: Annotated[int, Between(ge=0, le=9)]


@attrs.frozen
class Dog:
    kind: Annotated[Literal["dog"], "What it is."]
    name: str


Tree = TypeAliasType("Tree", "list[Tree] | int")  # type: ignore[misc]  # a type checker wants it without quotes
Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))  # type: ignore[misc]  # as `type Pair[T] = …`
INTEGERS = {"type": "array", "items": {"type": "integer"}}


def label(*parts: Any) -> str:
    return "-".join(str(part)[:60] for part in parts)


NODE = {
    "type": "object",
    "properties": {"child": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None}},
    "additionalProperties": False,
}
SCHEMAS: list[tuple[Any, dict[str, Any]]] = [
    (Annotated[int, Between(gt=0, le=5)], {"type": "integer", "exclusiveMinimum": 0, "maximum": 5}),
    (Annotated[float, Between(ge=0, lt=5)], {"type": "number", "minimum": 0, "exclusiveMaximum": 5}),
    (Annotated[float, Step(0.5), "Halves."], {"type": "number", "multipleOf": 0.5, "description": "Halves."}),
    (Annotated[int, Info([Ge(1)], "Some.")], {"type": "integer", "minimum": 1, "description": "Some."}),
    (Annotated[str, Length(2), Pattern("^a")], {"type": "string", "minLength": 2, "pattern": "^a"}),
    (Annotated[list[int], Length(2)], {**INTEGERS, "minItems": 2}),
    (Annotated[list[int], Length(0)], INTEGERS),
    (Annotated[dict[str, Any], Length(1)], {"type": "object", "additionalProperties": True, "minProperties": 1}),
    (
        Box[int],
        {
            "type": "object",
            "properties": {"value": {"type": "integer"}},
            "required": ["value"],
            "additionalProperties": False,
        },
    ),
    (Node, {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}),
    (list[Node], {"type": "array", "items": {"$ref": "#/$defs/Node"}, "$defs": {"Node": NODE}}),
    (
        Tree,
        {
            "$ref": "#/$defs/Tree",
            "$defs": {"Tree": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Tree"}}, {"type": "integer"}]}},
        },
    ),
]


@pytest.mark.parametrize(("hint", "expected"), SCHEMAS, ids=[label(hint) for hint, _ in SCHEMAS])
def test_the_schema_of(hint: Any, expected: dict[str, Any]) -> None:
    assert schema_of(shape_of(hint, Scope("x"))) == expected


READS: list[tuple[Any, Any, Any]] = [
    (Node, {"child": {"child": None}}, Node(Node())),
    (Tree, [1, [2, [3]]], [1, [2, [3]]]),
    (Box[Box[int]], {"value": {"value": 5.0}}, Box(Box(5))),
    (Pair[int], [1, 2.0], (1, 2)),
    (list[Pair[Box[str]]], [[{"value": "a"}, {"value": "b"}]], [(Box("a"), Box("b"))]),
    (Cat | Dog, {"kind": "dog", "name": "a"}, Dog("dog", "a")),
    (Annotated[int, Between(gt=0, le=5)], 5.0, 5),
    (Annotated[float, Step(0.1)], 0.3, 0.3),
    (Annotated[str, Pattern("a+")], "baab", "baab"),
]


@pytest.mark.parametrize(("hint", "value", "expected"), READS, ids=[label(hint, value) for hint, value, _ in READS])
def test_a_value_becomes_what_the_type_says(hint: Any, value: Any, expected: Any) -> None:
    made = shape_of(hint, Scope("x")).read(value, "x")[1]
    assert made == expected
    assert type(made) is type(expected)


PROBLEMS: list[tuple[Any, Any, str]] = [
    (Annotated[int, Between(gt=0, le=5)], 0, "x: expected an integer, above 0, got the number 0"),
    (Annotated[int, Between(gt=0, le=5)], "1", 'x: expected an integer, got the text "1"'),
    (Annotated[float, Between(ge=0, lt=5)], 5, "x: expected a number, below 5, got the number 5"),
    (Annotated[float, Step(0.5)], 0.7, "x: expected a number, a multiple of 0.5, got the number 0.7"),
    (Annotated[float, Step(0.1)], 1e308, "x: expected a number, a multiple of 0.1, got the number 1e+308"),
    (Annotated[int, Step(3)], 4, "x: expected an integer, a multiple of 3, got the number 4"),
    (Annotated[str, Length(1)], "", 'x: expected text, at least 1 character, got the text ""'),
    (Annotated[list[int], Length(2)], [1], "x: expected a list, at least 2 items, got a list of 1"),
    (Annotated[str, Pattern("^a$")], "b", 'x: expected text, matching ^a$, got the text "b"'),
    (Annotated[int, Ge(1)] | None, 0, "x: expected an integer, at least 1 or null, got the number 0"),
    (Node, {"child": {"child": 5}}, "x.child.child: expected a Node or null, got the number 5"),
    (Tree, [1, ["a"]], 'x[1][0]: expected a list or an integer, got the text "a"'),
    (Cat | Dog, {"kind": "cat", "lives": 10}, "x.lives: expected an integer, at most 9, got the number 10"),
    (Cat | Dog, {"kind": "dog", "a": 1}, "x: no field 'a'; known are kind, name; x.name: missing; expected text"),
    (Cat | Dog, {"kind": "cow"}, 'x.kind: expected one of "cat", "dog", got the text "cow"'),
    (Cat | Dog | None, {"name": "a"}, 'x.kind: expected one of "cat", "dog", missing'),
    (Cat | Dog, 5, "x: expected an object with kind, lives or an object with kind, name, got the number 5"),
]


@pytest.mark.parametrize(
    ("hint", "value", "problem"), PROBLEMS, ids=[label(hint, value) for hint, value, _ in PROBLEMS]
)
def test_what_does_not_fit_is_named_with_its_place(hint: Any, value: Any, problem: str) -> None:
    with pytest.raises(Mismatch) as caught:
        shape_of(hint, Scope("x")).read(value, "x")
    assert str(caught.value) == problem


REFUSED: list[tuple[Any, str]] = [
    (Annotated[bool, Ge(1)], "x: the constraint ge=1 does not fit true or false; remove it"),
    (Annotated[int, Length(1)], "x: the constraint min_length=1 does not fit an integer; remove it"),
    (Annotated[int, Pattern("a")], "x: the constraint pattern='a' does not fit an integer; remove it"),
    (Annotated[Node, Length(1)], "x: the constraint min_length=1 does not fit a Node; remove it"),
    (Annotated[int, Ge("a")], "x: ge='a' must be a number"),
    (Annotated[float, Ge(float("nan"))], "x: ge=nan must be a number"),
    (Annotated[int, Step(0)], "x: multiple_of=0 must be above 0"),
    (Annotated[str, Length(-1)], "x: min_length=-1 must be a whole number"),
    (Annotated[str, Pattern("(")], "x: the pattern '(' is no regular expression: missing ), unterminated subpattern"),
]


@pytest.mark.parametrize(("hint", "says"), REFUSED, ids=[label(hint) for hint, _ in REFUSED])
def test_a_constraint_that_makes_no_sense_is_refused_with_advice(hint: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        shape_of(hint, Scope("x"))
    assert says in str(caught.value)


def test_two_parameters_of_one_recursive_type_share_its_definition() -> None:
    @tool
    def graft(on: Node, what: Node | None = None) -> int:
        return 0

    assert graft.spec.parameters["properties"] == {
        "on": {"$ref": "#/$defs/Node"},
        "what": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None},
    }
    assert graft.spec.parameters["$defs"] == {"Node": NODE}
    assert graft.bind(graft.validate('{"on": {"child": {}}}'), ToolContext()) == {"on": Node(Node()), "what": None}


def test_two_recursive_types_of_one_name_have_two_definitions() -> None:
    first = Node

    def other() -> type[Any]:
        @dataclasses.dataclass
        class Node:
            next: list[Node]

        return Node

    second = other()

    def graft(a, b):  # type: ignore[no-untyped-def]
        return 0

    graft.__annotations__ = {"a": first, "b": list[second]}  # type: ignore[valid-type]
    second.__annotations__ = {"next": list[second]}  # type: ignore[valid-type]
    assert sorted(tool(graft).spec.parameters["$defs"]) == ["Node", "Node_2"]


def test_deep_nesting_ends_where_arguments_do() -> None:
    @tool
    def count(tree: Tree) -> int:
        return 0

    assert count.validate(f'{{"tree": {"[" * 60}1{"]" * 60}}}')
    with pytest.raises(InvalidArguments, match="nested deeper than 64 levels"):
        count.validate(f'{{"tree": {"[" * 70}1{"]" * 70}}}')
