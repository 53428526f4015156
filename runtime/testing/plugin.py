"""The pytest side of `pawl.testing`: the fixture `pawl_world`, and coroutines as tests."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from pawl.runtime.testing.world import MakeWorld, World

_FAILED = pytest.StashKey[bool]()


@pytest.fixture
def pawl_world(request: pytest.FixtureRequest) -> Iterator[MakeWorld]:
    """Make a World: `world = pawl_world(agent, model=["…"])`, as often as you like. See `pawl.testing.World`.

    At the end of a test that has passed each is closed with its checks: nothing may be left running.
    """
    worlds: list[World] = []

    def make(*agents: Any, **options: Any) -> World:
        world = World(*agents, **options)
        worlds.append(world)
        return world

    yield make
    passed = not request.node.stash.get(_FAILED, False)
    problems: list[AssertionError] = []
    for world in reversed(worlds):
        try:
            world.close(check=passed)
        except AssertionError as error:
            problems.append(error)
    if problems:
        raise problems[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Remember which tests have failed: their worlds are closed without checks, which would only add noise."""
    report = yield
    if report.when == "call" and not report.passed:
        item.stash[_FAILED] = True
    return report


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine function that uses `pawl_world`, where no other plugin does."""
    function = pyfuncitem.obj
    if "pawl_world" not in pyfuncitem.fixturenames or not inspect.iscoroutinefunction(function):
        return None
    names = inspect.signature(function).parameters
    asyncio.run(function(**{name: value for name, value in pyfuncitem.funcargs.items() if name in names}))
    return True
