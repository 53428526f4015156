"""Tools as people write them: whatever a body returns, raises or does, the run comes to an end that says so."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from typing import Any

import attrs
import pytest

from app.bodies import agent, said_by, said_of
from pawl import (
    Agent,
    AgentBusy,
    Cancelled,
    Completed,
    Failed,
    Found,
    Runtime,
    Suspended,
    ToolContext,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.loop.environment import AsyncioEnvironment
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World

# what is raised ---------------------------------------------------------------------------------------------------


class Unspeakable(Exception):
    """Even its text is the end of something."""

    def __str__(self) -> str:
        raise SystemExit("no text")


class Worded(str):
    """Text that cannot be written."""

    __slots__ = ()

    def encode(self, *_: object, **__: object) -> bytes:
        raise ValueError("no bytes")


class Strange(Exception):
    """Its text is of a kind of its own."""

    def __str__(self) -> str:
        return Worded("a strange kind of text")


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


def recurse() -> int:
    return 1 + recurse()


def raising(error: BaseException) -> Any:
    def body() -> str:
        raise error

    return body


class Odd(BaseException):
    pass


RAISED: list[tuple[Any, str]] = [
    (raising(ValueError("no")), "error: no"),
    (raising(ValueError()), "error: ValueError"),
    (raising(Unspeakable()), "error: the error cannot be shown: its __str__ raises"),
    (raising(Strange()), "error: a strange kind of text"),
    (raising(HostileError()), "error: the error cannot be shown: its __str__ raises"),
    (raising(SystemExit(3)), "error: 3"),
    (raising(KeyboardInterrupt()), "error: KeyboardInterrupt"),
    (raising(Odd("odd")), "error: odd"),
    (raising(GeneratorExit()), "error: GeneratorExit"),
    (raising(StopIteration(5)), "error: 5"),
    (raising(asyncio.CancelledError()), "error: CancelledError"),
    (raising(ExceptionGroup("two", [ValueError("a"), ValueError("b")])), "error: two (2 sub-exceptions)"),
    (raising(ValueError("\ud800")), "error: \\ud800"),
    (recurse, "error: maximum recursion depth exceeded"),
]


@pytest.mark.parametrize(("body", "says"), RAISED, ids=[says for _, says in RAISED])
def test_whatever_a_blocking_body_raises_is_its_outcome(body: Any, says: str) -> None:
    assert said_of(body).startswith(says)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit("no"), Odd("no"), asyncio.CancelledError("no")])
def test_whatever_an_async_body_raises_is_its_outcome(error: BaseException) -> None:
    async def body() -> str:
        raise error

    assert said_of(body) == "error: no"


def test_a_failure_that_is_not_told_to_the_model_ends_the_run() -> None:
    one = agent(tool(name="body", on_error="fail")(raising(SystemExit("gone"))))

    async def main() -> Any:
        async with Runtime("memory://", [one]) as runtime:
            return await runtime.run(one, "go")

    end = asyncio.run(main())
    assert isinstance(end, Failed)
    assert (end.error.type, end.error.message) == ("ToolError", "body: SystemExit: gone")


# what is done -----------------------------------------------------------------------------------------------------


def test_a_thread_that_outlives_its_tool_changes_nothing() -> None:
    release, ended = threading.Event(), threading.Event()

    def work(ctx: ToolContext) -> None:
        release.wait(10)
        ended.set()

    def body(ctx: ToolContext) -> str:
        threading.Thread(target=work, args=(ctx,), daemon=True).start()
        return "started"

    assert said_of(body) == "started"
    release.set()
    assert ended.wait(10)


def test_a_body_that_changes_its_arguments_changes_nothing_on_record() -> None:
    def body(items: list[dict[str, int]]) -> str:
        items[0]["a"] = 99
        items.clear()
        return "changed"

    one = agent(body, script=[call("body", items=[{"a": 1}]), "done"])
    with World(one) as world:
        process = world.open()
        end = process.do(process.runtime.run(one, "go"))
        (row,) = world.rows(end.execution_id)
        assert row.arguments == {"items": [{"a": 1}]}


def test_bodies_that_block_every_thread_keep_the_others_waiting_and_nothing_else() -> None:
    gate, order = threading.Event(), list[str]()

    @tool
    def block() -> str:
        gate.wait(10)
        order.append("block")
        return "unblocked"

    @tool
    def quick() -> str:
        order.append("quick")
        return "quick"

    @tool
    async def free() -> str:
        order.append("free")
        gate.set()
        return "free"

    one = agent(block, quick, free, script=[calls(call("block"), call("quick"), call("free")), "done"])
    assert said_by(one, workers=1) == ["unblocked", "quick", "free"]
    assert order == ["free", "block", "quick"]


def test_bodies_that_block_every_thread_keep_nobody_from_what_is_on_record() -> None:
    gate, entered = threading.Event(), threading.Event()

    @tool
    def block() -> str:
        entered.set()
        gate.wait(30)
        return "unblocked"

    @tool(approval=True)
    async def pay() -> str:
        return "paid"

    async def run() -> list[Any]:
        blocker = agent(block, script=[call("block"), "done"])
        payer = Agent(name="payer", model=scripted([call("pay"), "paid", "again"]), tools=[pay])
        environment = AsyncioEnvironment(workers=1)
        async with Runtime("memory://", [blocker, payer], environment=environment) as runtime:
            try:
                held = await runtime.start(blocker, "go")
                await asyncio.to_thread(entered.wait)
                rest = await runtime.run(payer, "go")
                assert isinstance(rest, Suspended)
                seen = [await runtime.decide(rest.request.id, approve=True), await runtime.run(payer, "more")]
                assert len(await runtime.executions()) == 3
                assert await runtime.result(held.id) is None
            finally:
                gate.set()
            return [*seen, await held]

    assert [type(rest) for rest in asyncio.run(asyncio.wait_for(run(), 30))] == [Completed] * 3


def test_a_call_that_finds_too_much_waiting_has_not_begun_and_says_so() -> None:
    gate = threading.Event()

    @tool
    def block() -> str:
        gate.wait(10)
        return "unblocked"

    @tool
    async def open_it() -> str:
        gate.set()
        return "open"

    script = [calls(*(call("block") for _ in range(5)), call("open_it")), "done"]
    said = said_by(agent(block, open_it, script=script), workers=1, backlog=2)
    refused = [text for text in said if "wait for a worker already; nothing was started" in text]
    assert 1 <= len(refused) <= 4
    assert said.count("unblocked") == 5 - len(refused)


def test_a_body_that_swallows_its_cancellation_is_waited_for_and_what_it_did_is_recorded() -> None:
    async def body() -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1000)
        return "finished anyway"

    assert said_of(body, timeout=0.05) == "finished anyway"


def test_a_blocking_body_sees_that_its_time_is_over() -> None:
    def body(ctx: ToolContext) -> str:
        return "stopped" if ctx.cancellation.wait(10) else "?"

    assert said_of(body, timeout=0.05) == "stopped"


def test_a_blocking_body_may_run_a_loop_of_its_own() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "from another loop"

    assert said_of(lambda: asyncio.run(work())) == "from another loop"


TENANT: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "blocking"])
def test_context_variables_are_those_of_whoever_opened_the_runtime_and_changes_stay_inside(asynchronous: bool) -> None:
    def body() -> str:
        seen = TENANT.get()
        TENANT.set("changed by a tool")
        return seen

    async def async_body() -> str:
        return body()

    one = agent(async_body if asynchronous else body, script=[calls(call("body"), call("body")), "done"])

    async def main() -> tuple[list[str], str]:
        TENANT.set("acme")
        async with Runtime("memory://", [one]) as runtime:
            TENANT.set("somebody later")
            end = await runtime.run(one, "go")
            history = await (await runtime.execution(end.execution_id)).history()
            return [event.data["text"] for event in history if event.kind == "tool_result"], TENANT.get()

    assert asyncio.run(main()) == (["acme", "acme"], "somebody later")


# calls back into the runtime --------------------------------------------------------------------------------------


@attrs.define
class Deps:
    """What the tools below are given."""

    runtime: Runtime | None = None
    loop: asyncio.AbstractEventLoop | None = None


def with_runtime(*agents: Agent, **options: Any) -> Any:
    """The end of a run of the first agent, whose tools find the runtime in their deps."""

    async def main() -> Any:
        deps = Deps(loop=asyncio.get_running_loop())
        async with Runtime("memory://", agents, deps=deps, **options) as runtime:
            deps.runtime = runtime
            end = await runtime.run(agents[0], "go")
            history = await (await runtime.execution(end.execution_id)).history()
            return end, [event.data["text"] for event in history if event.kind == "tool_result"]

    return asyncio.run(main())


HELPER = Agent(name="helper", model=scripted(["I helped"], record=False))


def test_a_tool_may_run_another_agent() -> None:
    async def body(ctx: ToolContext[Deps]) -> str:
        assert ctx.deps.runtime is not None
        end = await ctx.deps.runtime.run(HELPER, "help")
        assert isinstance(end, Completed)
        return end.output

    end, said = with_runtime(agent(body), HELPER)
    assert isinstance(end, Completed)
    assert said == ["I helped"]


def test_a_blocking_tool_may_run_another_agent_on_the_loop() -> None:
    def body(ctx: ToolContext[Deps]) -> str:
        assert ctx.deps.runtime is not None
        assert ctx.deps.loop is not None
        work = ctx.deps.runtime.run(HELPER, "help")
        end = asyncio.run_coroutine_threadsafe(work, ctx.deps.loop).result(10)
        assert isinstance(end, Completed)
        return end.output

    assert with_runtime(agent(body), HELPER)[1] == ["I helped"]


def test_a_tool_that_starts_its_own_agent_again_is_told_that_it_is_busy() -> None:
    async def body(ctx: ToolContext[Deps]) -> str:
        assert ctx.deps.runtime is not None
        with pytest.raises(AgentBusy):
            await ctx.deps.runtime.run(one, "again")
        return "busy"

    one = agent(body)
    assert with_runtime(one)[1] == ["busy"]


def test_a_tool_may_cancel_its_own_run() -> None:
    async def body(ctx: ToolContext[Deps]) -> str:
        assert ctx.deps.runtime is not None
        await ctx.deps.runtime.cancel(ctx.execution_id)
        await asyncio.sleep(10)
        return "not reached"

    end, _ = with_runtime(agent(body))
    assert isinstance(end, Cancelled)


def test_a_tool_that_waits_for_its_own_run_is_freed_by_its_timeout() -> None:
    async def body(ctx: ToolContext[Deps]) -> str:
        assert ctx.deps.runtime is not None
        await (await ctx.deps.runtime.execution(ctx.execution_id)).terminal()
        return "not reached"

    end, said = with_runtime(agent(tool(name="body", timeout=0.05)(body)))
    assert isinstance(end, Completed)
    assert said == ["error: body took over 0.05 s"]


def test_a_tool_may_decide_what_another_run_asks() -> None:
    @tool(approval=True)
    def pay() -> str:
        return "paid"

    payer = Agent(name="payer", model=scripted([call("pay"), "done"], record=False), tools=[pay])

    async def body(ctx: ToolContext[Deps]) -> str:
        assert ctx.deps.runtime is not None
        rest = await ctx.deps.runtime.run(payer, "go")
        assert isinstance(rest, Suspended)
        end = await ctx.deps.runtime.decide(rest.request.id, approve=True)
        return type(end).__name__

    assert with_runtime(agent(body), payer)[1] == ["Completed"]


def test_a_tool_that_runs_another_which_needs_the_slot_it_holds_is_freed_by_its_timeout() -> None:
    @tool(name="body", max_concurrent=1, timeout=0.05)
    async def body(ctx: ToolContext[Deps], deep: int = 0) -> str:
        assert ctx.deps.runtime is not None
        if deep:
            return "inner"
        await ctx.deps.runtime.run(inner, "go")
        return "not reached"

    inner = Agent(name="inner", model=scripted([call("body", deep=1), "done"], record=False), tools=[body])
    end, said = with_runtime(agent(body), inner)
    assert isinstance(end, Completed)
    assert said == ["error: body took over 0.05 s"]


def test_a_policy_and_a_probe_find_the_deps_too() -> None:
    seen: list[Any] = []

    def policy(query: Any, ctx: ToolContext[Deps]) -> str:
        seen.append((ctx.deps, ctx.tool_call_id))
        return "allow"

    async def async_policy(query: Any, ctx: ToolContext[Deps]) -> str:
        return policy(query, ctx)

    def body() -> str:
        return "ok"

    for one in (policy, async_policy):
        with_runtime(agent(tool(name="body", approval=one)(body)))
    assert [(type(deps), call_id) for deps, call_id in seen] == [(Deps, "c1")] * 2


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "blocking"])
def test_a_probe_finds_the_deps_and_the_call_that_it_is_about(asynchronous: bool) -> None:
    def probe(key: str, ctx: ToolContext[dict[str, str]]) -> Found:
        assert ctx.idempotency_key == key
        return Found(f"{ctx.deps['where']}: {ctx.tool_call_id}, attempt {ctx.attempt}")

    async def async_probe(key: str, ctx: ToolContext[dict[str, str]]) -> Found:
        return probe(key, ctx)

    @tool(name="body", recovery="probe", probe=async_probe if asynchronous else probe)
    def body() -> str:
        return "lost"

    one = agent(body)
    with World(one, faults=[Fault("tool:body#1", "crash_during_effect")]) as world:
        first = world.open(deps={"where": "first"})
        execution = first.do(first.runtime.start(one, "go"))
        world.settle()
        second = world.open(deps={"where": "second"})
        assert isinstance(second.do(second.do(second.runtime.execution(execution.id)).terminal()), Completed)
        (told,) = [message.text for message in world.witness.requests[-1].messages if message.role == "tool"]
        assert told == "second: c1, attempt 1"


def test_a_tool_that_takes_its_time_does_not_keep_the_loop() -> None:
    turned = threading.Event()

    async def count() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        turned.set()

    def body() -> str:
        return "the loop went on" if turned.wait(10) else "the loop stood still"

    one = agent(body)

    @tool
    async def start_counting() -> str:
        asyncio.get_running_loop().call_later(0.0, lambda: counting.append(asyncio.ensure_future(count())))
        return "counting"

    counting: list[Any] = []
    said = said_by(agent(one.tools[0], start_counting, script=[calls(call("body"), call("start_counting")), "done"]))
    assert said == ["the loop went on", "counting"]
