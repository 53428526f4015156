"""Hooks before a model request, instructions and knowledge that are made for it: what the model is asked in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pawl import (
    Agent,
    Cancelled,
    Completed,
    Failed,
    HookQuery,
    InstructionQuery,
    InvalidArguments,
    Knowledge,
    Message,
    ModelAnswer,
    ModelError,
    ModelRequest,
    RequestPatch,
    Rest,
    Retries,
    ToolCall,
    Usage,
    call,
    scripted,
    sync,
    tool,
)
from pawl.runtime.simulation.world import World


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def forget() -> str:
    """Forget."""
    return "forgotten"


def adder(**options: Any) -> Agent:
    script = [ModelAnswer("", (ToolCall("c1", "add", '{"a":1,"b":2}'),), Usage(10, 2)), "three", "and?"]
    return Agent(name="a", model=scripted(script), tools=[add, forget], **options)


def asked(agent: Agent, *, texts: tuple[str, ...] = ("hello",), **options: Any) -> tuple[Rest, list[ModelRequest]]:
    """What the last of some runs came to, and all requests."""
    with World(agent, **options) as world:
        process = world.open()
        for text in texts:
            rest = process.do(process.runtime.run(agent, text, agent_id="x"))
        return rest, world.witness.requests


def said(request: ModelRequest) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in request.messages]


def test_hooks_are_asked_in_order_each_with_what_the_ones_before_it_made_of_the_request() -> None:
    seen: list[tuple[str, int, str, tuple[str, ...], int]] = []

    def hook(name: str, **patch: Any) -> Callable[[HookQuery], RequestPatch]:
        def asked(query: HookQuery) -> RequestPatch:
            tools = tuple(spec.name for spec in query.tools)
            seen.append((name, query.sequence, query.instructions, tools, len(query.messages)))
            return RequestPatch(**patch)

        return asked

    agent = adder(instructions="Be kind.", before_llm=[hook("class", add_instructions="Be quick.")])
    with World(agent, before_llm=[hook("global", before=[Message("system", "first")], tools=["add"])]) as world:
        process = world.open()
        handle = process.do(process.runtime.open(agent, "x"))
        handle.before_llm(
            hook("agent", instructions="Be cross.", after=Message("user", "last"), tools=["forget", "add"])
        )
        assert isinstance(process.do(handle.run("hello")), Completed)
        first, second = world.witness.requests
    assert seen[:3] == [
        ("global", 1, "Be kind.", ("add", "forget"), 1),
        ("class", 1, "Be kind.", ("add",), 2),
        ("agent", 1, "Be kind.\n\nBe quick.", ("add",), 2),
    ]
    assert [name for name, sequence, *_ in seen[3:] if sequence == 2] == ["global", "class", "agent"]
    assert first.instructions == second.instructions == "Be cross.\n\nBe quick."
    assert [spec.name for spec in first.tools] == ["add"]
    assert said(first) == [("system", "first"), ("user", "hello"), ("user", "last")]
    assert said(second)[0] == ("system", "first")
    assert [role for role, _ in said(second)] == ["system", "user", "assistant", "tool", "user"]


def test_a_patch_is_for_its_request_alone() -> None:
    def once(query: HookQuery) -> RequestPatch | None:
        return RequestPatch(before=[Message("system", "now")], tools=[]) if query.sequence == 1 else None

    _, (first, second, third) = asked(adder(before_llm=[once]), texts=("hello", "again"))
    assert said(first)[0] == said(third)[0] == ("system", "now")
    assert first.tools == ()
    assert len(second.tools) == 2
    assert said(third)[1:] == [
        ("user", "hello"),
        ("assistant", ""),
        ("tool", "3"),
        ("assistant", "three"),
        ("user", "again"),
    ]


def test_a_hook_is_told_of_the_run_and_can_change_nothing_in_it() -> None:
    queries: list[HookQuery] = []

    async def look(query: HookQuery) -> None:
        queries.append(query)
        await asyncio.sleep(1)

    agent = adder(before_llm=[look], version=2)
    with World(agent, deps="database") as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "hello", agent_id="x", durable_context={"user": [7]}))
    first, second = queries
    assert (first.agent_id, first.definition, first.version, first.execution_id) == ("x", "a", 2, rest.execution_id)
    assert (first.sequence, first.usage, second.sequence, second.usage) == (1, Usage(), 2, Usage(10, 2))
    assert (first.deps, first.durable_context) == ("database", {"user": [7]})
    assert [message.role for message in first.messages] == ["user"]  # as it was, though the run has gone on
    assert not hasattr(first.messages, "append")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        first.instructions = "x"  # type: ignore[misc]
    with pytest.raises(TypeError, match="frozen"):
        first.durable_context["user"].append(8)


def test_a_removed_hook_is_asked_no_more_not_even_in_the_run_that_goes_on() -> None:
    calls: list[int] = []

    def once(query: HookQuery) -> None:
        calls.append(query.sequence)
        remove()

    agent = adder()
    with World(agent) as world:
        process = world.open()
        handle = process.do(process.runtime.open(agent, "x"))
        remove = handle.before_llm(once)
        assert isinstance(process.do(handle.run("hello")), Completed)
        assert isinstance(process.do(handle.run("hello")), Completed)
        remove()
        assert len(world.witness.requests) == 3
    assert calls == [1]


def test_a_hook_of_one_logical_agent_is_not_asked_about_another() -> None:
    agents: list[str] = []
    agent = adder()
    with World(agent) as world:
        process = world.open()
        mine, other = (process.do(process.runtime.open(agent, name)) for name in ("x", "y"))
        mine.before_llm(lambda query: agents.append(query.agent_id))
        process.do(mine.run("hello"))
        process.do(other.run("hello"))
    assert agents == ["x", "x"]


def test_the_hooks_of_a_purged_agent_are_not_those_of_the_next_one_of_its_name() -> None:
    asked: list[str] = []
    agent = adder()
    with World(agent) as world:
        process = world.open()
        handle = process.do(process.runtime.open(agent, "x"))
        handle.before_llm(lambda query: asked.append(query.agent_id))
        process.do(process.runtime.purge("x"))
        assert isinstance(process.do(process.runtime.run(agent, "hello", agent_id="x")), Completed)
    assert asked == []


def test_a_retried_request_is_the_same_request() -> None:
    numbers = iter(range(100))
    script = [ModelError("busy", retry_safe=True), "fine"]
    agent = Agent(
        name="a",
        model=scripted(script),
        before_llm=[lambda query: RequestPatch(add_instructions=f"number {next(numbers)}")],
        retries=Retries(attempts=3),
    )
    rest, (first, second) = asked(agent)
    assert isinstance(rest, Completed)
    assert first.call_id != second.call_id
    assert first.instructions == second.instructions == "number 0"


CALL = Message("assistant", "", (ToolCall("c9", "add", "{}"),))
PATCHES = [
    (lambda: "be kind", "TypeError", "it returned str 'be kind'; return a RequestPatch, or None"),
    (lambda: RequestPatch(tools=["sub"]), "ValueError", "its patch keeps the tool 'sub', which is not offered here"),
    (lambda: RequestPatch(tools="add"), "TypeError", "a patch's tools are a list of names, not 'add'"),
    (lambda: RequestPatch(before="x"), "TypeError", "a patch's messages are Message values, not 'x'"),
    (lambda: RequestPatch(before=["x"]), "TypeError", "its patch has str as before[0], not a Message"),
    (
        lambda: RequestPatch(after=[Message("boss", "x")]),
        "ValueError",
        "its patch has a after[0] that is no proper message",
    ),
    (lambda: RequestPatch(after=[Message("user", "\ud800")]), "ValueError", "its patch has a after[0]"),
    (
        lambda: RequestPatch(before=[CALL]),
        "ValueError",
        "no provider would take its patch's `before`: the results of c9 are",
    ),
    (lambda: RequestPatch(after=[Message("tool", "3", tool_call_id="c9")]), "ValueError", "no provider would take"),
    (lambda: RequestPatch(instructions=7), "TypeError", "its patch has instructions that are a int, not text"),
    (lambda: RequestPatch(add_instructions=None), "TypeError", "its patch has add_instructions that are a NoneType"),
    (
        lambda: RequestPatch(add_instructions="\ud800"),
        "ValueError",
        "its patch has add_instructions that are no Unicode",
    ),
    (lambda: 1 // 0, "ZeroDivisionError", "integer division"),
]


@pytest.mark.parametrize(("make", "type_", "message"), PATCHES)
def test_a_hook_that_gives_no_proper_patch_fails_the_run_before_the_call(
    make: Callable[[], Any], type_: str, message: str
) -> None:
    def hook(query: HookQuery) -> Any:
        return make()

    rest, requests = asked(adder(before_llm=[hook]))
    assert isinstance(rest, Failed)
    assert rest.error.type == type_
    assert rest.error.message.startswith(f"before_llm hook 'hook': {message}")
    assert requests == []


def test_an_example_of_a_call_with_its_result_may_stand_before_the_conversation() -> None:
    example = [Message("user", "1 and 1?"), CALL, Message("tool", "2", tool_call_id="c9"), Message("assistant", "2")]
    rest, requests = asked(adder(before_llm=[lambda query: RequestPatch(before=example)]))
    assert isinstance(rest, Completed)
    assert requests[0].messages[1] == CALL
    assert requests[0].messages[-1] == Message("user", "hello")


def test_a_run_is_cancelled_in_the_middle_of_a_hook_and_a_hook_that_hangs_fails_it() -> None:
    async def hangs(query: HookQuery) -> None:
        await asyncio.get_running_loop().create_future()

    agent = adder(before_llm=[hangs], preparation_timeout=7)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "hello"))
        world.settle()
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution.terminal()), Cancelled)
        rest = process.do(process.runtime.run(agent, "hello"))
        assert isinstance(rest, Failed)
        assert rest.error.type == "PreparationTimeout"
        assert world.witness.requests == []


def test_a_hook_that_is_none_is_refused_where_it_is_given() -> None:
    with pytest.raises(InvalidArguments, match=r"^agent a: before_llm\[0\]: '<lambda>' takes none, and is given 1"):
        adder(before_llm=[lambda: None])
    with pytest.raises(InvalidArguments, match=r"^Runtime: before_llm\[0\]: 7 is no before_llm hook"):
        sync.Runtime("memory://", before_llm=[7])  # type: ignore[list-item]
    agent = adder()
    with sync.Runtime("memory://", agents=[agent]) as runtime:
        handle = runtime.open(agent, "x")
        with pytest.raises(InvalidArguments, match=r"^agent x: before_llm: 'hook' is no before_llm hook"):
            handle.before_llm("hook")  # type: ignore[arg-type]


def test_blocking_programs_have_hooks_too() -> None:
    agent = adder()
    with sync.Runtime(
        "memory://", agents=[agent], before_llm=[lambda query: RequestPatch(instructions="all")]
    ) as runtime:
        handle = runtime.open(agent, "x")
        remove = handle.before_llm(lambda query: RequestPatch(add_instructions="one"))
        assert isinstance(handle.run("hello"), Completed)
        remove()
        assert isinstance(handle.run("again"), Completed)
    assert isinstance(agent.model, type(scripted(["x"])))
    assert [request.instructions for request in agent.model.requests] == ["all\n\none", "all\n\none", "all"]


# instructions and knowledge -------------------------------------------------------------------------------------


def test_instructions_and_knowledge_are_made_for_each_request_in_order() -> None:
    async def profile(query: InstructionQuery) -> str:
        await asyncio.sleep(1)
        return f"request {query.sequence} of {query.agent_id}, {query.usage.input} tokens, {query.deps}"

    agent = adder(
        instructions=lambda: "Be kind.",
        knowledge=["Fact one.", Knowledge("Profile", profile), Knowledge("Empty", lambda: None), lambda query: ""],
    )
    _, requests = asked(agent, deps="db")
    assert [request.instructions for request in requests] == [
        f"Be kind.\n\nFact one.\n\n# Profile\n\nrequest {n} of x, {tokens} tokens, db"
        for n, tokens in ((1, 0), (2, 10))
    ]


def test_fixed_knowledge_needs_no_work_and_hooks_see_it() -> None:
    agent = adder(instructions="Be kind.", knowledge=["One.", Knowledge("Two", "Three.")])
    assert not agent.callbacks.prepares
    _, requests = asked(agent)
    assert requests[0].instructions == "Be kind.\n\nOne.\n\n# Two\n\nThree."
    seen: list[str] = []
    asked(attrs.evolve(agent, before_llm=[lambda query: seen.append(query.instructions)]))
    assert seen[0] == requests[0].instructions


def test_only_the_instructions_are_replaced_the_knowledge_stays() -> None:
    agent = adder(instructions="Be kind.", knowledge=["One."])
    _, requests = asked(agent, before_llm=[lambda query: RequestPatch(instructions="Be cross.")])
    assert requests[0].instructions == "Be cross.\n\nOne."


BROKEN = [
    ({"instructions": lambda: 7}, "instruction function '<lambda>': it returned int 7; return text"),
    ({"knowledge": [lambda: "\ud800"]}, "knowledge function '<lambda>': it returned no Unicode text"),
    ({"knowledge": [Knowledge("T", lambda: str(1 // 0))]}, "knowledge function '<lambda>': integer division"),
]


@pytest.mark.parametrize(("options", "message"), BROKEN)
def test_instructions_that_cannot_be_made_fail_the_run(options: dict[str, Any], message: str) -> None:
    rest, requests = asked(adder(**options))
    assert isinstance(rest, Failed)
    assert rest.error.message.startswith(message)
    assert requests == []


REFUSED = [
    ({"instructions": lambda a, b: ""}, "agent a: instructions: '<lambda>' takes 2 arguments, and is given 0 or 1"),
    ({"knowledge": "text"}, "agent a: knowledge='text' must be a list; put it in brackets: ['text']"),
    ({"knowledge": [7]}, "agent a: knowledge[0] is a int, and must be text, or a function that makes it"),
    ({"knowledge": ["\ud800"]}, "agent a: knowledge[0] is not Unicode text"),
    ({"knowledge": [Knowledge("a\nb", "x")]}, "agent a: knowledge[0]: the title 'a\\nb' must be one line of text"),
    ({"instructions": b"x"}, "agent a: instructions are a bytes, and must be text"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_cannot_be_instructions_is_refused_where_it_is_given(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as error:
        adder(**options)
    assert str(error.value).startswith(message)


def test_a_call_of_a_hidden_tool_is_run_because_hiding_is_no_permission() -> None:
    agent = Agent(name="a", model=scripted([call("add", a=1, b=2), "three"]), tools=[add])
    rest, requests = asked(agent, before_llm=[lambda query: RequestPatch(tools=())])
    assert isinstance(rest, Completed)
    assert said(requests[1])[-1] == ("tool", "3")
