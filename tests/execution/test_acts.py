"""An act begins under a lease that holds, or when the store has said that the agent is still ours; else never."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pawl.runtime.agent.context import Cancellation
from pawl.runtime.execution.act import Act, Lapsed
from pawl.runtime.loop.environment import Cancellable
from pawl.runtime.loop.pool import JobSkipped


class Stage:
    """A shop and a permit in one: what was started waits for `turn`, what was asked for `say`."""

    def __init__(self, is_async: bool, holds: bool = True) -> None:
        self.is_async, self.leased = is_async, holds
        self.begun, self.over = 0, list[Any]()
        self.started: list[tuple[Callable[[], Any], Callable[[], Any], Any]] = []
        self.asked: list[Callable[[bool], None]] = []
        self.held: list[Cancellable] = []
        self.cancellation = Cancellation()
        ended = lambda value, error: self.over.append(error or value)  # noqa: E731
        self.act = Act(self, "a", self, is_async, self.async_body if is_async else self.body, ended, self.cancellation)
        self.act.go()

    def body(self) -> str:
        self.begun += 1
        return "done"

    async def async_body(self) -> str:
        return self.body()

    def holds(self) -> bool:
        return self.leased

    def confirm(self, then: Callable[[bool], None]) -> None:
        self.asked.append(then)

    def start(
        self,
        name: str,
        is_async: bool,
        blocking: Callable[[], Any],
        coroutine: Callable[[], Any],
        ended: Any,
        cancellation: Cancellation | None = None,
    ) -> None:
        self.started.append((blocking, coroutine, ended))

    def hold(self, name: str, job: Cancellable, cancellation: Cancellation | None) -> None:
        self.held.append(job)

    def turn(self) -> None:
        """What was started comes to run."""
        blocking, coroutine, ended = self.started.pop(0)
        try:
            value = asyncio.run(coroutine()) if self.is_async else blocking()
        except Lapsed as error:
            ended(None, error)
        else:
            ended(value, None)

    def say(self, ours: bool) -> None:
        """The store's answer."""
        self.leased = ours
        self.asked.pop(0)(ours)


KINDS = pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "async"])


@KINDS
def test_under_a_lease_that_holds_it_begins_and_nobody_is_asked(is_async: bool) -> None:
    stage = Stage(is_async)
    stage.turn()
    assert (stage.begun, stage.over, stage.asked) == (1, ["done"], [])


@KINDS
def test_without_one_it_begins_when_the_store_says_that_the_agent_is_ours(is_async: bool) -> None:
    stage = Stage(is_async, holds=False)
    assert stage.started == []
    stage.say(True)
    stage.turn()
    assert (stage.begun, stage.over) == (1, ["done"])


@KINDS
def test_it_never_begins_for_an_agent_that_is_somebody_else_s(is_async: bool) -> None:
    stage = Stage(is_async, holds=False)
    stage.say(False)
    assert (stage.started, stage.begun) == ([], 0)
    assert isinstance(stage.over[0], JobSkipped)


@KINDS
@pytest.mark.parametrize("ours", [True, False])
def test_a_lease_that_ran_out_while_it_waited_for_its_turn_is_asked_about_first(is_async: bool, ours: bool) -> None:
    stage = Stage(is_async)
    stage.leased = False
    stage.turn()
    assert (stage.begun, stage.over, len(stage.asked)) == (0, [], 1)
    stage.say(ours)
    if ours:
        stage.turn()
    assert stage.begun == ours
    assert len(stage.over) == 1


@KINDS
@pytest.mark.parametrize("how", ["job", "cancellation"])
def test_what_is_called_off_while_the_store_is_asked_never_begins(is_async: bool, how: str) -> None:
    stage = Stage(is_async, holds=False)
    if how == "job":
        stage.held[-1].cancel()
    else:
        stage.cancellation.set()
    stage.say(True)
    assert (stage.started, stage.begun) == ([], 0)
    assert isinstance(stage.over[0], JobSkipped)
