"""The asyncio environment: every piece of work tells once of its end, on the loop."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest

from pawl.runtime.loop.environment import AsyncioEnvironment

Told = list[tuple[Any, type[BaseException] | None]]


def on_a_loop(work: Callable[[AsyncioEnvironment, Told], Awaitable[None]]) -> Told:
    """What was told to `done` while `work` ran."""
    told: Told = []

    async def run() -> None:
        environment = AsyncioEnvironment(workers=1)
        await work(environment, told)
        await environment.close()

    asyncio.run(run())
    gc.collect()  # a coroutine that was never awaited, or an exception that nobody retrieved, would be reported here
    return told


def noting(told: Told) -> Callable[[Any, BaseException | None], None]:
    return lambda value, error: told.append((value, None if error is None else type(error)))


async def some_turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def gives(value: str) -> str:
    await asyncio.sleep(0)
    return value


async def fails() -> str:
    raise LookupError


def test_a_coroutine_s_value_is_told() -> None:
    async def work(environment: AsyncioEnvironment, told: Told) -> None:
        environment.spawn(gives("yes"), noting(told))
        await some_turns()

    assert on_a_loop(work) == [("yes", None)]


def test_a_coroutine_s_error_is_told_and_reported_to_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    async def work(environment: AsyncioEnvironment, told: Told) -> None:
        environment.spawn(fails(), noting(told))
        await some_turns()

    assert on_a_loop(work) == [(None, LookupError)]
    assert caplog.records == []


def test_a_coroutine_is_told_of_when_it_ends_not_when_it_is_cancelled() -> None:
    async def work(environment: AsyncioEnvironment, told: Told) -> None:
        released = asyncio.Event()

        async def stubborn() -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await released.wait()
            return "late"

        job = environment.spawn(stubborn(), noting(told))
        await some_turns()
        job.cancel()
        await some_turns()
        assert told == []
        released.set()
        await some_turns()

    assert on_a_loop(work) == [("late", None)]


@pytest.mark.parametrize("turns", [0, 1])
def test_a_cancelled_coroutine_is_told_of_once_also_before_its_first_step(turns: int) -> None:
    async def work(environment: AsyncioEnvironment, told: Told) -> None:
        job = environment.spawn(asyncio.Event().wait(), noting(told))
        for _ in range(turns):
            await asyncio.sleep(0)
        job.cancel()
        await some_turns()

    assert on_a_loop(work) == [(None, asyncio.CancelledError)]


def test_closing_cancels_what_still_runs() -> None:
    async def work(environment: AsyncioEnvironment, told: Told) -> None:
        environment.spawn(asyncio.Event().wait(), noting(told))

    assert on_a_loop(work) == [(None, asyncio.CancelledError)]


def test_an_error_of_whoever_is_told_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def work(environment: AsyncioEnvironment, told: Told) -> None:
        environment.spawn(gives("x"), lambda value, error: told.append((1 // 0, None)))
        await some_turns()

    assert on_a_loop(work) == []
    assert "ZeroDivisionError" in caplog.text


def test_a_callback_comes_in_a_later_turn_from_any_thread() -> None:
    async def work(environment: AsyncioEnvironment, told: Told) -> None:
        def note() -> None:
            told.append((threading.get_ident() == home, None))

        home = threading.get_ident()
        environment.wake(note)
        assert told == []
        await asyncio.sleep(0)
        other = threading.Thread(target=environment.wake, args=(note,))
        other.start()
        await asyncio.to_thread(other.join)
        await some_turns()

    assert on_a_loop(work) == [(True, None), (True, None)]


def test_blocking_work_is_told_of_on_the_loop() -> None:
    async def work(environment: AsyncioEnvironment, told: Told) -> None:
        ended = asyncio.Event()
        home, ran = threading.get_ident(), list[int]()

        def body() -> str:
            ran.append(threading.get_ident())
            return "yes"

        def done(value: Any, error: BaseException | None) -> None:
            told.append((value, None if error is None else type(error)))
            assert threading.get_ident() == home
            ended.set()

        environment.offload(body, done)
        await ended.wait()
        assert ran != [home]

    assert on_a_loop(work) == [("yes", None)]


def test_what_runs_sees_the_context_in_which_the_environment_was_made() -> None:
    who: ContextVar[str] = ContextVar("who", default="nobody")

    async def work(environment: AsyncioEnvironment, told: Told) -> None:
        async def ask() -> str:
            return who.get()

        def start() -> None:
            environment.spawn(ask(), noting(told))

        who.set("somebody else")
        environment.wake(lambda: told.append((who.get(), None)))
        await some_turns()
        environment.wake(start)
        await some_turns()

    assert on_a_loop(work) == [("nobody", None), ("nobody", None)]
