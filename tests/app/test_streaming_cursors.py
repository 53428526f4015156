"""Events behind a cursor: on record, then live, with no gap and no duplicate, whoever runs it and after a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.test_streaming import ADDER, PAYER, agent, all_of, following, streaming, told
from execution.programs import clerk
from pawl import (
    Agent,
    Completed,
    Event,
    EventKind,
    ExecutionNotFound,
    InvalidArguments,
    NeedsResolution,
    OutcomeUnknown,
    Runtime,
    Suspended,
    call,
    calls,
    hang,
    scripted,
    tool,
)
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World

LONG = agent(*(calls(call("add", a=n, b=1), call("add", a=n, b=2)) for n in range(8)), "done", max_iterations=20)


@tool
def charge(cents: int) -> str:
    """Nobody knows whether it happened."""
    return "charged"


CHARGER = Agent(name="c", model=scripted([call("charge", cents=5), "done"], record=False), tools=[charge])


@pytest.mark.parametrize("after", [*range(13)])
def test_events_behind_any_cursor_are_the_rest_of_the_history(after: int) -> None:
    with World(ADDER) as world:
        process = world.open()
        _, rest = streaming(process, ADDER)
        history = process.do(process.do(process.runtime.execution(rest.execution_id)).history(after))
        assert following(process, rest.execution_id, after) == list(history)


def test_the_id_of_an_event_is_where_it_goes_on_as_it_came() -> None:
    with World(ADDER) as world:
        process = world.open()
        _, rest = streaming(process, ADDER)
        whole = following(process, rest.execution_id)
        ids = [event.id for event in whole]
        assert None in ids  # in the middle of a record: who has seen that alone begins at the beginning
        for place, name in enumerate(ids):
            assert following(process, rest.execution_id, name) == (whole[place + 1 :] if name is not None else whole)
        execution = process.do(process.runtime.execution(rest.execution_id))
        assert process.do(execution.history(ids[-1])) == ()


@pytest.mark.parametrize("turns", range(0, 120, 3))
def test_a_consumer_that_comes_at_any_moment_gets_each_durable_event_once(turns: int) -> None:
    with World(LONG, shuffle=True, seed=turns) as world:
        process = world.open()

        async def run() -> tuple[list[Event], list[Event]]:
            execution = await process.runtime.start(LONG, "go")
            for _ in range(turns):
                await asyncio.sleep(0)
            events = [event for event in await all_of(execution.events()) if event.kind is not EventKind.TOKEN]
            return events, list(await execution.history())

        events, history = process.do(run())
        assert events == history
        assert len(events) == 8 * 4 + 1


@pytest.mark.parametrize("cut", range(1, 34, 4))
def test_a_consumer_that_leaves_anywhere_goes_on_where_it_was(cut: int) -> None:
    with World(LONG) as world:
        process = world.open()

        async def run() -> tuple[list[Event], list[Event]]:
            execution = await process.runtime.start(LONG, "go")
            events: list[Event] = []
            place = 0
            async for event in execution.events(tokens=False):
                events.append(event)
                if event.id is not None:
                    place, kept = int(event.id), len(events)
                if len(events) == cut:
                    break
            events = events[:kept] if place else []
            events += await all_of(execution.events(place))
            return [event for event in events if event.kind is not EventKind.TOKEN], list(await execution.history())

        events, history = process.do(run())
        assert events == history


@pytest.mark.parametrize("buffer", [1, 2, 5, 1000])
def test_a_consumer_that_reads_nothing_until_the_end_loses_tokens_only(buffer: int) -> None:
    with World(LONG) as world:
        process = world.open()

        async def run() -> tuple[list[Event], list[Event], int]:
            async with process.runtime.stream(LONG, "go", buffer=buffer) as stream:
                rest = await stream
                assert isinstance(rest, Completed)
                events = await all_of(stream)
                return events, list(await stream.execution.history()), stream.dropped

        events, history, dropped = process.do(run())
        assert [event for event in events if event.kind is not EventKind.TOKEN] == history
        tokens = sum(event.kind is EventKind.TOKEN for event in events)
        assert tokens + dropped == 1, "the answer's one word came, or is counted"
        assert sum(event.dropped for event in events) == dropped


def test_a_slow_consumer_is_told_how_much_it_missed_on_the_next_event() -> None:
    whom = agent(" ".join(["word"] * 50))
    with World(whom) as world:
        process = world.open()

        async def run() -> tuple[list[Event], int]:
            async with process.runtime.stream(whom, "go", buffer=10) as stream:
                await stream
                return await all_of(stream), stream.dropped

        events, dropped = process.do(run())
        assert [event.kind for event in events] == [EventKind.DONE]
        assert events[-1].dropped == dropped == 50


# rests and the end ------------------------------------------------------------------------------------------


def test_a_run_at_rest_ends_the_stream_and_one_that_went_on_does_not() -> None:
    with World(PAYER) as world:
        process = world.open()
        events, rest = streaming(process, PAYER)
        assert isinstance(rest, Suspended)
        assert following(process, rest.execution_id) == events
        assert following(process, rest.execution_id, 5) == []
        process.do(process.runtime.decide(rest.request.id, approve=True))
        later = following(process, rest.execution_id)
        assert told(later) == [("tool_call", 4), ("approval_required", 5), ("tool_result", 7), ("done", 12)]
        assert "request" not in later[1].data, "what it asked is decided"
        assert later[1].data["request_id"] == rest.request.id


def test_a_partial_decision_comes_to_the_same_rest_and_ends_a_stream_there() -> None:
    whom = agent(calls(call("pay", cents=1), call("pay", cents=2)), "done")
    with World(whom) as world:
        process = world.open()
        _, rest = streaming(process, whom)

        async def run() -> tuple[list[Event], Any]:
            execution = await process.runtime.execution(rest.execution_id)
            through = asyncio.ensure_future(all_of(execution.events(through_rests=True)))
            await process.runtime.decide(rest.request.id, items={"c1": True})
            at_rest = await all_of(execution.events())
            await process.runtime.decide(rest.request.id, items={"c2": True})
            return at_rest, await through

        at_rest, through = process.do(run())
        assert told(at_rest) == [("tool_call", 4), ("tool_call", 4), ("approval_required", 5)]
        assert at_rest[-1].data["undecided"] == ["c2"]
        kinds = [str(event.kind) for event in through]
        assert kinds == [*["tool_call"] * 2, "approval_required", *["tool_result"] * 2, "token", "done"]


def unresolved(world: World) -> str:
    """An execution whose process died inside a tool, adopted and at rest."""
    world.fault("tool:charge", "crash_during_effect")
    first = world.open()
    task = first.begin(first.runtime.start(CHARGER, "go"))
    execution = world.wait(task)
    while first.alive:
        world.advance(1)
    return execution.id


def test_an_effect_that_nobody_knows_of_is_asked_about_in_the_stream() -> None:
    with World(CHARGER) as world:
        execution_id = unresolved(world)
        process = world.open()
        events = following(process, execution_id)
        assert told(events) == [("tool_call", 4), ("recovery_resolution_required", None)]
        assert [subject["subject"] for subject in events[-1].data["subjects"]] == ["c1"]
        assert told(following(process, execution_id, 4)) == [("recovery_resolution_required", None)]
        assert isinstance(process.do(process.runtime.result(execution_id)), NeedsResolution)

        async def run() -> list[Event]:
            execution = await process.runtime.execution(execution_id)
            stream = execution.events(4, through_rests=True)
            asked = await anext(stream)
            await process.runtime.resolve(execution_id, "c1", "succeeded", result="charged")
            return [asked, *await all_of(stream)]

        kinds = [str(event.kind) for event in process.do(run())]
        assert kinds == ["recovery_resolution_required", "tool_result", "token", "done"]


def test_nobody_is_told_of_a_rest_before_the_agent_has_been_let_go() -> None:
    with World(CHARGER) as world:
        execution_id = unresolved(world)
        world.fault("let_go#1", "hold")
        process, opening = world.begin_open()
        while not world.held("let_go#1"):
            world.settle()
        heard: list[Event] = []

        async def follow() -> None:
            async for event in (await process.runtime.execution(execution_id)).events():
                heard.append(event)  # noqa: PERF401 - what is there by now counts

        world.opened(process, opening)
        task = process.begin(follow())
        world.advance(5)
        assert told(heard) == [("tool_call", 4)]
        world.release("let_go#1")
        world.wait(task)
        assert told(heard) == [("tool_call", 4), ("recovery_resolution_required", None)]


# elsewhere --------------------------------------------------------------------------------------------------


def test_a_run_of_another_process_is_followed_through_the_store() -> None:
    with World(PAYER) as world:
        one, two = world.open(), world.open(watch=False)
        execution = one.do(one.runtime.start(PAYER, "go"))

        async def follow() -> list[Event]:
            return await all_of((await two.runtime.execution(execution.id)).events(through_rests=True))

        task = two.begin(follow())
        rest = one.do(_awaited(execution))
        assert isinstance(rest, Suspended)
        world.advance(3)
        one.do(one.runtime.decide(rest.request.id, approve=True))
        events = world.wait(task)
        assert told(events) == [("tool_call", 4), ("approval_required", 5), ("tool_result", 7), ("done", 12)]
        assert events[1].data["request"]["id"] == rest.request.id


async def _awaited(execution: Any) -> Any:
    return await execution


@pytest.mark.parametrize("barrier", ["provider_dispatch#3", "tool_dispatch#2", "tool_outcome#3"])
def test_a_run_that_comes_here_from_a_dead_process_is_followed_without_gap_or_duplicate(barrier: str) -> None:
    with World(LONG, faults=[Fault(barrier, "crash_after_commit")]) as world:
        one, two = world.open(), world.open()
        execution = one.do(one.runtime.start(LONG, "go", id="r1"))

        async def follow() -> list[Event]:
            return await all_of((await two.runtime.execution(execution.id)).events(through_rests=True))

        task = two.begin(follow())
        while one.alive:
            world.advance(0.1)
        while not task.done():
            world.advance(1)
            rest = two.do(two.runtime.result(execution.id))
            if isinstance(rest, NeedsResolution):
                for subject in rest.unresolved:
                    two.do(two.runtime.resolve(execution.id, subject.subject, "not_performed"))
        events = world.wait(task)
        history = list(two.do(two.do(two.runtime.execution(execution.id)).history()))
        assert [event for event in events if event.cursor is not None] == history


def test_what_a_dead_process_wrote_since_the_last_look_is_read_when_its_run_comes_here() -> None:
    with World(LONG, faults=[Fault("provider_dispatch#4", "crash_before_commit")], poll_interval=0) as world:
        one, two = world.open(), world.open()
        execution = one.do(one.runtime.start(LONG, "go"))

        async def follow() -> list[Event]:
            return await all_of((await two.runtime.execution(execution.id)).events())

        world.pause(one)
        task = two.begin(follow())
        world.settle()  # no time passes from here on, so the store is not looked at again
        world.unpause(one)
        world.settle()
        assert not one.alive
        two.begin(two.runtime._watch.look())
        world.settle()
        events = world.wait(task, within=0.0)
        history = list(two.do(execution_history(two, execution.id)))
        assert [event for event in events if event.cursor is not None] == history


async def execution_history(process: Process, execution_id: str) -> Any:
    return await (await process.runtime.execution(execution_id)).history()


@pytest.mark.parametrize(
    "fault",
    [Fault("provider_dispatch#2", "foreign_write_unseen"), Fault("tool_dispatch#1", "foreign_write_unseen")],
    ids=lambda fault: fault.at,
)
def test_a_closed_run_that_is_reloaded_is_followed_from_its_beginning(fault: Fault) -> None:
    with World(ADDER, faults=[fault]) as world:
        process = world.open()
        stream = process.runtime.stream(ADDER, "go")
        with pytest.raises(OutcomeUnknown):
            process.do(all_of(stream))
        execution_id = stream.execution.id
        with pytest.raises(OutcomeUnknown):
            following(process, execution_id)
        process.do(process.runtime.reload(execution_id))
        events = following(process, execution_id, through_rests=True)
        history = list(process.do(execution_history(process, execution_id)))
        assert [event for event in events if event.cursor is not None] == history


def test_who_was_taken_over_goes_on_following_the_run_where_it_is_now() -> None:
    with World(LONG) as world:
        world.fault("provider_dispatch#3", "hold")
        one = world.open()
        stream = one.runtime.stream(LONG, "go")
        task = one.begin(all_of(stream))
        while not world.held("provider_dispatch#3"):
            world.settle()
            world.advance(1)
        world.pause(one)
        world.advance(31)
        two = world.open()
        world.advance(5)
        world.unpause(one)
        world.release("provider_dispatch#3")
        events = world.wait(task)
        history = list(two.do(two.do(two.runtime.execution(stream.execution.id)).history()))
        assert [event for event in events if event.cursor is not None] == history


def test_a_run_that_is_closed_here_ends_the_stream_with_what_is_not_known() -> None:
    with World(ADDER) as world:
        world.fault("outcome", "foreign_write")
        process = world.open()
        with pytest.raises(OutcomeUnknown):
            process.do(all_of(process.runtime.stream(ADDER, "go")))


# a real file ------------------------------------------------------------------------------------------------


def test_cursors_survive_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"

    async def first() -> tuple[str, list[Event], str]:
        async with Runtime(url, [PAYER]) as runtime, runtime.stream(PAYER, "go") as stream:
            events = await all_of(stream)
            rest = await stream
            assert isinstance(rest, Suspended)
            return stream.execution.id, events, rest.request.id

    async def second(execution_id: str, place: str | None, request_id: str) -> tuple[list[Event], list[Event]]:
        async with Runtime(url, [PAYER]) as runtime:
            execution = await runtime.execution(execution_id)
            assert await all_of(execution.events(place)) == []
            follow = asyncio.ensure_future(all_of(execution.events(place, through_rests=True)))
            await runtime.decide(request_id, approve=True)
            return await follow, list(await execution.history())

    execution_id, before, request_id = asyncio.run(first())
    after, history = asyncio.run(second(execution_id, before[-1].id, request_id))
    assert [event.cursor for event in before + after if event.cursor is not None] == [e.cursor for e in history]
    assert str(after[-1].kind) == "done"


def test_two_runtimes_on_one_file_give_the_same_events(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"

    async def run() -> tuple[list[Event], list[Event]]:
        async with Runtime(url, [LONG]) as one, Runtime(url) as two, one.stream(LONG, "go") as here:
            there = (await two.execution(here.execution.id)).events()
            return tuple(await asyncio.gather(all_of(here), all_of(there)))  # type: ignore[return-value]

    here, there = asyncio.run(run())
    assert [event for event in here if event.cursor is not None] == there


# wrong cursors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [-1, 1.0, "", "-5", " 5", "five", "\u0665", "9" * 5000, b"5", True, 2**63, 10**30])
def test_what_is_no_cursor_is_refused_at_once(after: Any) -> None:
    with World(ADDER) as world:
        process = world.open()
        _, rest = streaming(process, ADDER)
        execution = process.do(process.runtime.execution(rest.execution_id))
        with pytest.raises(InvalidArguments, match=r"is no cursor of execution .* give the `id` or the `cursor`"):
            execution.events(after)
        with pytest.raises(InvalidArguments, match="is no cursor of execution"):
            process.do(execution.history(after))


def test_a_cursor_of_elsewhere_is_refused_and_one_of_an_earlier_run_is_the_beginning() -> None:
    whom = agent("one", "two")
    with World(whom) as world:
        process = world.open()
        first, one = streaming(process, whom)
        second, two = streaming(process, whom)
        last = first[-1].cursor
        assert last is not None
        with pytest.raises(InvalidArguments, match=r"after=900 is a place that execution .* has not come to"):
            following(process, two.execution_id, 900)
        with pytest.raises(InvalidArguments, match="has not come to"):
            following(process, one.execution_id, last + 1)
        assert following(process, two.execution_id, last) == [event for event in second if event.cursor]


def test_a_run_that_is_not_there_is_an_error_of_the_iterator() -> None:
    with World(ADDER) as world:
        process = world.open()
        handle = process.do(process.runtime.open(ADDER, "a"))
        execution = process.do(handle.start("go"))
        process.do(_awaited(execution))
        process.do(process.runtime.purge("a"))
        with pytest.raises(ExecutionNotFound):
            process.do(all_of(execution.events()))


def test_a_read_that_is_given_up_loses_nothing() -> None:
    whom = agent(call("add", a=1, b=2), hang(), "done")
    with World(whom) as world:
        process = world.open()
        events: list[Event] = []

        async def run() -> None:
            execution = await process.runtime.start(whom, "go")
            stream = execution.events(tokens=False)
            for _ in range(200):
                task = asyncio.ensure_future(anext(stream))
                await asyncio.sleep(0)
                if task.done():
                    events.append(task.result())
                    continue
                task.cancel()
                await asyncio.wait([task])
                if not task.cancelled():
                    events.append(task.result())
            await process.runtime.cancel(execution.id)
            events.extend(await all_of(stream))

        process.do(run())
        assert [str(event.kind) for event in events] == ["tool_call", "tool_result", "cancelled"]


def test_the_history_tells_the_same_as_a_stream_of_what_is_on_record() -> None:
    agent = clerk()
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)

        async def both() -> tuple[list[Event], list[Event]]:
            execution = await process.runtime.execution(rest.execution_id)
            return list(await execution.history()), [event async for event in execution.events()]

        told, streamed = process.do(both())
        assert [event.to_dict() for event in told] == [event.to_dict() for event in streamed]
        assert told[-1].data["undecided"] == ["c2"]
