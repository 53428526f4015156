"""`pawl.sync`: for hosts without an event loop, and for those that have one that is not to be used."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

import pawl
from pawl import (
    Agent,
    Cancelled,
    Completed,
    Event,
    InvalidArguments,
    RuntimeClosed,
    Suspended,
    call,
    scripted,
    sync,
    tool,
)


def test_the_blocking_runtime_opens_and_closes_where_a_loop_is_running_as_in_a_notebook(tmp_path: Path) -> None:
    clerk = Agent(name="clerk", model=scripted(["done"]))

    async def cell() -> object:
        with sync.Runtime(f"sqlite:///{tmp_path}/runs.db", [clerk]) as runtime:
            return runtime.run(clerk, "hello")

    assert isinstance(asyncio.run(cell()), Completed)


@pytest.mark.parametrize("agents", [Agent(name="clerk", model=scripted(["done"])), "clerk", None, ["clerk"]])
def test_agents_that_are_no_list_of_agents_are_an_error_that_says_so(agents: Any) -> None:
    with pytest.raises(InvalidArguments, match=r"^agents=.+ must be a list of Agent$"):
        sync.Runtime("memory://", agents)


def test_the_blocking_twins_have_the_same_methods_with_the_same_parameters() -> None:
    assert _face(sync.Runtime) == _face(pawl.Runtime)
    assert _face(sync.AgentHandle) == _face(pawl.AgentHandle)
    assert _face(sync.Execution) == _face(pawl.Execution) | {"wait": [("self", inspect.Parameter.empty)]}
    for_the_simulator = {"environment"}
    wanted = set(inspect.signature(pawl.Runtime).parameters) - for_the_simulator
    assert set(inspect.signature(sync.Runtime).parameters) == wanted


def _face(cls: type) -> dict[str, list[tuple[str, object]]]:
    members = ((name, getattr(cls, name)) for name in dir(cls))  # what it inherits, too
    methods = {name: value for name, value in members if callable(value) and not name.startswith("_")}
    return {
        name: [(each.name, each.default) for each in inspect.signature(value).parameters.values()]
        for name, value in methods.items()
    }


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


def test_a_run_is_suspended_decided_and_looked_up_without_an_event_loop(tmp_path: Path) -> None:
    clerk = Agent(name="clerk", model=scripted([call("pay", cents=5), "done"]), tools=[pay])

    with sync.Runtime(f"sqlite:///{tmp_path}/runs.db", [clerk]) as runtime:
        execution = runtime.open(clerk, "ann").start("hello", id="r1")
        suspended = execution.wait()
        assert isinstance(suspended, Suspended)
        assert runtime.decide(suspended.request.id, approve=True) == execution.terminal()
        assert isinstance(execution.terminal(), Completed)
        assert [one.execution_id for one in runtime.executions("ann")] == [execution.id]
        assert [receipt.decision.tool_call_id for receipt in runtime.receipts(suspended.request.id)] == ["c1"]
        assert runtime.start(clerk, "hello", agent_id="ann", id="r1").id == execution.id
        assert [event.kind for event in execution.history()][-1] == "done"


def test_a_run_that_waits_is_cancelled_without_an_event_loop(tmp_path: Path) -> None:
    clerk = Agent(name="clerk", model=scripted([call("pay", cents=5)]), tools=[pay])

    with sync.Runtime(f"sqlite:///{tmp_path}/runs.db", [clerk]) as runtime:
        execution = runtime.start(clerk, "hello")
        assert isinstance(execution.wait(), Suspended)
        runtime.cancel(execution.id)
        assert isinstance(execution.terminal(), Cancelled)


def test_a_blocking_call_in_a_listener_is_refused_for_it_would_wait_for_itself(tmp_path: Path) -> None:
    clerk = Agent(name="clerk", model=scripted(["done"]))
    said: list[str] = []

    def hear(event: Event) -> None:
        with pytest.raises(RuntimeError) as refused:
            runtime.executions()
        said.append(str(refused.value))

    with sync.Runtime(f"sqlite:///{tmp_path}/runs.db", [clerk], on_event=hear) as runtime:
        assert isinstance(runtime.run(clerk, "hello"), Completed)

    assert said
    assert all("not from a listener" in text for text in said)


def test_a_blocking_runtime_that_is_not_open_says_how_to_open_it() -> None:
    runtime = sync.Runtime("memory://")
    for _ in range(2):
        with pytest.raises(RuntimeClosed, match="use it inside `with Runtime"):
            runtime.executions()
        runtime.close()


def test_each_runtime_says_how_it_is_entered_when_it_is_taken_for_the_other() -> None:
    wrong: Any = pawl.Runtime("memory://")
    said = r"write `async with Runtime\(…\) as runtime`, or use .* pawl\.sync\.Runtime"
    with pytest.raises(TypeError, match=said), wrong:
        pass

    async def enter() -> None:
        blocking: Any = sync.Runtime("memory://")
        async with blocking:
            pass

    with pytest.raises(TypeError, match=r"write `with sync\.Runtime\(…\) as runtime`, or use .* pawl\.Runtime"):
        asyncio.run(enter())
