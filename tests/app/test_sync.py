"""`pawl.sync`: for hosts without an event loop, and for those that have one that is not to be used."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pawl import Agent, Completed, InvalidArguments, scripted
from pawl.sync import Runtime


def test_the_blocking_runtime_opens_and_closes_where_a_loop_is_running_as_in_a_notebook(tmp_path: Path) -> None:
    clerk = Agent(name="clerk", model=scripted(["done"]))

    async def cell() -> object:
        with Runtime(f"sqlite:///{tmp_path}/runs.db", [clerk]) as runtime:
            return runtime.run(clerk, "hello")

    assert isinstance(asyncio.run(cell()), Completed)


@pytest.mark.parametrize("agents", [Agent(name="clerk", model=scripted(["done"])), "clerk", None, ["clerk"]])
def test_agents_that_are_no_list_of_agents_are_an_error_that_says_so(agents: Any) -> None:
    with pytest.raises(InvalidArguments, match=r"^agents=.+ must be a list of Agent$"):
        Runtime("memory://", agents)
