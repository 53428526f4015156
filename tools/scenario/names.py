"""Names in a scenario: what a step, a fault or an expectation speaks of must exist."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from pawl.generated import agent_invocation, tool_invocation
from pawl.runtime.simulation.scenario import PLACES, Expected, Place, Scenario
from pawl.runtime.simulation.steps import (
    FIRST,
    Beside,
    Cancel,
    Change,
    Decide,
    End,
    Expect,
    Fails,
    Hold,
    Open,
    Redeliver,
    Release,
    Resolve,
    Start,
    Step,
    Team,
)
from pawl.tools.compiler.findings import listed, quoted, suggest
from pawl.tools.compiler.model import Position
from pawl.tools.scenario.reader import Reader

EVENTS: Final = frozenset(
    str(event) for machine in (agent_invocation.MACHINE, tool_invocation.MACHINE) for event in machine.event
)
"""What can come too late."""


def check_names(scenario: Scenario, reader: Reader) -> None:
    """Note every name that nothing has."""
    _Names(scenario, reader).check()


class _Names:
    def __init__(self, scenario: Scenario, reader: Reader) -> None:
        self._scenario, self._reader = scenario, reader
        self._runs: set[str] = set()
        self._logical: dict[str, str] = {}
        self._processes: set[str] = {FIRST}

    def check(self) -> None:
        scenario = self._scenario
        for step in scenario.steps:
            self._step(step)
        for key, answers in scenario.model.items():
            at = answers[0].at if answers else scenario.at
            self._known("a definition or a logical agent", key, (*scenario.agents, *self._logical), at)
        for fault in scenario.faults:
            self._fault(fault.at, fault.place)
            if fault.run is not None:
                self._known("a run", fault.run, self._runs, fault.place)
        if scenario.expect is not None:
            self._expected(scenario.expect)

    def _fault(self, at: str, place: Place | None) -> None:
        name = at.partition("#")[0]
        if name.startswith("tool:"):
            self._known("a tool", name.removeprefix("tool:"), self._tools(), place)
        elif name != "model":
            self._known("a barrier", name, PLACES, place)

    def _tools(self) -> Collection[str]:
        changed = [step.to for step in self._every() if isinstance(step, Change)]
        return {tool for agent in (*self._scenario.agents.values(), *changed) for tool in agent.tools}

    def _every(self) -> Iterator[Step]:
        for step in self._scenario.steps:
            yield step.step if isinstance(step, Fails) else step

    def _step(self, step: Step) -> None:
        agents = self._scenario.agents
        where = getattr(step, "process", None)
        if where is not None:
            self._known("a process", where, self._processes, step.at)
        match step:
            case Open():
                self._known("a definition", step.agent, agents, step.at)
                self._logical[step.name or step.agent] = step.agent
            case Start():
                self._known("a definition or a logical agent", step.agent, (*agents, *self._logical), step.at)
                self._logical.setdefault(step.agent, step.agent)
                self._runs.add(step.name)
            case Team():
                self._known("a team", step.team, self._scenario.teams, step.at)
                self._runs.add(step.name)
            case Decide() | Cancel() | Resolve():
                self._known("a run", step.run, self._runs, step.at)
            case Redeliver():
                self._known("a run", step.of, self._runs, step.at)
            case Hold() | Release() if step.what != "model":
                self._known("a tool", step.what, self._tools(), step.at)
            case Beside():
                self._processes.add(step.name)
            case End():
                self._known("a process", step.name, self._processes, step.at)
            case Change():
                self._known("a definition", step.agent, agents, step.at)
            case Expect():
                self._expected(step.expected)
            case Fails():
                self._step(step.step)
            case _:
                pass

    def _expected(self, expected: Expected) -> None:
        agents = (*self._scenario.agents, *self._logical)
        for run, wanted in expected.runs.items():
            self._known("a run", run, self._runs, wanted.at)
        for tool in expected.effects or ():
            self._known("a tool", tool, self._tools(), expected.at)
        for name in (*(expected.model_calls or ()), *expected.model_input):
            self._known("a definition or a logical agent", name, agents, expected.at)
        for event in expected.stale:
            self._known("an event of runs and their calls", event, EVENTS, expected.at)
        for name in (*expected.admission, *expected.owner, *expected.transcript):
            self._known("a logical agent", name, self._logical, expected.at)

    def _known(self, what: str, name: str, known: Collection[str], at: Place | None) -> None:
        if name not in known:
            place = Position(at.file, at.line, at.column) if at is not None else Position("", 1, 1)
            there = f"there is {listed(sorted(known))}" if known else "there is none here"
            self._reader.wrong("S01", place, f"{quoted(name)} is not {what}; {suggest(name, known, there)}")
