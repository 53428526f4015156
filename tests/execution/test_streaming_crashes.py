"""Every fault at every place of a streamed run: the run is as ever, and who follows it gets its journal, in order."""

from __future__ import annotations

from typing import Any

import pytest

from execution.programs import Seen, clerk, named, run, single_faults
from pawl import Event, EventKind, PawlError
from pawl.runtime.records.events import durable_events
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World

CLERK = clerk()


class Followed(World):
    """A world in each process of which one consumer starts the run and follows it, and one goes on where it was."""

    def __init__(self, *agents: Any, **options: Any) -> None:
        self.from_the_start: list[list[Event]] = []
        self.going_on: list[Event] = []
        self.place, self.kept = 0, 0
        self.troubles: list[str] = []
        super().__init__(*agents, **options)

    def open(self, *agents: Any, **options: Any) -> Process:
        process = super().open(*agents, **options)
        process.begin(self._follow(process))
        process.begin(self._go_on(process))
        return process

    async def _follow(self, process: Process) -> None:
        heard: list[Event] = []
        self.from_the_start.append(heard)
        await self._heard(process.runtime.stream(CLERK, "go", id="req-1", through_rests=True), heard)

    async def _go_on(self, process: Process) -> None:
        del self.going_on[self.kept :]  # what is in the middle of a record comes again
        try:
            execution = await process.runtime.start(CLERK, "go", id="req-1")
        except PawlError as error:
            self.troubles.append(type(error).__name__)
        else:
            await self._heard(execution.events(self.place, through_rests=True, buffer=2), self.going_on)

    async def _heard(self, stream: Any, heard: list[Event]) -> None:
        try:
            async for event in stream:
                if event.kind is EventKind.TOKEN:
                    continue
                if event.cursor is not None:
                    heard.append(event)
                if heard is self.going_on and event.id is not None:
                    self.place, self.kept = int(event.id), len(heard)
        except PawlError as error:
            self.troubles.append(type(error).__name__)


def followed(*faults: Fault) -> tuple[Seen, list[Event], Followed, list[Fault]]:
    with Followed(CLERK, faults=faults) as world:
        result, client = run(world, CLERK)
        execution_id = client.rests[-1].execution_id
        world.advance(30)  # for those who look at the store
        told = [
            event
            for entry in world.journal("clerk")
            for event in durable_events(entry.kind, "clerk", execution_id, entry.position, entry.body, entry.meta)
        ]
        return result, told, world, single_faults(world)


EXPECTED, HISTORY, WORLD, FAULTS = followed()


def test_an_undisturbed_run_is_followed_by_both() -> None:
    assert [str(event.kind) for event in HISTORY] == [
        *["tool_call"] * 3, "approval_required", *["tool_result"] * 3, "done"
    ]  # fmt: skip
    assert [shown(heard) for heard in WORLD.from_the_start] == [shown(HISTORY)]
    assert shown(WORLD.going_on) == shown(HISTORY)
    assert WORLD.troubles == []


@pytest.mark.parametrize("fault", FAULTS, ids=named)
def test_one_fault_anywhere_changes_nothing_for_the_run_and_loses_or_repeats_nothing_for_who_follows(
    fault: Fault,
) -> None:
    result, history, world, _ = followed(fault)
    assert (result.outcome, result.output, result.kinds, result.statuses) == (
        EXPECTED.outcome,
        EXPECTED.output,
        EXPECTED.kinds,
        EXPECTED.statuses,
    )
    for heard in world.from_the_start:
        assert shown(heard) == shown(history)[: len(heard)]
    assert shown(world.going_on) == shown(history)[: len(world.going_on)]
    if not world.troubles:
        assert len(world.going_on) == len(world.from_the_start[-1]) == len(history)


def shown(events: list[Event]) -> list[tuple[str, int | None, Any]]:
    """What tells events apart; what an approval says of its request depends on when it is read."""
    return [(str(event.kind), event.cursor, event.data.get("id") or event.data.get("tool_call_id")) for event in events]
