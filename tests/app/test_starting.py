"""Starting: one run at a time, once under each id, and only what can be kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from execution.programs import clerk
from pawl import (
    Agent,
    AgentBusy,
    AgentClosed,
    AgentExists,
    AgentNotFound,
    Completed,
    ExecutionNotFound,
    IdConflict,
    InvalidArguments,
    OutcomeUnknown,
    Runtime,
    RuntimeClosed,
    StoreUnavailable,
    Suspended,
    ToolContext,
    WrongAgent,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.execution.load import journal
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World


@tool(approval=True)
def pay(cents: int, ctx: ToolContext) -> str:
    """Pay."""
    return f"paid {cents} for {ctx.durable_context.get('customer', 'nobody')}"


def payer() -> Agent:
    return Agent(name="payer", model=scripted([call("pay", cents=5), "done", "again"], record=False), tools=[pay])


def talker(name: str = "talker") -> Agent:
    return Agent(name=name, model=scripted(["one", "two", "three"], record=False))


# the same start again -------------------------------------------------------------------------------------------


def test_the_same_start_again_is_the_same_execution_while_it_runs_rests_and_after_it_has_ended() -> None:
    agent = payer()
    with World(agent, faults=[Fault("model#1", "hold")]) as world:
        process = world.open()

        def start() -> str:
            return process.do(process.runtime.start(agent, "go", id="r1")).id

        name = start()
        assert start() == name
        world.release("model#1")
        world.settle()
        assert world.record(name).status == "suspended"
        assert start() == name
        request = world.record(name).request
        assert request is not None
        assert isinstance(process.do(process.runtime.decide(request.id, approve=True)), Completed)
        assert start() == name
        assert world.witness.effects == {"pay": 1}
        assert len(world.records()) == 1


def test_the_same_start_twice_at_once_is_one_execution() -> None:
    agent = talker()
    with World(agent, faults=[Fault("admission#1", "hold")]) as world:
        process = world.open()
        one = process.begin(process.runtime.start(agent, "go", id="r1"))
        two = process.begin(process.runtime.start(agent, "go", id="r1"))
        world.settle()
        world.release("admission#1")
        assert world.wait(one).id == world.wait(two).id
        assert len(world.records()) == 1


def test_the_same_start_in_two_processes_at_once_is_one_execution() -> None:
    agent = talker()
    with World(agent, shuffle=True) as world:
        first, second = world.open(), world.open()
        one = first.begin(first.runtime.run(agent, "go", id="r1"))
        two = second.begin(second.runtime.run(agent, "go", id="r1"))
        assert world.wait(one) == world.wait(two)
        assert world.witness.model_calls == {"talker": 1}


@pytest.mark.parametrize("moment", ["running", "ended"])
@pytest.mark.parametrize("other", [{"text": "stay"}, {"durable_context": {"a": 1}}])
def test_other_work_under_a_used_id_is_a_conflict_whenever_it_comes(moment: str, other: dict[str, Any]) -> None:
    agent = talker()
    with World(agent, faults=[Fault("model#1", "hold")]) as world:
        process = world.open()
        process.do(process.runtime.start(agent, "go", id="r1"))
        world.settle()
        if moment == "ended":
            world.release("model#1")
            world.settle()
        more = {"text": "go", **other}
        with pytest.raises(IdConflict, match="r1"):
            process.do(process.runtime.start(agent, more.pop("text"), id="r1", **more))


def test_a_start_whose_reply_was_lost_is_found_again_and_not_made_twice() -> None:
    agent = talker()
    for do in ("lose_reply_committed", "lose_reply_rolled_back"):
        with World(agent, faults=[Fault("admission#1", do)]) as world:
            process = world.open()
            assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
            assert len(world.records()) == 1


def test_another_start_while_one_is_under_way_is_busy_and_says_with_what() -> None:
    agent = talker()
    with World(agent, faults=[Fault("model#1", "hold")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        with pytest.raises(AgentBusy) as busy:
            process.do(process.runtime.start(agent, "more"))
        assert busy.value.execution_id == execution.id
        assert busy.value.owner == "this process"


def test_a_run_at_rest_keeps_its_agent_busy() -> None:
    agent = payer()
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        with pytest.raises(AgentBusy) as busy:
            process.do(process.runtime.start(agent, "more"))
        assert (busy.value.execution_id, busy.value.status, busy.value.owner) == (rest.execution_id, "suspended", None)
        process.do(process.runtime.decide(rest.request.id, approve=True))
        assert isinstance(process.do(process.runtime.run(agent, "more")), Completed)


# what cannot be started ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, 7, b"bytes", "\ud800"])
def test_an_input_that_is_no_text_is_refused(text: Any) -> None:
    agent = talker()
    with World(agent) as world:
        process = world.open()
        with pytest.raises(InvalidArguments):
            process.do(process.runtime.start(agent, text))
        assert world.records() == []


@pytest.mark.parametrize(
    "context", [{"a": object()}, {1: "a"}, [1], {"a": "\ud800"}, {"a": float("nan")}, "text", {"a": {2: 3}}]
)
def test_a_durable_context_that_is_no_json_object_is_refused(context: Any) -> None:
    agent = talker()
    with World(agent) as world:
        process = world.open()
        with pytest.raises(InvalidArguments, match="durable_context"):
            process.do(process.runtime.start(agent, "go", durable_context=context))
        assert world.records() == []


def test_the_durable_context_is_what_it_was_at_the_start_in_every_process() -> None:
    agent = payer()
    with World(agent) as world:
        process = world.open()
        given = {"customer": "Ada"}
        rest = process.do(process.runtime.run(agent, "go", durable_context=given))
        given["customer"] = "somebody else"
        world.lose(process)
        process = world.open()
        process.do(process.runtime.decide(rest.request.id, approve=True))  # type: ignore[union-attr]
        (ended,) = world.witness.ended.values()
        assert ended.result == "paid 5 for Ada"


def test_a_start_that_the_store_refuses_leaves_the_agent_free() -> None:
    agent = talker()
    with World(agent, faults=[Fault("admission#1", "refuse", error=StoreUnavailable("no room"))]) as world:
        process = world.open()
        with pytest.raises(StoreUnavailable):
            process.do(process.runtime.start(agent, "go"))
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)


def test_a_start_waits_for_a_store_that_comes_back() -> None:
    agent = talker()
    with World(agent, faults=[Fault("admission#1", "unavailable", times=10)]) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        assert [str(event.kind) for event in process.events].count("store_unavailable") == 1
        assert 1 < world.clock.time < 60


def test_a_start_that_somebody_else_was_faster_with_is_busy() -> None:
    agent = talker()
    for do in ("foreign_write", "foreign_write_unseen", "superseded"):
        with World(agent, faults=[Fault("admission#1", do)]) as world:
            process = world.open(poll_interval=0)
            with pytest.raises(AgentBusy):
                process.do(process.runtime.start(agent, "go"))
            assert process.runtime._host.keeper.executing == ()


# logical agents -------------------------------------------------------------------------------------------------


def test_agents_are_created_loaded_opened_and_gotten() -> None:
    agent, other = talker(), talker("other")
    with World(agent, other) as world:
        process = world.open()
        runtime = process.runtime
        assert runtime.get("A") is None
        with pytest.raises(AgentNotFound):
            process.do(runtime.load(agent, "A"))
        handle = process.do(runtime.create(agent, "A"))
        assert runtime.get("A") is handle
        assert process.do(runtime.load(agent, "A")) is handle
        assert process.do(runtime.open(agent, "A")) is handle
        with pytest.raises(AgentExists):
            process.do(runtime.create(agent, "A"))
        for take in (runtime.load, runtime.open):
            with pytest.raises(WrongAgent):
                process.do(take(other, "A"))
        second = world.open()
        assert second.runtime.get("A") is None
        for take in (second.runtime.load, second.runtime.open):
            with pytest.raises(WrongAgent):
                second.do(take(other, "A"))
        assert second.do(second.runtime.load(agent, "A")).id == "A"


@pytest.mark.parametrize("name", ["", "a\n", "x" * 201, 7, "\ud800"])
def test_ids_are_printable_text(name: Any) -> None:
    agent = talker()
    with World(agent) as world:
        process = world.open()
        with pytest.raises(InvalidArguments, match="agent's id"):
            process.do(process.runtime.open(agent, name))
        with pytest.raises(InvalidArguments, match="start's id"):
            process.do(process.runtime.start(agent, "go", id=name))


def test_a_definition_that_the_runtime_does_not_know_is_refused() -> None:
    with World(talker()) as world:
        process = world.open()
        for take in (process.runtime.open, process.runtime.create, process.runtime.load):
            with pytest.raises(InvalidArguments, match="agents="):
                process.do(take(talker("stranger"), "A"))


def test_a_closed_agent_takes_no_new_runs_anywhere_and_knows_its_old_ones() -> None:
    agent = talker()
    with World(agent) as world:
        first, second = world.open(), world.open()
        handle = first.do(first.runtime.open(agent, "A"))
        execution = first.do(handle.start("go", id="r1"))
        first.do(handle.close())
        assert isinstance(first.do(execution), Completed)
        for process in (first, second):
            with pytest.raises(AgentClosed):
                process.do(process.do(process.runtime.open(agent, "A")).start("more"))
            assert process.do(process.do(process.runtime.open(agent, "A")).start("go", id="r1")).id == execution.id


def test_an_agent_is_purged_with_all_that_it_did_unless_it_is_busy() -> None:
    agent = payer()
    with World(agent) as world:
        process = world.open()
        runtime = process.runtime
        with pytest.raises(AgentNotFound):
            process.do(runtime.purge("A"))
        rest = process.do(runtime.run(agent, "go", agent_id="A"))
        with pytest.raises(AgentBusy):
            process.do(runtime.purge("A"))
        process.do(runtime.decide(rest.request.id, approve=True))  # type: ignore[union-attr]
        process.do(runtime.purge("A"))
        assert runtime.get("A") is None
        with pytest.raises(ExecutionNotFound):
            process.do(runtime.execution(rest.execution_id))
        with pytest.raises(AgentNotFound):
            process.do(runtime.load(agent, "A"))


def test_creating_or_purging_is_not_tried_again_to_find_out_what_happened() -> None:
    agent = talker()
    faults = [Fault("create#1", "lose_reply_committed"), Fault("purge#1", "lose_reply_committed")]
    with World(agent, faults=faults) as world:
        process = world.open()
        with pytest.raises(OutcomeUnknown, match="ask again"):
            process.do(process.runtime.create(agent, "A"))
        process.do(process.runtime.load(agent, "A"))
        with pytest.raises(OutcomeUnknown, match="ask again"):
            process.do(process.runtime.purge("A"))
        with pytest.raises(AgentNotFound):
            process.do(process.runtime.purge("A"))
        assert (world.faults.counts["create"], world.faults.counts["purge"]) == (1, 2)


# a conversation -------------------------------------------------------------------------------------------------


def test_a_later_run_sees_what_earlier_runs_said_and_is_given_the_next_answers() -> None:
    agent = talker()
    with World(agent) as world:
        process = world.open()
        outputs = [process.do(process.runtime.run(agent, text)).output for text in ("a", "b", "c")]  # type: ignore[union-attr]
        assert outputs == ["one", "two", "three"]
        said = [(message.role, message.text) for message in world.witness.requests[-1].messages]
        assert said == [("user", "a"), ("assistant", "one"), ("user", "b"), ("assistant", "two"), ("user", "c")]


def test_a_hundred_agents_run_at_once() -> None:
    agent = Agent(name="adder", model=scripted([calls(call("pay", cents=5)), "done"], record=False), tools=[pay])
    with World(agent, shuffle=True) as world:
        process = world.open()
        runtime = process.runtime
        waiting = [process.begin(runtime.run(agent, "go", agent_id=f"A{n}")) for n in range(100)]
        rests = [world.wait(one) for one in waiting]
        waiting = [process.begin(runtime.decide(rest.request.id, approve=True)) for rest in rests]  # type: ignore[union-attr]
        assert all(isinstance(world.wait(one), Completed) for one in waiting)
        assert world.witness.effects == {"pay": 100}
        assert len({entry.idempotency_key for entry in world.witness.entries}) == 100
        assert runtime.stats().executing == 0


# the runtime itself -----------------------------------------------------------------------------------------------


def test_a_runtime_that_is_not_open_does_nothing() -> None:
    agent = talker()
    with World(agent) as world:
        process = world.open()
        runtime = process.runtime
        process.do(runtime.close())
        attempts: list[Callable[[], Awaitable[object]]] = [
            lambda: runtime.open(agent, "A"),
            lambda: runtime.start(agent, "go"),
            lambda: runtime.decide("r", approve=True),
            lambda: runtime.cancel("x"),
            lambda: runtime.resolve("x", "c1", "not_performed"),
            lambda: runtime.execution("x"),
            runtime.__aenter__,
        ]
        for attempt in attempts:
            with pytest.raises(RuntimeClosed):
                process.do(attempt())


def test_two_definitions_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidArguments, match="two agents"):
        Runtime("memory://", [talker(), talker()])
    with pytest.raises(InvalidArguments, match="list of Agent"):
        Runtime("memory://", ["talker"])  # type: ignore[list-item]


@pytest.mark.parametrize("page", range(1, 9))
def test_the_history_of_a_run_is_its_own_wherever_a_page_ends(page: int) -> None:
    agent = Agent(name="a", model=scripted(["one", "two", "three"], record=False))
    with World(agent) as world:
        process = world.open()
        runs = [process.do(process.runtime.run(agent, text)).execution_id for text in ("a", "b", "c")]
        whole = world.journal("a")
        for name in runs:
            own = [entry for entry in whole if entry.execution_id == name]
            record = world.record(name)
            assert world.store.read(lambda tx, of=record: list(journal(tx, of, page=page))) == own
            execution = process.do(process.runtime.execution(name))
            assert [event.cursor for event in process.do(execution.history())] == [own[-1].position]
            assert process.do(execution.history(own[-1].position)) == ()


def test_a_run_knows_where_it_begins_in_its_agents_journal() -> None:
    agent = Agent(name="a", model=scripted(["one", "two", "three"], record=False))
    with World(agent) as world:
        process = world.open()
        runs = [process.do(process.runtime.run(agent, text)).execution_id for text in ("a", "b", "c")]
        begins = [entry.position for entry in world.journal("a") if entry.kind == "input_received"]

        assert [world.record(name).first_position for name in runs] == begins


@pytest.mark.parametrize("given", ["clerk", None, Agent])
def test_what_is_no_definition_is_refused_by_name(given: Any) -> None:
    with World(clerk()) as world:
        process = world.open()
        with pytest.raises(InvalidArguments, match="is no Agent"):
            process.do(process.runtime.start(given, "go"))
        with pytest.raises(InvalidArguments, match="is no Agent"):
            process.do(process.runtime.open(given, "customer-42"))


class Unwritable(str):
    """Text that raises when it is written."""

    def encode(self, *_: Any, **__: Any) -> bytes:
        raise ValueError("no")


def test_an_input_is_taken_as_plain_text_whatever_its_class_makes_of_it() -> None:
    agent = Agent(name="a", model=scripted(["done"], record=False))
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, Unwritable("hello"))), Completed)
        assert [type(one.text) for one in world.witness.requests[-1].messages if one.role == "user"] == [str]


@pytest.mark.parametrize("where", ["id", "agent_id"])
def test_an_id_of_another_class_than_str_is_refused(where: str) -> None:
    agent = Agent(name="a", model=scripted(["done"], record=False))
    with World(agent) as world:
        process = world.open()
        with pytest.raises(InvalidArguments, match=r"a Unwritable cannot be .* id; give plain text"):
            process.do(process.runtime.start(agent, "hello", **{where: Unwritable("x")}))
