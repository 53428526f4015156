"""Listeners that are wrong: no run hangs because of them, and what cannot be one is refused at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pawl import Agent, Completed, Event, Failed, InvalidArguments, Rest, Runtime, scripted

AGENT = Agent(name="talker", model=scripted(["one"], record=False))


class Odd(BaseException):
    """No Exception."""


def cancelled(event: Event) -> None:
    raise asyncio.CancelledError


def odd(event: Event) -> None:
    raise Odd


@pytest.mark.parametrize("listener", [cancelled, odd])
@pytest.mark.parametrize(("how", "kind"), [("report", Completed), ("fail", Completed | Failed)])
def test_a_listener_may_raise_what_is_no_exception_and_the_run_still_settles(
    listener: Callable[[Event], None], how: Any, kind: Any
) -> None:
    async def run() -> tuple[Rest, int]:
        async with Runtime("memory://", [AGENT], on_event=listener, on_listener_error=how) as runtime:
            rest = await asyncio.wait_for(runtime.run(AGENT, "go"), 20)
            return rest, runtime.stats().listener_failures

    rest, failures = asyncio.run(run())
    assert isinstance(rest, kind)
    assert failures == 1


async def waits(event: Event) -> None:
    """A coroutine function: nobody would await what it returns."""


@pytest.mark.parametrize("listener", [waits, "a name", 7])
def test_what_cannot_be_a_listener_is_refused(listener: Any) -> None:
    with pytest.raises(InvalidArguments, match="plain function of an Event"):
        Runtime("memory://", [AGENT], on_event=listener)
