"""The tool decorator: what becomes a tool, and what is refused."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from pawl.runtime.agent.approval import Authorization
from pawl.runtime.agent.arguments import Parameters
from pawl.runtime.agent.containers import DictShape
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.shapes import AnyShape
from pawl.runtime.agent.tool import Tool, as_tool, make_tool, tool
from pawl.runtime.records.errors import InvalidArguments, ToolError

if TYPE_CHECKING:
    from decimal import Decimal


@tool
def refund(order_id: str, cents: int = 500, *, note: str | None = None) -> str:
    """Refund an order.

    Args:
        order_id: The order's number.
    """
    return f"{order_id}:{cents}:{note}"


def test_a_bare_tool_has_the_defaults() -> None:
    assert refund.name == "refund"
    assert refund.description == "Refund an order."
    assert refund.approval.fixed == Authorization("allow")
    assert (refund.recovery, refund.probe, refund.on_error, refund.timeout) == ("ask", None, "tell_model", None)
    assert (refund.max_result_bytes, refund.is_async) == (1 << 20, False)
    assert repr(refund) == "<tool refund>"


def test_a_tool_stays_the_function_it_was() -> None:
    assert refund("7", 5) == "7:5:None"
    assert refund.__name__ == "refund"
    assert (
        str(inspect.signature(refund)) == "(order_id: 'str', cents: 'int' = 500, *, note: 'str | None' = None) -> 'str'"
    )
    assert (refund.__doc__ or "").startswith("Refund an order.")


def test_the_schema_is_what_a_model_is_told() -> None:
    assert refund.spec.name == "refund"
    assert refund.spec.description == "Refund an order."
    assert refund.spec.parameters == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "description": "The order's number."},
            "cents": {"type": "integer", "default": 500},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["order_id"],
        "additionalProperties": False,
    }


def test_options_are_kept() -> None:
    def key_known(key: str) -> str:
        return key

    @tool(
        name="pay-out",
        description="Pay.",
        approval=True,
        recovery="probe",
        probe=key_known,
        on_error="fail",
        timeout=2,
        max_result_bytes=10,
    )
    async def pay(cents: Annotated[int, "In cents."]) -> None:
        """Ignored."""

    assert (pay.name, pay.description, pay.is_async) == ("pay-out", "Pay.", True)
    assert (pay.recovery, pay.probe, pay.on_error, pay.timeout) == ("probe", key_known, "fail", 2)
    assert pay.approval.fixed == Authorization("ask")
    assert pay.spec.parameters["properties"] == {"cents": {"type": "integer", "description": "In cents."}}
    with pytest.raises(ToolError, match="pay-out returned 11 bytes, more than the 10"):
        pay.result_text("x" * 11)


def test_options_may_be_given_with_the_function() -> None:
    made = tool(lambda: "x", name="look", approval="reject")
    assert (made.name, made(), made.approval.fixed) == ("look", "x", Authorization("reject"))


def test_types_that_only_the_function_around_knows_are_found() -> None:
    class Color(enum.Enum):
        RED = "red"

    @dataclasses.dataclass
    class Item:
        color: Color

    @tool
    def paint(item: Item) -> str:
        return item.color.name

    def plain(items: list[Item]) -> int:
        return len(items)

    assert paint.bind(paint.validate('{"item": {"color": "red"}}'), ToolContext()) == {"item": Item(Color.RED)}
    assert as_tool(plain).validate('{"items": [{"color": "red"}]}') == {"items": [{"color": "red"}]}


class Shop:
    """A class whose methods become tools."""

    Size = enum.Enum("Size", {"S": "s", "L": "l"})

    def __init__(self, stock: int) -> None:
        self.stock = stock

    def take(self, count: int) -> int:
        """Take from the stock."""
        return self.stock - count

    async def later(self, count: int) -> int:
        return self.stock - count

    @classmethod
    def make(cls, stock: int) -> int:
        return stock

    @tool
    @staticmethod
    def fold(size: Size) -> str:
        return str(size)

    def __call__(self, count: int) -> int:
        """Take, by calling."""
        return self.take(count)


class AsyncShop:
    async def __call__(self, count: int) -> int:
        return count


def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapped


@wrap
def wrapped(count: int) -> int:
    """Wrapped."""
    return count


def weigh(shop: Shop, count: int, unit: str = "kg") -> str:
    """Weigh it."""
    return f"{shop.stock * count} {unit}"


@pytest.mark.parametrize(
    ("function", "name", "description", "asynchronous"),
    [
        (Shop(9).take, "take", "Take from the stock.", False),
        (Shop(9).later, "later", "", True),
        (Shop.make, "make", "", False),
        (Shop(9), "Shop", "Take, by calling.", False),
        (AsyncShop(), "AsyncShop", "", True),
        (wrapped, "wrapped", "Wrapped.", False),
        (functools.partial(weigh, Shop(2)), "weigh", "Weigh it.", False),
        (functools.partial(weigh, shop=Shop(2)), "weigh", "Weigh it.", False),
        (functools.partial(Shop(9).later), "later", "", True),
    ],
)
def test_many_kinds_of_callables_are_tools(
    function: Callable[..., Any], name: str, description: str, asynchronous: bool
) -> None:
    made = tool(function)
    assert (made.name, made.description, made.is_async) == (name, description, asynchronous)
    assert set(made.spec.parameters["properties"]) <= {"count", "stock", "unit"}
    required = made.spec.parameters["required"][0]
    result = made(**made.bind(made.validate(f'{{"{required}": 3}}'), ToolContext()))
    result = asyncio.run(result) if asynchronous else result
    assert result in (3, 6, "6 kg")


def test_a_static_method_sees_its_class() -> None:
    assert Shop.fold.spec.parameters["properties"]["size"]["enum"] == ["s", "l"]


def test_the_context_goes_by_its_annotation_in_any_place() -> None:
    @tool
    def first(ctx: ToolContext, a: int) -> str:
        return f"{ctx.tool_call_id}{a}"

    @tool
    def last(a: int, *, where: ToolContext | None = None) -> str:
        return f"{where and where.tool_call_id}{a}"

    for made in (first, last):
        assert list(made.spec.parameters["properties"]) == ["a"]
        assert made(**made.bind({"a": 1}, ToolContext(tool_call_id="c"))) == "c1"
    assert last(2) == "None2"


def test_a_context_imported_for_type_checkers_only_is_found() -> None:
    def look(ctx, a):  # type: ignore[no-untyped-def]
        return a

    look.__annotations__ = {"ctx": "ToolContext", "a": "int"}
    assert list(eval("tool(look)", {"tool": tool, "look": look}).spec.parameters["properties"]) == ["a"]


@pytest.mark.parametrize(
    "annotation",
    ["ToolContext[Deps]", "pawl.ToolContext[Deps]", "ToolContext[Deps] | None", "ToolContext[dict[str, Deps]]"],
)
def test_a_context_whose_deps_only_type_checkers_know_is_found(annotation: str) -> None:
    def look(ctx, a):  # type: ignore[no-untyped-def]
        return a

    look.__annotations__ = {"ctx": annotation, "a": "int"}
    made = tool(look)
    assert list(made.spec.parameters["properties"]) == ["a"]
    assert made.parameters.context == "ctx"


def test_a_context_with_the_type_of_its_deps_is_found() -> None:
    @tool
    def look(a: int, ctx: ToolContext[dict[str, str]]) -> str:
        return ctx.deps["x"]

    assert list(look.spec.parameters["properties"]) == ["a"]
    assert look(**look.bind({"a": 1}, ToolContext(deps={"x": "y"}))) == "y"


def test_a_probe_with_a_second_parameter_is_given_the_context() -> None:
    def by_key(key: str) -> str:
        return "absent"

    def with_context(key: str, ctx: ToolContext) -> str:
        return "absent"

    for probe, wants in ((by_key, 1), (with_context, 2)):
        assert tool(recovery="probe", probe=probe)(weigh_nothing).probe_wants == wants
    with pytest.raises(InvalidArguments, match="tool weigh_nothing: probe: '<lambda>' takes none"):
        tool(recovery="probe", probe=lambda: "absent")(weigh_nothing)


def test_the_return_type_need_not_be_known() -> None:
    @tool
    def price(a: int) -> Decimal:
        raise NotImplementedError

    assert price.spec.parameters["required"] == ["a"]


def test_a_default_that_json_cannot_show_is_left_to_python() -> None:
    missing: Any = object()

    @tool
    def look(name: str = missing, count: int = 5) -> bool:
        return name is missing

    assert look.spec.parameters["properties"]["name"] == {"type": "string"}
    assert look.validate("") == {"count": 5}
    assert look(**look.bind({}, ToolContext())) is True


def untyped(a, b: int):  # type: ignore[no-untyped-def]
    return a


def starred(*names: str) -> None: ...


def keyed(**names: str) -> None: ...


def positional(a: int, /) -> None: ...


def twice(a: ToolContext, b: ToolContext) -> None: ...


def raw(data: bytes) -> None: ...


def many() -> Any:
    yield 1


async def many_async() -> Any:
    yield 1


def hidden(price: Decimal) -> None: ...


def nested(pair: dict[str, list[dict[int, str]]]) -> None: ...


REFUSED: list[tuple[Any, str]] = [
    (untyped, "tool untyped: parameter 'a' has no type; annotate it"),
    (Shop.take, "parameter 'self' has no value yet: a method becomes a tool when it is bound, tool(Shop(…).take)"),
    (starred, "parameter 'names' takes any number of values, which a model cannot see; take a list"),
    (keyed, "parameter 'names' takes any names, which a model cannot see; take a dict[str, …]"),
    (positional, "parameter 'a' is positional-only"),
    (twice, "tool twice: both a and b are a ToolContext; take it once"),
    (raw, "tool raw: parameter 'data': the type bytes cannot come from JSON"),
    (nested, "tool nested: parameter 'pair'{}[]: JSON objects have text as keys"),
    (many, "tool many: a generator gives its results bit by bit"),
    (many_async, "tool many_async: a generator gives its results bit by bit"),
    (functools.partial(many), "tool many: a generator"),
    (hidden, "parameter 'price': the type 'Decimal' cannot be found"),
    (lambda: 1, "'<lambda>' cannot be the name of a tool, which is 1 to 64 of the characters"),
    (Shop, "a class cannot be a tool"),
    ("refund", "a str cannot be a tool"),
    (refund, "refund is a tool already; give its function, tool(refund.function, …)"),
    (dict.update, "tool update: "),
]


@pytest.mark.parametrize(("function", "says"), REFUSED, ids=[says[:40] for _, says in REFUSED])
def test_what_a_model_cannot_call_is_refused_with_advice(function: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        tool(function)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "says"),
    [
        ("int str", "parameter 'a': 'int str' is not a type: "),
        ("enum.Nope", "parameter 'a': 'enum.Nope' is not a type: module 'enum' has no attribute 'Nope'"),
        ("Nope", "parameter 'a': the type 'Nope' cannot be found (name 'Nope' is not defined); define it before"),
        (5, "parameter 'a': the type 5 cannot come from JSON"),
        ({}, "parameter 'a': the type {} cannot come from JSON"),
    ],
)
def test_an_annotation_that_is_no_type_is_refused(annotation: Any, says: str) -> None:
    def look(a: int) -> None: ...

    look.__annotations__["a"] = annotation
    with pytest.raises(InvalidArguments) as caught:
        tool(look)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "no spaces"}, "'no spaces' cannot be the name of a tool"),
        ({"name": ""}, "'' cannot be the name of a tool"),
        ({"name": "x" * 65}, "cannot be the name of a tool"),
        ({"name": "größe"}, "cannot be the name of a tool"),
        ({"name": "look\n"}, "cannot be the name of a tool"),
        ({"name": 5}, "5 cannot be the name of a tool"),
        ({"description": 5}, "tool starred: description=5 must be text"),
        ({"recovery": "retry"}, "recovery='retry' is unknown; it is 'ask' or 'replay' or 'probe'"),
        ({"recovery": "probe"}, "recovery='probe' needs probe="),
        ({"recovery": "probe", "probe": 5}, "recovery='probe' needs probe=, a function"),
        ({"probe": len}, "probe= is used with recovery='probe' only, and recovery is 'ask'"),
        ({"on_error": "raise"}, "on_error='raise' is unknown; it is 'tell_model' or 'fail'"),
        ({"timeout": 0}, "timeout=0 must be a number of seconds above 0"),
        ({"timeout": float("nan")}, "timeout=nan must be"),
        ({"timeout": True}, "timeout=True must be"),
        ({"timeout": 10**400}, "must be a number of seconds above 0"),
        ({"timeout": 10**5000}, "timeout=a number of thousands of digits must be"),
        ({"approval_timeout": 10**400}, "must be a number of seconds above 0"),
        ({"max_result_bytes": 10**400}, "must be a whole number of bytes above 0"),
        ({"max_result_bytes": 1e308}, "max_result_bytes=1e+308 must be a whole number of bytes above 0"),
        ({"max_result_bytes": 1e-320}, "must be a whole number of bytes above 0"),
        ({"max_result_bytes": True}, "max_result_bytes=True must be"),
        ({"max_result_bytes": -1}, "max_result_bytes=-1 must be a whole number of bytes above 0"),
        ({"approval": "maybe"}, "tool starred: approval='maybe' is unknown"),
        ({"approval": None}, "approval=None is unknown; give False or 'allow', True or 'ask', 'reject'"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any], says: str) -> None:
    def starred() -> None: ...

    with pytest.raises(InvalidArguments) as caught:
        tool(**options)(starred)
    assert says in str(caught.value)


def test_a_misspelt_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="aproval"):
        tool(aproval=True)  # type: ignore[call-overload]


def test_a_plain_function_is_wrapped_and_a_tool_is_not() -> None:
    assert as_tool(refund) is refund
    assert isinstance(as_tool(weigh_nothing), Tool)
    with pytest.raises(InvalidArguments, match="a int cannot be a tool"):
        as_tool(5)


def weigh_nothing() -> None: ...


def test_a_tool_may_be_made_from_parameters_alone() -> None:
    made = make_tool(lambda **given: given, Parameters("any", DictShape(AnyShape()), "ctx"), approval="ask")
    ctx = ToolContext()
    assert made.spec.parameters == {"type": "object", "additionalProperties": True}
    assert made(**made.bind(made.validate('{"a": [1]}'), ctx)) == {"a": [1], "ctx": ctx}
