"""Every word of the format is said by some scenario, but for those of coordination, which cannot be played yet."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import attrs
import pytest

from pawl.runtime.simulation import scenario as values
from pawl.runtime.simulation.running import scenarios_of
from pawl.runtime.simulation.scenario import PLACES, REFUSALS, Place, Scenario
from pawl.runtime.simulation.steps import STEPS, Verdict

FILES = sorted(Path(__file__).parent.rglob("*.yaml"))
OF_FORMAT = [one for one in vars(values).values() if attrs.has(one) and one.__module__ == values.__name__]
CLASSES = [*(one for one in OF_FORMAT if one is not Place), *STEPS.values(), Verdict]
COORDINATION = {
    *("AgentDef.subagents", "AgentDef.handoffs", "Scenario.teams", "Answer.handoff", "Answer.responsibility"),
    *("RunExpected.outcome=handed_off", "RunExpected.outcome=parked", "park"),
}
COORDINATED = ("SubagentDef.", "HandoffDef.", "TeamDef.", "Team.")


def _words() -> Iterator[str]:
    """Every field and every word that a file may hold."""
    for cls in CLASSES:
        hints = typing.get_type_hints(cls, include_extras=True)
        for field in attrs.fields(cls):
            if field.metadata.get("key", field.name) is not None:
                yield f"{cls.__name__}.{field.name}"
                yield from (f"{cls.__name__}.{field.name}={word}" for word in _choices(hints[field.name]))
    yield from (*PLACES, *REFUSALS)


def _choices(hint: Any) -> Iterator[str]:
    if get_origin(hint) is Literal:
        yield from (word for word in get_args(hint) if not isinstance(word, Enum))
    elif get_origin(hint) in (types.UnionType, typing.Union, tuple) and get_origin(hint) is not Annotated:
        for part in get_args(hint):
            yield from _choices(part)


def _said(value: Any) -> Iterator[str]:
    """What a scenario says."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _said(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _said(item)
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            found = getattr(value, field.name)
            name = f"{type(value).__name__}.{field.name}"
            if isinstance(found, str | bool | int | float) or found is None:
                yield f"{name}={found}"
            default = field.default() if callable(field.default) else field.default
            if found != (default.factory() if isinstance(default, attrs.Factory) else default):
                yield name
            yield from _said(found)


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return [one for path in FILES for one in scenarios_of(path)]


def test_every_word_of_the_format_is_said_somewhere(scenarios: list[Scenario]) -> None:
    said = {word for one in scenarios for word in _said(one)}
    said |= {fault.at.partition("#")[0] for one in scenarios for fault in one.faults}
    said |= {fault.do.refusal for one in scenarios for fault in one.faults if fault.do.refusal is not None}

    unsaid = {word for word in _words() if word not in said and not word.startswith(COORDINATED)}
    assert sorted(unsaid - COORDINATION) == []
    assert sorted(COORDINATION - unsaid) == []
