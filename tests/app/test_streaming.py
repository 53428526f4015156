"""Streams of a run that is run here: tokens and all other events, in order, each once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pawl import (
    Agent,
    Cancelled,
    Completed,
    Event,
    EventKind,
    Failed,
    InvalidArguments,
    MalformedModelAnswer,
    ModelAnswer,
    ModelError,
    ModelRequest,
    RuntimeClosed,
    Suspended,
    call,
    calls,
    hang,
    scripted,
    streamed,
    tool,
)
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(approval=True, recovery="replay")
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


def agent(*script: Any, **options: Any) -> Agent:
    return Agent(name="a", model=scripted(script, record=False), tools=[add, pay], **options)


ADDER = agent(streamed("Let me ", "add.", call("add", a=1, b=2), call("add", a=3, b=4)), "three, seven")
PAYER = agent(call("pay", cents=5), "all paid")


def told(events: list[Event]) -> list[Any]:
    """Tokens as their text, all else as kind and cursor."""
    return [
        event.data["text"] if event.kind is EventKind.TOKEN else (str(event.kind), event.cursor) for event in events
    ]


async def all_of(stream: Any) -> list[Event]:
    return [event async for event in stream]


def streaming(process: Process, whom: Agent, **options: Any) -> tuple[list[Event], Any]:
    """The events of a streamed run, and its first rest."""

    async def run() -> tuple[list[Event], Any]:
        async with process.runtime.stream(whom, "go", **options) as stream:
            return await all_of(stream), await stream

    return process.do(run())


def following(process: Process, execution_id: str, *arguments: Any, **options: Any) -> list[Event]:
    async def run() -> list[Event]:
        execution = await process.runtime.execution(execution_id)
        return await all_of(execution.events(*arguments, **options))

    return process.do(run())


def test_a_streamed_run_gives_tokens_and_every_durable_event_in_order() -> None:
    with World(ADDER) as world:
        process = world.open()
        events, rest = streaming(process, ADDER)
        assert isinstance(rest, Completed)
        assert told(events) == [
            *("Let me ", "add."),
            *(("tool_call", 4), ("tool_call", 4), ("tool_result", 5), ("tool_result", 7)),
            *("three, ", "seven"),
            ("done", 12),
        ]
        durable = [event for event in events if event.cursor is not None]
        assert durable == list(process.do(process.do(process.runtime.execution(rest.execution_id)).history()))


def test_tokens_name_the_call_that_they_are_of_and_are_on_no_record() -> None:
    with World(ADDER) as world:
        process = world.open()
        events, rest = streaming(process, ADDER)
        tokens = [event for event in events if event.kind is EventKind.TOKEN]
        recorded = [entry.meta["llm_call_id"] for entry in world.journal("a") if str(entry.kind) == "llm_call_recorded"]
        assert [event.data["llm_call_id"] for event in tokens] == [recorded[0]] * 2 + [recorded[1]] * 2
        assert not [event for event in following(process, rest.execution_id) if event.kind is EventKind.TOKEN]


def test_nobody_who_streams_means_that_the_provider_is_not_asked_to() -> None:
    asked: list[str] = []

    class Model:
        name = "m"

        async def complete(self, request: ModelRequest) -> ModelAnswer:
            asked.append("complete")
            return ModelAnswer("whole")

        async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelAnswer]:
            asked.append("stream")
            yield "wh"
            yield "ole"
            yield ModelAnswer("whole")

        async def aclose(self) -> None: ...

    whom = Agent(name="a", model=Model())
    with World(whom) as world:
        process = world.open()
        process.do(process.runtime.run(whom, "go"))
        events, _ = streaming(process, whom)
        assert told(events)[:2] == ["wh", "ole"]

        async def without() -> list[Event]:
            execution = await process.runtime.start(whom, "go")
            return await all_of(execution.events(tokens=False))

        assert [str(event.kind) for event in process.do(without())] == ["done"]
    assert asked == ["complete", "stream", "complete"]


def test_a_provider_without_stream_gives_its_text_as_one_token() -> None:
    class Model:
        name = "m"

        async def complete(self, request: ModelRequest) -> ModelAnswer:
            return ModelAnswer("whole answer")

        async def aclose(self) -> None: ...

    whom = Agent(name="a", model=Model())
    with World(whom) as world:
        assert told(streaming(world.open(), whom)[0]) == ["whole answer", ("done", 6)]


def test_a_stream_ends_at_a_rest_and_its_request_is_there_to_be_decided() -> None:
    with World(PAYER) as world:
        process = world.open()
        events, rest = streaming(process, PAYER)
        assert isinstance(rest, Suspended)
        assert told(events) == [("tool_call", 4), ("approval_required", 5)]
        assert events[-1].data["request"]["id"] == events[-1].data["request_id"] == rest.request.id
        assert events[-1].data["undecided"] == events[-1].data["calls"] == ["c1"]


@pytest.mark.parametrize(
    ("through", "expected"),
    [(True, [Suspended, Completed, Completed, Suspended]), (False, [Suspended, Suspended, Suspended, Suspended])],
)
def test_a_stream_through_rests_is_awaited_for_the_last_rest_and_another_for_the_first(
    through: bool, expected: list[type]
) -> None:
    with World(PAYER) as world:
        process = world.open()

        async def follow() -> list[Any]:
            found: list[Any] = []
            async with process.runtime.stream(PAYER, "go", through_rests=through) as stream:
                found.append(await stream)
                decided = asyncio.ensure_future(process.runtime.decide(found[0].request.id, approve=True))
                await all_of(stream)
                await decided
                return [*found, await stream, await stream, await stream.execution]

        assert [type(rest) for rest in process.do(follow())] == expected


def test_a_stream_through_rests_ends_with_the_run() -> None:
    with World(PAYER) as world:
        process = world.open()
        heard: list[Event] = []

        async def follow() -> None:
            async for event in process.runtime.stream(PAYER, "go", through_rests=True):
                heard.append(event)
                if event.kind is EventKind.APPROVAL_REQUIRED:
                    # at once: the agent has been let go before anybody was told
                    decided.append(asyncio.ensure_future(decide(event)))
            await asyncio.gather(*decided)

        async def decide(event: Event) -> Any:
            return await process.runtime.decide(event.data["request"]["id"], approve=True)

        decided: list[asyncio.Future[Any]] = []
        process.do(follow())
        assert told(heard) == [
            *(("tool_call", 4), ("approval_required", 5), ("tool_result", 7), "all ", "paid", ("done", 12)),
        ]


def test_a_stream_can_be_awaited_alone_and_starts_its_run_once() -> None:
    with World(ADDER) as world:
        process = world.open()

        async def run() -> tuple[Any, Any, int]:
            handle = await process.runtime.open(ADDER, "a")
            stream = handle.stream("go", id="r1")
            first, second = await asyncio.gather(stream, stream)
            return first, second, len(await process.runtime.executions())

        first, second, runs = process.do(run())
        assert first == second
        assert runs == 1


def test_the_same_id_again_follows_the_same_run_from_its_beginning() -> None:
    with World(ADDER) as world:
        process = world.open()
        events, rest = streaming(process, ADDER, id="r1")
        again, same = streaming(process, ADDER, id="r1")
        assert same.execution_id == rest.execution_id
        assert again == [event for event in events if event.cursor is not None]


def test_a_stream_that_is_never_used_starts_nothing() -> None:
    with World(ADDER) as world:
        process = world.open()
        stream = process.runtime.stream(ADDER, "go")
        with pytest.raises(InvalidArguments, match="has not started its run yet"):
            _ = stream.execution
        process.do(stream.aclose())
        assert process.do(process.runtime.executions()) == []


def test_a_start_that_is_refused_raises_from_the_stream_and_leaves_no_consumer() -> None:
    with World(PAYER) as world:
        process = world.open()
        streaming(process, PAYER, id="r1")
        for use in (all_of, _entered, _awaited):
            with pytest.raises(Exception, match="is busy with execution"):
                process.do(use(process.runtime.stream(PAYER, "more", id="r2")))
        assert len(process.runtime._keeper.streams) == 0


async def _entered(stream: Any) -> None:
    async with stream:
        pass


async def _awaited(stream: Any) -> None:
    await stream


def test_a_wrong_answer_of_a_stream_fails_the_run_like_any_other() -> None:
    class Model:
        name = "m"

        async def complete(self, request: ModelRequest) -> ModelAnswer:
            raise AssertionError("not asked")

        async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
            yield "half"
            yield 5

        async def aclose(self) -> None: ...

    whom = Agent(name="a", model=Model())
    with World(whom) as world:
        events, rest = streaming(world.open(), whom)
        assert isinstance(rest, Failed)
        assert rest.error.type == MalformedModelAnswer.__name__
        assert told(events) == ["half", ("error", 4)]


def test_a_stream_that_breaks_in_the_middle_fails_the_run_and_shows_what_came() -> None:
    whom = agent(streamed("half ", ModelError("lost")))
    with World(whom) as world:
        events, rest = streaming(world.open(), whom)
        assert isinstance(rest, Failed)
        assert told(events) == ["half ", ("error", 4)]


def test_a_call_that_is_made_again_streams_under_another_id() -> None:
    whom = agent(streamed("ha", ModelError("busy", retry_safe=True)), "half whole")
    with World(whom) as world:
        events, rest = streaming(world.open(), whom)
        assert isinstance(rest, Completed)
        tokens = [event for event in events if event.kind is EventKind.TOKEN]
        assert [event.data["text"] for event in tokens] == ["ha", "half ", "whole"]
        assert len({event.data["llm_call_id"] for event in tokens}) == 2


def test_cancelling_in_the_middle_of_a_stream_ends_the_run_and_the_call() -> None:
    ended: list[str] = []

    class Model:
        name = "m"

        async def complete(self, request: ModelRequest) -> ModelAnswer:
            raise AssertionError("not asked")

        async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
            try:
                yield "half"
                await asyncio.get_running_loop().create_future()
            finally:
                ended.append("closed")

        async def aclose(self) -> None: ...

    whom = Agent(name="a", model=Model())
    with World(whom) as world:
        process = world.open()

        async def run() -> tuple[list[Event], Any]:
            heard: list[Event] = []
            async with process.runtime.stream(whom, "go") as stream:
                async for event in stream:
                    heard.append(event)
                    if event.kind is EventKind.TOKEN:
                        await process.runtime.cancel(stream.execution.id)
                return heard, await stream

        heard, rest = process.do(run())
        assert isinstance(rest, Cancelled)
        assert told(heard) == ["half", ("cancelled", 4)]
        assert ended == ["closed"]


def test_tokens_of_a_call_that_is_over_are_dropped_and_counted() -> None:
    class Model:
        """Goes on giving pieces for a while after it was cancelled."""

        name = "m"

        async def complete(self, request: ModelRequest) -> ModelAnswer:
            raise AssertionError("not asked")

        async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
            try:
                yield "early"
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                yield "late"
                yield ModelAnswer("early late")

        async def aclose(self) -> None: ...

    whom = Agent(name="a", model=Model())
    with World(whom) as world:
        process = world.open()

        async def run() -> tuple[list[Event], Any]:
            heard: list[Event] = []
            async with process.runtime.stream(whom, "go") as stream:
                async for event in stream:
                    heard.append(event)
                    if event.kind is EventKind.TOKEN:
                        await process.runtime.cancel(stream.execution.id)
                return heard, await stream

        heard, rest = process.do(run())
        assert isinstance(rest, Cancelled)
        assert told(heard)[0] == "early"
        assert "late" not in told(heard)
        assert process.dropped["llm_stream_chunk"] == 1


def test_a_hanging_stream_is_left_by_its_consumer_and_the_run_goes_on() -> None:
    whom = agent(streamed("a ", hang()))
    with World(whom) as world:
        process = world.open()

        async def run() -> Any:
            async with process.runtime.stream(whom, "go") as stream:
                async for _ in stream:
                    break
            assert len(process.runtime._keeper.streams) == 0
            assert process.executing
            await process.runtime.cancel(stream.execution.id)
            return await stream

        assert isinstance(process.do(run()), Cancelled)


def test_closing_the_runtime_ends_a_stream_with_an_error_that_says_so() -> None:
    whom = agent(streamed("a ", hang()))
    with World(whom, close_timeout=0.0) as world:
        process = world.open()
        heard: list[Event] = []

        async def follow() -> None:
            async for event in process.runtime.stream(whom, "go"):
                heard.append(event)  # noqa: PERF401

        task = process.begin(follow())
        while not heard:
            world.settle()
        process.begin(process.runtime.close())
        with pytest.raises(RuntimeClosed):
            world.wait(task)
        assert told(heard) == ["a "]


def test_two_consumers_of_one_run_each_get_everything() -> None:
    with World(ADDER) as world:
        process = world.open()

        async def run() -> list[list[Event]]:
            async with process.runtime.stream(ADDER, "go") as stream:
                return list(await asyncio.gather(all_of(stream), all_of(stream.execution.events())))

        one, other = process.do(run())
        assert one == other
        assert len(one) == 9


def test_one_stream_has_one_reader_at_a_time() -> None:
    whom = agent(streamed(hang()))
    with World(whom) as world:
        process = world.open()
        execution = process.do(process.runtime.start(whom, "go"))
        stream = execution.events()
        first = process.begin(anext(stream))
        world.settle()
        with pytest.raises(InvalidArguments, match="one consumer reads a stream at a time"):
            process.do(anext(stream))
        process.do(process.runtime.cancel(execution.id))
        assert world.wait(first).kind is EventKind.CANCELLED


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"buffer": 0}, "buffer=0"),
        ({"buffer": True}, "buffer=True"),
        ({"through_rests": 1}, "through_rests=1"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(options: dict[str, Any], says: str) -> None:
    with World(ADDER) as world:
        process = world.open()
        with pytest.raises(InvalidArguments, match=says):
            process.runtime.stream(ADDER, "go", **options)


def test_a_batch_of_calls_is_one_place_in_the_journal_and_says_so() -> None:
    whom = agent(calls(call("add", a=1, b=2), call("add", a=3, b=4)), "done")
    with World(whom) as world:
        events, _ = streaming(world.open(), whom)
        first, second = (event for event in events if event.kind is EventKind.TOOL_CALL)
        assert (first.cursor, first.more, first.id) == (second.cursor, True, None)
        assert (second.more, second.id) == (False, str(second.cursor))
