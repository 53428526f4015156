"""Shrinking a scenario that goes wrong: what is not needed for it is left out, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs

from pawl.runtime.simulation.beyond import AgentBeyond, ToolBeyond
from pawl.runtime.simulation.scenario import AgentDef, Answer, Scenario, ToolDef
from pawl.runtime.simulation.steps import Start

_TRIES: Final = 600
"""Programs that are tried, at most."""

T = TypeVar("T")
Fails = Callable[[Scenario], bool]


def shrunk(scenario: Scenario, fails: Fails, tries: int = _TRIES) -> Scenario:
    """The smallest scenario that still `fails`, as far as that is found within `tries`."""
    left = tries
    going = True
    while going:
        going = False
        for smaller in _smaller(scenario):
            if left == 0:
                return scenario
            left -= 1
            if fails(smaller):
                scenario, going = smaller, True
                break
    return scenario


def fewest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """The fewest of `items` with which it still `fails`; often none."""
    going = True
    while items and going:
        going = False
        for fewer in ((), *_shorter(items)):
            if len(fewer) < len(items) and fails(fewer):
                items, going = fewer, True
                break
    return items


def without_beyond(scenario: Scenario) -> Scenario:
    """The scenario as its file says it."""
    agents = {
        name: attrs.evolve(
            made, beyond=None, tools={tool: attrs.evolve(one, beyond=None) for tool, one in made.tools.items()}
        )
        for name, made in scenario.agents.items()
    }
    return attrs.evolve(scenario, agents=agents)


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Scenarios with a part less, the largest parts first."""
    plain = without_beyond(scenario)
    if plain != scenario:
        yield plain
    for run in [step.name for step in scenario.steps if isinstance(step, Start)]:
        yield attrs.evolve(scenario, steps=tuple(step for step in scenario.steps if not _about(step, run)))
    for name in scenario.agents:
        if len(scenario.agents) > 1:
            yield _without_agent(scenario, name)
    for steps in _shorter(scenario.steps):
        yield attrs.evolve(scenario, steps=steps)
    for faults in _shorter(scenario.faults):
        yield attrs.evolve(scenario, faults=faults)
    if scenario.group:
        yield attrs.evolve(scenario, group=False)
    for key, answers in scenario.model.items():
        for fewer in _shorter(answers):
            yield attrs.evolve(scenario, model={**scenario.model, key: fewer})
        for place, answer in enumerate(answers):
            for plainer in _plainer_answers(answer):
                changed = (*answers[:place], plainer, *answers[place + 1 :])
                yield attrs.evolve(scenario, model={**scenario.model, key: changed})
    for name, made in scenario.agents.items():
        for plainer_agent in _plainer_agents(made):
            yield attrs.evolve(scenario, agents={**scenario.agents, name: plainer_agent})


def _about(step: Any, run: str) -> bool:
    starts = isinstance(step, Start) and step.name == run
    return starts or run in (getattr(step, "run", None), getattr(step, "of", None))


def _shorter(items: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Without a half, a quarter, … down to without one."""
    size = len(items) // 2
    while size:
        for start in range(0, len(items), size):
            yield (*items[:start], *items[start + size :])
        size //= 2
    if len(items) == 1:
        yield ()


def _without_agent(scenario: Scenario, name: str) -> Scenario:
    kept = {other: made for other, made in scenario.agents.items() if other != name}
    known = {tool for made in kept.values() for tool in made.tools}
    return attrs.evolve(
        scenario,
        agents=kept,
        model={key: answers for key, answers in scenario.model.items() if key != name},
        steps=tuple(step for step in scenario.steps if getattr(step, "agent", None) != name and _held(step, known)),
        faults=tuple(one for one in scenario.faults if _struck(one.at, known)),
    )


def _held(step: Any, tools: set[str]) -> bool:
    what = getattr(step, "what", "model")
    return what == "model" or what in tools


def _struck(at: str, tools: set[str]) -> bool:
    name = at.partition("#")[0]
    return not name.startswith("tool:") or name.removeprefix("tool:") in tools


def _plainer_answers(answer: Answer) -> Iterator[Answer]:
    for calls in _shorter(answer.calls):
        if calls:
            yield attrs.evolve(answer, calls=calls)
    yield from _plainer(answer, ("usage", "takes", "chunks"))


def _plainer_agents(made: AgentDef) -> Iterator[AgentDef]:
    names = [field.name for field in attrs.fields(AgentDef) if field.name not in ("tools", "model_timeout", "at")]
    yield from _plainer(made, names)
    if made.beyond is not None:
        for less in _plainer(made.beyond, [field.name for field in attrs.fields(AgentBeyond)]):
            yield attrs.evolve(made, beyond=less)
    for name, tool in made.tools.items():
        for plain in _plainer_tools(tool):
            yield attrs.evolve(made, tools={**made.tools, name: plain})
    used: Mapping[str, ToolDef] = made.tools
    for name in used:
        if len(used) > 1:
            yield attrs.evolve(made, tools={other: tool for other, tool in used.items() if other != name})


def _plainer_tools(tool: ToolDef) -> Iterator[ToolDef]:
    if tool.recovery == "probe":
        yield attrs.evolve(tool, recovery="ask", probe=())
    if tool.beyond is not None:
        yield attrs.evolve(tool, beyond=None)
        for less in _plainer(tool.beyond, [field.name for field in attrs.fields(ToolBeyond)]):
            yield attrs.evolve(tool, beyond=less)
    names = ("approval", "recovery", "returns", "raises", "on_error", "takes", "timeout", "cancellable", "schema")
    yield from _plainer(tool, [name for name in names if name != "recovery" or not tool.probe])


def _plainer(value: Any, names: Sequence[str]) -> Iterator[Any]:
    """With a field at its default."""
    for name in names:
        field = getattr(attrs.fields(type(value)), name)
        default = field.default.factory() if isinstance(field.default, attrs.Factory) else field.default  # type: ignore[arg-type]
        if getattr(value, name) != default:
            yield attrs.evolve(value, **{name: default})
