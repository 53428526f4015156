"""What cannot even be started fails the run; nothing hangs, and nothing is left half done."""

from __future__ import annotations

import asyncio
import pathlib
import sys
from typing import Any

import pytest

from pawl import (
    Agent,
    Completed,
    Failed,
    ModelAnswer,
    ModelError,
    ModelRequest,
    Rest,
    Runtime,
    RuntimeClosed,
    call,
    scripted,
    sync,
    tool,
)
from pawl.runtime.execution.heart import Move
from pawl.runtime.simulation.world import World
from pawl.runtime.store.memory import MemoryStore


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


class Provider:
    """A provider whose `complete` is as wrong as a test likes."""

    name = "broken"

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def complete(self, request: ModelRequest) -> Any:
        return self._answer(request)

    async def aclose(self) -> None:
        """Nothing to close."""


def raises(request: ModelRequest) -> Any:
    raise RuntimeError("no network")


def returns_text(request: ModelRequest) -> Any:
    return "not awaitable"


@pytest.mark.parametrize(("answer", "error"), [(raises, "RuntimeError"), (returns_text, "TypeError")])
def test_a_provider_that_is_no_coroutine_function_fails_the_run(answer: Any, error: str) -> None:
    agent = Agent(name="a", model=Provider(answer))
    with World() as world:
        # Not watched: the provider has to be met as it is.
        process = world.open(agent, watch=False)
        rest = process.do(process.runtime.run(agent, "go"), within=60)
        assert isinstance(rest, Failed)
        assert rest.error.type == error
        assert world.root("a").owner is None


def missing_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "pawl.runtime.llm.openai", raising=False)


def missing_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("missing", "said"), [(missing_sdk, "pip install"), (missing_key, "OPENAI_API_KEY")])
def test_a_runtime_is_not_opened_for_a_model_without_its_sdk_or_key(
    missing: Any, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    missing(monkeypatch)
    agent = Agent(name="a", model="openai:gpt-5")
    url = f"sqlite:///{tmp_path}/runs.db"
    runtime = sync.Runtime(url, [agent])

    with pytest.raises(ModelError, match=f"agent a: .*{said}"):
        runtime.__enter__()

    with pytest.raises(RuntimeClosed):
        runtime.run(agent, "go", id="r1")
    with sync.Runtime(url) as other:
        assert other.executions() == []


def test_a_full_pool_is_the_call_s_error_and_the_model_is_told() -> None:
    agent = Agent(name="a", model=scripted([call("add", a=1, b=2), "sorry"]), tools=[add])
    with World(agent) as world:
        process = world.open()
        world.fault("tool_dispatch", "hold_reply")
        execution = process.begin(process.runtime.run(agent, "go"))
        world.settle()
        process.environment.full = True
        world.release("tool_dispatch")
        assert isinstance(world.wait(execution, within=60), Completed)
        (row,) = world.rows(world.records()[0].execution_id)
        assert row.error is not None
        assert row.error.type == "Backpressure"
        assert world.witness.effects == {}


async def looking(query: Any) -> None:
    """A hook that changes nothing."""


@pytest.mark.parametrize("hooks", [[], [looking]], ids=["plain", "with a hook"])
def test_a_full_pool_is_nothing_to_what_reads_the_store(hooks: list[Any]) -> None:
    agent = Agent(name="a", model=scripted(["first", "second"]), before_llm=hooks)
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        process.environment.full = True
        assert isinstance(process.do(process.runtime.run(agent, "again"), within=60), Completed)
        assert len(process.do(process.runtime.executions())) == 2


def test_an_effect_that_cannot_be_carried_out_at_all_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(name="a", model=scripted(["hello"]))
    with World(agent) as world:
        process = world.open()
        keeper = process.runtime._host.keeper
        monkeypatch.setattr(keeper, "_load_context", None)
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        rest = process.do(process.runtime.run(agent, "again"), within=60)
        assert isinstance(rest, Failed)
        assert rest.error.type == "TypeError"


def test_an_answer_that_is_no_answer_fails_the_run() -> None:
    async def wrong(request: ModelRequest) -> Any:
        return {"text": "a dict"}

    async def good(request: ModelRequest) -> ModelAnswer:
        return ModelAnswer("hello")

    for answer, kind in ((wrong, Failed), (good, Completed)):
        agent = Agent(name="a", model=Provider(answer))
        with World(agent) as world:
            process = world.open()
            assert isinstance(process.do(process.runtime.run(agent, "go"), within=60), kind)


class Unspeakable(Exception):
    """An error that raises when it is asked for its text."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


@tool
def unspeakable() -> str:
    """Raise it."""
    raise Unspeakable


@tool
def long_winded() -> str:
    """Raise an error of ten million characters."""
    raise ValueError("x" * 10_000_000)


@tool
async def exits() -> str:
    """Leave, as a command line parser does."""
    sys.exit(2)


@pytest.mark.parametrize(
    ("body", "error", "longest"), [(unspeakable, "Unspeakable", 100), (long_winded, "ValueError", 10_100)]
)
def test_whatever_a_tool_raises_is_an_error_of_bounded_size(body: Any, error: str, longest: int) -> None:
    agent = Agent(name="a", model=scripted([call(body.name), "sorry"]), tools=[body])
    with World(agent) as world:
        # Not watched: the witness would write down what it raised.
        process = world.open(agent, watch=False)
        assert isinstance(process.do(process.runtime.run(agent, "go"), within=60), Completed)
        (row,) = world.rows(world.records()[0].execution_id)
        assert row.error is not None
        assert row.error.type == error
        assert 0 < len(row.error.message) <= longest


def test_a_model_that_raises_what_has_no_text_fails_the_run() -> None:
    agent = Agent(name="a", model=scripted([Unspeakable()]))
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"), within=60)
        assert isinstance(rest, Failed)
        assert rest.error.type == "Unspeakable"


def test_a_provider_that_cannot_say_its_name_fails_the_run() -> None:
    class Nameless(Provider):
        asked = 0

        @property
        def name(self) -> str:  # type: ignore[override]
            self.asked += 1
            if self.asked > 1:
                raise RuntimeError("no name")
            return "nameless"

    async def good(request: ModelRequest) -> ModelAnswer:
        return ModelAnswer("hello")

    agent = Agent(name="a", model=Nameless(good))
    with World(agent) as world:
        process = world.open(agent, watch=False)
        rest = process.do(process.runtime.run(agent, "go"), within=60)
        assert isinstance(rest, Failed)
        assert rest.error.message == "no name"


def test_an_async_tool_that_exits_is_an_error_of_the_call_and_not_the_end_of_the_process() -> None:
    async def run() -> Rest:
        agent = Agent(name="a", model=scripted([call("exits"), "sorry"]), tools=[exits])
        async with Runtime(MemoryStore(), [agent]) as runtime:
            return await asyncio.wait_for(runtime.run(agent, "go"), 20)

    rest = asyncio.run(run())

    assert isinstance(rest, Completed)
    assert rest.output == "sorry"


def test_a_trace_that_raises_is_dropped_and_the_run_goes_on() -> None:
    seen: list[str] = []

    def trace(execution_id: str, move: Move) -> None:
        seen.append(str(move.target))
        raise RuntimeError("no room for traces")

    async def run() -> Rest:
        agent = Agent(name="clerk", model=scripted(["done"]))
        async with Runtime(MemoryStore(), [agent], trace=trace) as runtime:
            return await runtime.run(agent, "go")

    rest = asyncio.run(run())

    assert isinstance(rest, Completed)
    assert len(seen) == 1
