"""What people and applications say, when it is megabytes: refused in few words, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from growth import is_linear
from pawl import (
    Agent,
    AgentNotFound,
    Block,
    Blocked,
    Decision,
    ExecutionNotFound,
    Failed,
    InvalidArguments,
    Rejected,
    Rest,
    StaleRequest,
    Suspended,
    ToolError,
    Verdict,
    call,
    scripted,
    sync,
    tool,
)
from pawl.runtime.agent.bounds import Bounds
from pawl.runtime.agent.mismatch import Mismatch

BOOK = "x" * (1 << 20)
SHELF = BOOK * 8 + "x"


@tool(approval=True)
def refund(a: Any) -> str:
    """Refund."""
    return "done"


AGENT = Agent(name="a", model=scripted([call("refund", a=1)]), tools=[refund])

Deed = Callable[[sync.Runtime, str, str], object]


def decided(edit: Any) -> Deed:
    return lambda runtime, execution, request: runtime.decide(
        request, items={"c1": Decision("c1", Verdict.APPROVED, edit=edit)}
    )


DEEDS: list[tuple[Deed, type[Exception], str]] = [
    (lambda r, e, q: r.start(AGENT, SHELF), InvalidArguments, "the input has 8388609 bytes, more than 8388608"),
    (lambda r, e, q: r.start(AGENT, "go", id=BOOK), InvalidArguments, "cannot be a start's id; give printable text"),
    (
        lambda r, e, q: r.start(AGENT, "go", durable_context={"a": BOOK}),
        InvalidArguments,
        "durable_context, as JSON, has 1048584 bytes, more than 1048576",
    ),
    (
        lambda r, e, q: r.start(AGENT, "go", durable_context={"a": [0] * 10_000}),
        InvalidArguments,
        "the values of durable_context hold more than 10000 values; give less at once",
    ),
    (lambda r, e, q: r.open(AGENT, BOOK), InvalidArguments, "cannot be an agent's id; give printable text"),
    (lambda r, e, q: r.purge(BOOK), AgentNotFound, "there is no agent 'xxx"),
    (lambda r, e, q: r.execution(BOOK), ExecutionNotFound, "there is no execution 'xxx"),
    (lambda r, e, q: r.cancel(BOOK), ExecutionNotFound, "there is no execution 'xxx"),
    (lambda r, e, q: r.decide(BOOK, approve=True), StaleRequest, "there is no pending request 'xxx"),
    (
        lambda r, e, q: r.decide(q, approve=False, message=BOOK),
        InvalidArguments,
        "the message about item 'c1' has 1048576 bytes, more than 65536",
    ),
    (
        lambda r, e, q: r.decide(q, items=dict.fromkeys(map(str, range(257)), True)),
        InvalidArguments,
        "items= has 257 items, more than the 256 that any request has",
    ),
    (lambda r, e, q: r.decide(q, items={BOOK: True}), InvalidArguments, "has no item 'xxx"),
    (lambda r, e, q: r.decide(q, items={BOOK: None}), InvalidArguments, "is decided with True, False or a Decision"),  # type: ignore[dict-item]
    (decided({"a": SHELF}), InvalidArguments, "the edited arguments of item 'c1' are more than 8388608 bytes"),
    (decided({"a": [0] * 100_000}), InvalidArguments, "the edited arguments of item 'c1' hold more than 100000 values"),
    (
        decided({"a": [0] * 10_000}),
        InvalidArguments,
        "invalid arguments for refund: the arguments hold more than 10000",
    ),
    (
        lambda r, e, q: r.resolve(e, "c1", "succeeded", result=SHELF),
        InvalidArguments,
        "result= has 8388609 bytes, more than 8388608",
    ),
    (lambda r, e, q: r.resolve(e, "c1", "failed", error=BOOK), InvalidArguments, "error= has 1048576 bytes, more"),
    (lambda r, e, q: r.resolve(e, BOOK, "not_performed"), InvalidArguments, "subject= has 1048576 bytes, more than"),
]


@pytest.mark.parametrize("at", range(len(DEEDS)))
def test_too_long_it_is_refused_in_few_words(at: int) -> None:
    deed, kind, says = DEEDS[at]
    with sync.Runtime("memory://", agents=[AGENT]) as runtime:
        rest = runtime.run(AGENT, "go", id="one")
        assert isinstance(rest, Suspended)
        before = runtime.executions()
        with pytest.raises(kind) as caught:
            deed(runtime, rest.execution_id, rest.request.id)
        assert says in str(caught.value)
        assert len(str(caught.value)) < 400
        assert runtime.executions() == before


def ended(agent: Agent) -> Rest:
    with sync.Runtime("memory://", agents=[agent]) as runtime:
        return runtime.run(agent, "go")


def test_what_filters_make_is_no_longer_than_any_answer() -> None:
    end = ended(Agent(name="a", model=scripted(["hi"]), output_filters=[lambda text: SHELF]))
    assert isinstance(end, Failed)
    assert "it returned 8388609 bytes, more than 8388608" in end.error.message


def test_reasons_are_cut_off_with_their_length() -> None:
    @tool(approval=lambda query: ("reject", BOOK))
    def send(a: Any) -> str:
        """Send."""
        return ""

    blocked = ended(Agent(name="a", model=scripted(["hi"]), output_filters=[lambda text: Block(BOOK)]))
    rejected = ended(Agent(name="a", model=scripted([call("send", a=1)]), tools=[send]))
    assert isinstance(blocked, Blocked)
    assert isinstance(rejected, Rejected)
    for said in (blocked.error.message, rejected.reason):
        assert said.endswith("x… (1048576 characters)")
        assert len(said) < 10_100


def test_a_key_of_a_result_is_in_no_place_whole() -> None:
    with pytest.raises(ToolError) as caught:
        refund.result_text({BOOK[:1000]: {"a": object()}})
    assert f" at {'x' * 60}.a, which" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"a": [1, 2, "xxx"]}, True),
        ({"a": [1, 2, 3, 4]}, False),
        ({"a": "x" * 10}, False),
        ({"x" * 11: 1}, False),
        ([[[[[[]]]]]], False),
        ("x" * 10, True),
    ],
)
def test_an_edit_is_measured_without_being_read(value: Any, fits: bool) -> None:
    bounds = Bounds(bytes=10, values=5)
    if fits:
        bounds.check(value, "it")
    else:
        with pytest.raises(Mismatch, match="; give less at once"):
            bounds.check(value, "it")


def test_an_edit_that_contains_itself_has_too_many_values() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(Mismatch, match="it hold more than 100 values"):
        Bounds(values=100).check(value, "it")
    assert is_linear(lambda n: lambda: Bounds(values=10**6).check({"a": [0] * n}, "it"))
