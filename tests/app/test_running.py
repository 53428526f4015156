"""A run from its input to its end: what is on record after each barrier, and what is told on the way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from execution.programs import clerk
from pawl import (
    Agent,
    Cancelled,
    Completed,
    Event,
    Failed,
    MalformedModelAnswer,
    ModelAnswer,
    ModelError,
    OutcomeUnknown,
    Retries,
    RuntimeClosed,
    StoreUnavailable,
    Suspended,
    ToolCall,
    ToolContext,
    Usage,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.execution.heart import Message
from pawl.runtime.execution.mail import Mail
from pawl.runtime.execution.work import _outcome
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.events import EventKind
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.store import command_of
from pawl.runtime.simulation.world import World

CLERK = clerk()


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def adder(*answers: Any, **options: Any) -> Agent:
    script = answers or (call("add", a=1, b=2), "three")
    return Agent(name="a", model=scripted(script, record=False), tools=[add], **options)


class Watched(World):
    """A world that writes down what each barrier leaves on record."""

    def __init__(self, *agents: Agent, **options: Any) -> None:
        self.steps: list[tuple[str, str, str, int, list[str]]] = []
        self._seen: dict[str, int] = {}
        super().__init__(*agents, **options)

    def committed(self, name: str, operation: Any, answer: Any) -> None:
        super().committed(name, operation, answer)
        command = command_of(operation)
        if name.startswith("read:") or not hasattr(command, "barrier"):
            return
        if name == "tool_outcome":
            self.steps.append((name, "", "", -1, []))
            return
        record = self.record(command.record.execution_id)  # type: ignore[attr-defined]
        kinds = self.kinds(record.agent_id)
        new = kinds[self._seen.get(record.agent_id, 0) :]
        self._seen[record.agent_id] = len(kinds)
        self.steps.append((name, record.status, record.phase, record.revision, new))


def test_a_run_with_three_tools_leaves_exactly_this_on_record() -> None:
    with Watched(CLERK) as world:
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go", durable_context={"a": 1}))
        assert isinstance(rest, Suspended)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=True)), Completed)
        outcome: tuple[str, str, str, int, list[str]] = ("tool_outcome", "", "", -1, [])
        result = ["tool_result", "tool_message"]
        assert world.steps == [
            ("admission", "preparing", "preparing", 0, ["input_received"]),
            ("provider_dispatch", "active", "calling_llm", 1, ["external_message"]),
            ("suspension", "suspended", "approval", 2, ["llm_call_recorded", "assistant_message", "approval_required"]),
            ("approval", "active", "resuming", 3, ["approval_decided"]),
            ("tool_dispatch", "active", "dispatching_tools", 4, []),
            outcome,
            outcome,
            outcome,
            ("provider_dispatch", "active", "calling_llm", 5, result * 3),
            (
                "outcome",
                "completed",
                "completed",
                6,
                ["llm_call_recorded", "assistant_message", "final_output", "execution_completed"],
            ),
        ]
        assert [str(event.kind) for event in process.events] == (
            ["tool_call"] * 3 + ["approval_required"] + ["tool_result"] * 3 + ["done"]
        )
        journal = {record.position: record for record in world.journal("clerk")}
        for event in process.events:
            if event.cursor is not None:
                kind = {"tool_call": "assistant_message", "tool_result": "tool_result", "done": "execution_completed"}
                assert journal[event.cursor].kind == kind[event.kind]
        assert {str(row.status) for row in world.rows(rest.execution_id)} == {"completed"}
        assert world.root("clerk").owner is None
        assert world.root("clerk").answers == 2


def test_a_run_without_approval_writes_the_answer_with_its_calls() -> None:
    agent = adder()
    with Watched(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        assert [(step[0], step[3], step[4]) for step in world.steps if step[0] == "tool_dispatch"] == [
            ("tool_dispatch", 2, ["llm_call_recorded", "assistant_message"])
        ]


def test_results_are_in_call_order_whatever_order_they_come_in() -> None:
    @tool
    async def wait(seconds: float) -> str:
        """Wait."""
        await asyncio.sleep(seconds)
        return f"{seconds}"

    three = calls(call("wait", seconds=3), call("wait", seconds=1), call("wait", seconds=2))
    agent = Agent(name="a", model=scripted([three, "done"], record=False), tools=[wait])
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        said = [message.text for message in world.witness.requests[-1].messages if message.role == "tool"]
        assert said == ["3.0", "1.0", "2.0"]
        assert world.clock.time == 3
        assert [row.duration for row in world.rows(world.records()[0].execution_id)] == [3, 1, 2]


def test_a_run_has_only_so_many_answers() -> None:
    agent = adder(*[call("add", a=1, b=2)] * 5, max_iterations=3)
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Failed)
        assert end.error.type == "IterationsExhausted"
        assert world.witness.effects == {"add": 3}


def test_usage_is_the_sum_of_the_recorded_calls() -> None:
    first = calls(call("add", a=1, b=2), usage=Usage(10, 5))
    agent = adder(first, ModelAnswer("three", usage=Usage(7, 3)))
    with World(agent) as world:
        process = world.open()
        assert process.do(process.runtime.run(agent, "go")).usage == Usage(17, 8)


# the model fails -------------------------------------------------------------------------------------------------


def test_a_failure_that_did_nothing_is_tried_again_after_a_while() -> None:
    busy = ModelError("busy", retry_safe=True)
    agent = adder(busy, busy, "at last", retries=Retries(jitter=0))
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Completed)
        assert world.clock.time == 3
        statuses = [entry.meta["status"] for entry in world.journal("a") if entry.kind == "llm_call_recorded"]
        assert statuses == ["failed", "failed", "completed"]
        assert len({request.call_id for request in world.witness.requests}) == 3


@pytest.mark.parametrize(
    "answers",
    [
        [ModelError("busy", retry_safe=True)] * 3,
        [ModelError("no such model")],
        [ValueError("no")],
        [MalformedModelAnswer("what?")],
        [lambda request: ModelAnswer(7)],  # type: ignore[arg-type]
        [lambda request: ModelAnswer("", (ToolCall("c", "", ""),))],
    ],
)
def test_a_failure_that_is_not_tried_again_fails_the_run(answers: Any) -> None:
    agent = adder(*answers)
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Failed)
        assert [str(event.kind) for event in process.events] == ["error"]
        assert isinstance(process.do(process.runtime.run(agent, "again")), Failed | Completed)


# the model is wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "name", "told"),
    [
        ('{"a": 1}', "add", "error: invalid arguments"),
        ('{"a": 1, "b": "x"}', "add", "error: invalid arguments"),
        ("not json", "add", "error: invalid arguments"),
        ("[1]", "add", "error: invalid arguments"),
        ('{"a": 1, "b": 2}', "subtract", "error: there is no tool 'subtract'; the tools are: add"),
    ],
)
def test_what_the_model_gets_wrong_is_answered_to_the_model(arguments: str, name: str, told: str) -> None:
    agent = adder(ModelAnswer("", (ToolCall("c1", name, arguments),)), "I see")
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        text = world.witness.requests[-1].messages[-1].text
        assert text.startswith(told)
        assert text.count("invalid arguments") == told.count("invalid arguments")
        (result,) = [event.data for event in process.events if event.kind == "tool_result"]
        assert (result["status"], result["attempt"], result["text"]) == ("failed", 0, text)
        assert world.witness.effects == {}
        assert "tool_dispatch" not in world.faults.counts


def test_a_wrong_call_beside_a_good_one_does_not_keep_it_from_running() -> None:
    agent = adder(
        ModelAnswer(
            "", (ToolCall("", "nothing", "{}"), ToolCall("", "add", '{"a":1,"b":2}'), ToolCall("c", "add", ""))
        ),
        "I see",
    )
    with World(agent, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go", id="r1"))
        end = process.do(process.runtime.resolve(rest.execution_id, "call_2", "succeeded", result="3"))
        assert isinstance(end, Completed)
        said = [message.text for message in world.witness.requests[-1].messages if message.role == "tool"]
        assert [text[:14] for text in said] == ["error: there i", "3", "error: invalid"]


# tools fail ---------------------------------------------------------------------------------------------------------


def raising(error: BaseException, **options: Any) -> Agent:
    @tool(**options)
    def boom() -> str:
        """Raise."""
        raise error

    return Agent(name="a", model=scripted([calls(call("boom"), call("add", a=1, b=2)), "so be it"]), tools=[boom, add])


def test_a_tool_s_failure_is_told_to_the_model() -> None:
    agent = raising(ValueError("out of stock"))
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        said = [message.text for message in world.witness.requests[-1].messages if message.role == "tool"]
        assert said == ["error: out of stock", "3"]
        assert [str(row.status) for row in world.rows(world.records()[0].execution_id)] == ["failed", "completed"]


def test_a_tool_s_failure_fails_the_run_where_it_says_so_after_its_siblings_have_ended() -> None:
    agent = raising(ValueError("out of stock"), on_error="fail")
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Failed)
        assert end.error.message == "boom: ValueError: out of stock"
        assert world.witness.effects == {"boom": 1, "add": 1}
        assert isinstance(process.do(process.runtime.run(agent, "again")), Completed)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()])
def test_whatever_a_body_raises_is_its_outcome_in_production(error: BaseException) -> None:
    outcome = _outcome(None, error, False, 0.0)
    assert outcome.error is not None
    assert not outcome.cancelled


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (object(), "JSON cannot write"),
        ("\ud800", "not Unicode"),
        ("x" * 2000, "more than the 1000"),
        ({1: object()}, "boom"),
    ],
)
def test_a_result_that_cannot_be_kept_is_the_call_s_error(value: Any, told: str) -> None:
    @tool(max_result_bytes=1000)
    def boom() -> Any:
        """Return something."""
        return value

    agent = Agent(name="a", model=scripted([call("boom"), "so be it"]), tools=[boom])
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        (row,) = world.rows(world.records()[0].execution_id)
        assert row.status == "failed"
        assert row.error is not None
        assert told in row.error.message


@pytest.mark.parametrize("blocking", [False, True])
def test_a_tool_that_takes_too_long_is_asked_to_stop_and_its_end_is_waited_for(blocking: bool) -> None:
    @tool(timeout=5)
    async def nap(ctx: ToolContext) -> str:
        """Nap."""
        await asyncio.sleep(100)
        return "slept"

    @tool(timeout=5)
    def block(ctx: ToolContext) -> str:
        """Block."""
        world.processes[-1].environment.takes(20)
        return "blocked for long"

    one = block if blocking else nap
    agent = Agent(name="a", model=scripted([call(one.name), "so be it"]), tools=[one])
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        (row,) = world.rows(world.records()[0].execution_id)
        if blocking:
            assert (row.status, world.clock.time) == ("completed", 20)
        else:
            assert (row.status, world.clock.time) == ("failed", 5)
            assert row.error is not None
            assert row.error.type == "TimeoutError"


# writing is refused ---------------------------------------------------------------------------------------------------


def test_an_outcome_that_cannot_be_written_is_replaced_by_a_failure_once() -> None:
    agent = adder("hello")
    with World(agent, faults=[Fault("outcome#1", "refuse", error=ValueError("no such text"))]) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Failed)
        assert (end.error.type, end.error.message) == ("ValueError", "no such text")
        assert world.faults.counts["outcome"] == 2


def test_an_outcome_that_is_refused_twice_closes_the_run() -> None:
    agent = adder("hello")
    faults = [Fault(f"outcome#{n}", "refuse", error=ValueError("no")) for n in (1, 2)]
    with World(agent, faults=faults) as world:
        process = world.open()
        with pytest.raises(OutcomeUnknown, match="no"):
            process.do(process.runtime.run(agent, "go"))
        assert world.faults.counts["outcome"] == 2


def test_a_result_that_the_store_refuses_becomes_the_call_s_error() -> None:
    agent = adder()
    with World(agent, faults=[Fault("tool_outcome#1", "refuse", error=ValueError("no such text"))]) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        (row,) = world.rows(world.records()[0].execution_id)
        assert row.status == "failed"
        assert row.error is not None
        assert "no such text" in row.error.message
        assert world.witness.effects == {"add": 1}


@pytest.mark.parametrize("barrier", ["provider_dispatch#1", "provider_dispatch#2", "tool_dispatch#1"])
def test_a_step_that_the_store_refuses_fails_the_run(barrier: str) -> None:
    agent = adder()
    with World(agent, faults=[Fault(barrier, "refuse", error=CodecError("no such text"))]) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Failed)
        assert (end.error.type, end.error.message) == ("CodecError", "no such text")
        assert isinstance(process.do(process.runtime.run(agent, "again")), Completed | Failed)


def test_a_suspension_that_the_store_refuses_fails_the_run() -> None:
    with World(CLERK, faults=[Fault("suspension#1", "refuse", error=CodecError("no"))]) as world:
        process = world.open()
        end = process.do(process.runtime.run(CLERK, "go"))
        assert isinstance(end, Failed)
        assert world.witness.effects == {}


# listeners ------------------------------------------------------------------------------------------------------------


class Deaf(Exception):
    """A listener has had enough."""


def deaf_to(kind: str) -> Any:
    def listener(event: Event) -> None:
        if event.kind == kind:
            raise Deaf(kind)

    return listener


def test_a_listener_that_raises_is_taken_away_and_the_run_goes_on() -> None:
    agent = adder()
    with World(agent) as world:
        process = world.open(on_event=deaf_to("tool_call"))
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        assert process.runtime.stats().listener_failures == 1
        assert [str(event.kind) for event in process.events] == ["tool_call"]


@pytest.mark.parametrize(
    ("kind", "effects"), [("tool_call", {}), ("tool_result", {"add": 1})], ids=["tool_call", "tool_result"]
)
def test_a_listener_that_raises_fails_the_run_where_the_runtime_says_so(kind: str, effects: Any) -> None:
    agent = adder()
    with World(agent) as world:
        process = world.open(on_event=deaf_to(kind), on_listener_error="fail")
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Failed)
        assert end.error.type == "ListenerFailed"
        assert end.error.message == f"a listener raised at '{kind}': Deaf: {kind}"
        assert world.witness.effects == effects


def test_a_listener_that_raises_at_the_end_changes_no_outcome() -> None:
    agent = adder()
    with World(agent) as world:
        process = world.open(on_event=deaf_to("done"), on_listener_error="fail")
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)


def test_a_cancellation_before_the_store_has_answered_comes_before_the_failure_of_a_listener() -> None:
    agent = adder()
    with World(agent, faults=[Fault("tool_dispatch#1", "hold")]) as world:
        process = world.open(on_listener_error="fail")
        execution = process.do(process.runtime.start(agent, "go"))
        world.settle()
        process.runtime._listener_failed(Event(EventKind.TOOL_CALL, execution.id, "a", {}), Deaf("no"))
        world.settle()
        process.do(process.runtime.cancel(execution.id))
        world.release("tool_dispatch#1")
        assert isinstance(process.do(execution), Cancelled)
        assert world.witness.effects == {}


def test_a_cancellation_that_comes_when_a_run_ends_for_its_listener_changes_nothing() -> None:
    agent = adder()
    with World(agent, faults=[Fault("outcome#1", "hold")]) as world:
        process = world.open(on_event=deaf_to("tool_result"), on_listener_error="fail")
        execution = process.do(process.runtime.start(agent, "go"))
        world.settle()
        process.do(process.runtime.cancel(execution.id))
        world.release("outcome#1")
        end = process.do(execution)
        assert isinstance(end, Failed)
        assert end.error.type == "ListenerFailed"


def test_a_store_that_is_away_is_announced_once_and_a_listener_may_end_the_run_for_it() -> None:
    agent = adder()
    faults = [Fault("provider_dispatch#1", "unavailable", times=6)]
    with World(agent, faults=faults) as world:
        process = world.open(poll_interval=0)
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        assert [str(event.kind) for event in process.events].count("store_unavailable") == 1
    with World(agent, faults=faults) as world:
        process = world.open(on_event=deaf_to("store_unavailable"), on_listener_error="fail", poll_interval=0)
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Failed)
        assert end.error.type == "ListenerFailed"
        assert world.witness.model_calls == {}


def test_a_start_that_a_listener_ends_because_the_store_is_away_has_written_nothing() -> None:
    agent = adder()
    with World(agent, faults=[Fault("admission#1", "unavailable", times=3)]) as world:
        process = world.open(on_event=deaf_to("store_unavailable"), on_listener_error="fail", poll_interval=0)
        with pytest.raises(StoreUnavailable, match="nothing of it is on record"):
            process.do(process.runtime.run(agent, "go"))
        assert world.records() == []
        world.advance(10)
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)


# handles --------------------------------------------------------------------------------------------------------------


def test_a_handle_can_be_awaited_as_often_and_by_as_many_as_like() -> None:
    agent = adder()
    with World(agent, faults=[Fault("model#1", "hold")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        waiting = [process.begin(execution) for _ in range(3)]
        given_up = process.begin(execution)
        world.settle()
        given_up.cancel()
        world.release("model#1")
        rests = [world.wait(one) for one in waiting]
        assert rests == [process.do(execution)] * 3
        assert isinstance(rests[0], Completed)
        other = process.do(process.runtime.execution(execution.id))
        assert process.do(other) == rests[0] == process.do(process.runtime.result(execution.id))


def test_a_caller_that_goes_away_takes_nothing_with_it() -> None:
    agent = adder()
    with World(agent, faults=[Fault("admission#1", "hold_reply")]) as world:
        process = world.open()
        starting = process.begin(process.runtime.start(agent, "go", id="r1"))
        world.settle()
        starting.cancel()
        world.settle()
        world.release("admission#1")
        assert isinstance(process.do(process.runtime.run(agent, "go", id="r1")), Completed)
        assert world.witness.effects == {"add": 1}


def test_executions_are_listed_in_order_and_in_pages() -> None:
    agent = adder("one", "two", "three")
    with World(agent) as world:
        process = world.open()
        names = []
        for text in ("a", "b", "c"):
            names.append(process.do(process.runtime.run(agent, text)).execution_id)
            world.advance(1)
        listed = process.do(process.runtime.executions("a"))
        assert [record.execution_id for record in listed] == names
        page = process.do(process.runtime.executions("a", after=names[0], limit=1))
        assert [record.execution_id for record in page] == names[1:2]
        assert process.do(process.runtime.executions(open_only=True)) == []


# late events ----------------------------------------------------------------------------------------------------------


def test_events_that_come_twice_or_too_late_change_nothing_and_are_counted() -> None:
    agent = adder()
    with World(agent) as world:
        process = world.open()
        keeper = process.runtime._host.keeper
        handle = keeper._handle

        def twice(mail: Any) -> None:
            handle(mail)
            if isinstance(mail, Mail):
                before = keeper.live(mail.execution_id)
                handle(mail)
                after = keeper.live(mail.execution_id)
                if before is not None and after is not None:
                    assert (before.state, before.invocation.record) == (after.state, after.invocation.record)

        keeper.inbox._handle = twice
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Completed)
        assert world.witness.effects == {"add": 1}
        assert world.witness.model_calls == {"a": 2}
        counts = process.dropped
        assert {"llm_completed": 2, "execution_completed": 1, "committed": 6}.items() <= counts.items()
        late = Mail(end.execution_id, Message("another session", "llm_completed", None, world.now))
        keeper._handle(late)
        assert process.dropped["llm_completed"] == 3


# closing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["model#1", "tool:add#1", "tool:slow#1", "tool_outcome#1", "provider_dispatch#2"])
def test_a_run_that_is_let_go_by_closing_goes_on_where_it_is_adopted(at: str) -> None:
    with World(CLERK, faults=[Fault(at, "hold")]) as world:
        process = world.open(close_timeout=2.0)
        client = Client(world, CLERK)
        waiting = process.begin(client._step(process))
        while not world.held(at):
            world.settle()
            world.advance(1)
        process.close()
        with pytest.raises(RuntimeClosed):
            waiting.result()
        end = Client(world, CLERK).see_through()
        assert isinstance(end, Completed)
        assert world.witness.effects["add"] == 1
        assert world.witness.effects["slow"] == 1


def test_closing_waits_for_what_comes_to_rest_in_time() -> None:
    @tool
    async def nap() -> str:
        """Nap."""
        await asyncio.sleep(3)
        return "slept"

    agent = Agent(name="a", model=scripted([call("nap"), "done"], record=False), tools=[nap])
    with World(agent) as world:
        process = world.open(close_timeout=5.0)
        execution = process.do(process.runtime.start(agent, "go"))
        waiting = process.begin(execution)
        process.close()
        assert isinstance(waiting.result(), Completed)
        assert 3 <= world.clock.time < 4


def test_closing_while_a_blocking_body_runs_keeps_the_lease_so_that_nobody_runs_it_beside() -> None:
    @tool(recovery="replay")
    def block() -> str:
        """Block."""
        world.processes[0].environment.takes(25)
        return "done"

    agent = Agent(name="a", model=scripted([call("block"), "done"], record=False), tools=[block])
    with World(agent) as world:
        process = world.open(close_timeout=1.0)
        execution = process.do(process.runtime.start(agent, "go"))
        world.settle()
        process.do(process.runtime.close())
        second = world.open()
        world.advance(10)
        assert world.witness.effects == {"block": 1}
        end = second.do(second.do(second.runtime.execution(execution.id)))
        assert isinstance(end, Completed)
        assert world.clock.time > 25
        assert world.witness.effects == {"block": 2}


def test_closing_twice_is_closing_once() -> None:
    agent = adder()
    with World(agent) as world:
        process = world.open()
        process.do(process.runtime.close())
        process.do(process.runtime.close())
