"""Every place in a spec where a name stands, by what it should name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from pawl.tools.compiler.model import Position
from pawl.tools.compiler.nodes import Scalar
from pawl.tools.compiler.protocol import APPLY_PREFIX, PREPARE
from pawl.tools.compiler.scope import EVERY
from pawl.tools.compiler.spec import Fragment, Name, Part, Spec, StateSpec


def barrier_targets(state: StateSpec) -> Iterator[Name]:
    """The states that the barrier keys of `state` name."""
    for name in (state.refused, state.stop, state.unwritten, state.conflict, state.superseded):
        if name is not None:
            yield name


def targets(spec: Spec) -> Iterator[Name]:
    """States that something outside the rows leads to: one state each, no group."""
    for state in spec.states.values():
        yield from barrier_targets(state)
    if spec.barriers is not None:
        yield from (name for name in (spec.barriers.conflict, spec.barriers.superseded) if name is not None)
    if spec.error is not None:
        yield spec.error


def migrated(spec: Spec) -> Iterator[Name]:
    """States, or uses of fragments, that sessions of other versions are led to."""
    for item in spec.migrations:
        if item.target is None:
            yield from (move.value for move in (*item.states.values(), *item.waits.values()))


def elsewhere(spec: Spec) -> Iterator[Name]:
    """States of other versions."""
    for item in spec.migrations:
        yield from item.refuse
        for move in (*item.states.values(), *item.waits.values()):
            yield from (move.name,) if item.target is None else (move.name, move.value)


def events(spec: Spec) -> Iterator[Name]:
    """Names in use that must each be one event, no group."""
    for state in spec.states.values():
        if state.after is not None:
            yield state.after.event
    if spec.barriers is not None and spec.barriers.lost is not None:
        yield spec.barriers.lost


def event_lists(spec: Spec) -> Iterator[Name]:
    """Names in use that may be an event or a group of events."""
    for row in spec.transitions:
        yield from row.event
    if spec.barriers is not None:
        yield from spec.barriers.stop
    if spec.unhandled is not None:
        for _, names in spec.unhandled.lists():
            yield from (name for name in names if name.text != EVERY)


def guards(spec: Part) -> Iterator[Name]:
    """Guards in use."""
    for row in spec.transitions:
        yield from row.when
        yield from row.unless


def actions(spec: Part) -> Iterator[Name]:
    """Actions in use."""
    for state in spec.states.values():
        yield from state.enter
    for row in spec.transitions:
        yield from row.do


def delays(spec: Part) -> Iterator[Name]:
    """Delays in use."""
    for state in spec.states.values():
        if state.after is not None:
            yield state.after.delay


def outcomes(spec: Spec) -> Iterator[Name]:
    """Outcomes of final states."""
    yield from (state.outcome for state in spec.states.values() if state.outcome is not None)


def labels(spec: Spec) -> Iterator[Name]:
    """Names that stand for themselves: barriers, effects, correlation fields."""
    for state in spec.states.values():
        yield from (name for name in (state.barrier, state.effect) if name is not None)
    for event in spec.events.values():
        if event.correlate is not None:
            yield event.correlate


def methods(spec: Spec) -> Iterator[tuple[str, Name]]:
    """Guards, actions and delays in use or declared, each with which of the three it is."""
    for kind, used, declared in (
        ("guard", guards(spec), spec.guards),
        ("action", actions(spec), spec.actions),
        ("delay", delays(spec), spec.delays),
    ):
        yield from ((kind, method.name) for method in (declared or {}).values())
        yield from ((kind, name) for name in used)


def words(fragment: Fragment) -> Iterator[str]:
    """Every word in a fragment that can be one that it asks for: whatever it uses, and what it hands on."""
    yield from _words((*fragment.states.values(), *fragment.transitions, *fragment.events.values()))
    yield from (name.text for group in fragment.groups.values() for name in group.members)
    if fragment.unhandled is not None:
        yield from (name.text for _, names in fragment.unhandled.lists() for name in names)
    yield from (bind.value.text for use in fragment.use for bind in use.given.values())


def _words(values: Iterable[object]) -> Iterator[str]:
    """The names in the fields of spec classes, and of those in their fields."""
    for value in values:
        if isinstance(value, Name):
            yield value.text
            yield from (value.text.removeprefix(word) for word in (APPLY_PREFIX, PREPARE))
        elif isinstance(value, tuple):
            yield from _words(value)
        elif not isinstance(value, Scalar | Position):
            yield from _words(_fields(value))


def _fields(value: object) -> Iterator[object]:
    kind: Any = type(value)
    if attrs.has(kind):
        yield from (getattr(value, field.name) for field in attrs.fields(kind) if field.name != "name")
