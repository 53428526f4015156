"""Consumers that behave badly: neither the run nor any other consumer hears of it, and nothing is left of them."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.test_streaming import ADDER, agent, all_of, told
from pawl import Completed, Event, EventKind, Runtime, call, calls, streamed, sync
from pawl.runtime.simulation.world import World

TALKER = agent(streamed(*(f"{n} " for n in range(300)), call("add", a=1, b=2)), " ".join(["word"] * 300))


class Odd(BaseException):
    """No Exception."""


async def raises(stream: Any) -> None:
    async for _ in stream:
        raise ZeroDivisionError


async def raises_oddly(stream: Any) -> None:
    async for _ in stream:
        raise Odd


async def breaks(stream: Any) -> None:
    async for _ in stream:
        break


async def never_reads(stream: Any) -> None:
    await anext(stream)
    await asyncio.get_running_loop().create_future()


async def reads_slowly(stream: Any) -> None:
    async for _ in stream:
        await asyncio.sleep(1000)


async def leaves_the_block(stream: Any) -> None:
    async with stream:
        await anext(stream)


async def is_cancelled(stream: Any) -> None:
    async for _ in stream:
        raise asyncio.CancelledError


BAD: list[Callable[[Any], Any]] = [
    raises,
    raises_oddly,
    breaks,
    never_reads,
    reads_slowly,
    leaves_the_block,
    is_cancelled,
]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_consumer_changes_nothing_for_the_run_or_for_others(bad: Callable[[Any], Any]) -> None:
    def followed(*consumers: Callable[[Any], Any]) -> tuple[Any, list[Any], list[str], float]:
        with World(TALKER) as world:
            process = world.open()

            async def run() -> tuple[Any, list[Event]]:
                async with process.runtime.stream(TALKER, "go") as stream:
                    others = [
                        asyncio.ensure_future(consumer(stream.execution.events(buffer=2))) for consumer in consumers
                    ]
                    events, rest = await all_of(stream), await stream
                    for other in others:
                        other.cancel()
                    await asyncio.gather(*others, return_exceptions=True)
                    return rest, events

            rest, events = process.do(run())
            gc.collect()
            assert len(process.runtime._keeper.streams) == 0
            return rest, told(events), [str(entry.kind) for entry in world.journal("a")], world.now

    alone, beside = followed(), followed(bad)
    assert isinstance(beside[0], Completed)
    assert beside[1:3] == alone[1:3]
    assert beside[3] == alone[3], "the run took no longer"


def test_what_a_consumer_that_never_reads_holds_is_bounded() -> None:
    with World(TALKER) as world:
        process = world.open()

        async def run() -> tuple[int, int]:
            async with process.runtime.stream(TALKER, "go", buffer=7) as stream:
                await stream
                return len(stream._buffer), stream.dropped

        assert process.do(run()) == (3, 600), "a call, its result and the end"


def test_a_consumer_that_is_only_dropped_is_collected_and_detached() -> None:
    whom = agent("one", "two", "three")
    with World(whom) as world:
        process = world.open()

        async def run() -> tuple[weakref.ref[Any], bool]:
            stream = process.runtime.stream(whom, "go")
            await anext(stream)
            return weakref.ref(stream), process.runtime._keeper.streams.watched(stream.execution.id)

        gone, watched = process.do(run())
        assert watched
        gc.collect()
        assert gone() is None
        assert len(process.runtime._keeper.streams) == 0


def test_no_task_is_left_of_streams_when_the_runtime_is_closed(tmp_path: Path) -> None:
    async def main() -> list[Any]:
        async with Runtime(f"sqlite:///{tmp_path}/runs.db", [TALKER], close_timeout=0.1) as runtime:
            handle = await runtime.open(TALKER, "a")
            async with handle.stream("go") as stream:
                await anext(stream)
            followers = [asyncio.ensure_future(all_of(stream.execution.events())) for _ in range(5)]
            await asyncio.gather(*followers)
            breaking = handle.stream("more")
            async for _ in breaking:
                break
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert asyncio.run(main()) == []


def test_many_consumers_of_one_run_on_a_real_loop_all_hear_the_same(tmp_path: Path) -> None:
    whom = agent(*(calls(call("add", a=n, b=n), call("add", a=n, b=1)) for n in range(5)), "done", max_iterations=9)

    async def main() -> list[list[Event]]:
        async with Runtime(f"sqlite:///{tmp_path}/runs.db", [whom]) as runtime, runtime.stream(whom, "go") as stream:
            found = await asyncio.gather(
                all_of(stream), *(all_of(stream.execution.events(buffer=n)) for n in range(1, 20))
            )
            return [list(await stream.execution.history()), *found]

    history, *found = asyncio.run(main())
    assert all([event for event in events if event.kind is not EventKind.TOKEN] == history for events in found)


# blocking ---------------------------------------------------------------------------------------------------


def test_a_synchronous_host_iterates_a_streamed_run(tmp_path: Path) -> None:
    with sync.Runtime(f"sqlite:///{tmp_path}/runs.db", [ADDER]) as runtime:
        with runtime.stream(ADDER, "go") as stream:
            events = list(stream)
            assert isinstance(stream.wait(), Completed)
            execution = stream.execution
        assert [event.data["text"] for event in events if event.kind is EventKind.TOKEN] == [
            *("Let me ", "add.", "three, ", "seven")
        ]
        assert list(execution.events()) == [event for event in events if event.cursor is not None]
        assert stream.dropped == 0
        assert list(runtime.open(ADDER, "b").stream("go"))[-1].kind is EventKind.DONE
        stream.close()
        assert list(stream) == []
    stream.close()


def test_a_synchronous_consumer_may_leave_from_any_thread(tmp_path: Path) -> None:
    whom = agent(*["one"] * 10)
    with sync.Runtime(f"sqlite:///{tmp_path}/runs.db", [whom]) as runtime:

        def follow(number: int) -> None:
            for event in runtime.stream(whom, "go", agent_id=f"a{number}"):
                if event.kind is EventKind.TOKEN:
                    break
            left.append(number)

        left: list[int] = []
        threads = [threading.Thread(target=follow, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(left) == list(range(8))
        for record in runtime.executions():
            assert isinstance(runtime.execution(record.execution_id).wait(), Completed)
        gc.collect()
        assert len(runtime._inner._keeper.streams) == 0
