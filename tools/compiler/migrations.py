"""What a spec says about the sessions of its other versions: every item of `migrations:`, followed to this machine.

An item leads the states of one version to those of the next one (`to`), or of this machine. Here they are put one
behind the other, so that the generated module has one answer for each state: a state of this machine, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import attrs

from pawl.runtime.fsm.evolution import within
from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.findings import quoted
from pawl.tools.compiler.model import MigrationModel, Position, StateModel
from pawl.tools.compiler.scope import Scope
from pawl.tools.compiler.spec import MigrationSpec, Name

Problem = tuple[Position, str]

MOST = 10_000
"""States that one item may stand for, each inner one counted."""


class _Nowhere(Exception):
    """The items do not come to this machine; `problems` where that is this item's own fault."""

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems


@attrs.frozen
class Migrations:
    """The items, each followed to its end, and what is wrong with them."""

    models: tuple[MigrationModel, ...] = ()
    problems: tuple[Problem, ...] = ()


def same_hash(one: str, other: str) -> bool:
    """Whether two hashes, or beginnings of them, are of one spec."""
    return one.startswith(other) or other.startswith(one)


def follow(scope: Scope, states: Iterable[StateModel]) -> Migrations:
    """Every item of the spec in `scope`, whose machine has these states."""
    kinds = {state.name: state.kind for state in states}
    steps = [_Step(item) for item in scope.spec.migrations]
    models: list[MigrationModel] = []
    problems: list[Problem] = []
    for step in steps:
        problems += step.contradictions()
        try:
            chain = _chain(step, steps)
        except _Nowhere as nowhere:
            problems += nowhere.problems
            continue
        problems += _astray(chain, kinds, scope)
        model = _model(chain, kinds)
        if model is None:
            problems.append((step.item.source.at, f"it stands for more than {MOST:,} states; name fewer of them"))
        else:
            models.append(model)
    return Migrations(tuple(models), tuple(problems))


class _Step:
    """One item: where it leads each state of one version."""

    def __init__(self, item: MigrationSpec) -> None:
        self.item = item
        self.moves = {**item.states, **item.waits}
        self.refused = {name.text: name for name in item.refuse}
        self._into: dict[str, list[str]] = {}
        for old, move in self.moves.items():
            self._into.setdefault(move.value.text, []).append(old)

    def lead(self, name: str) -> str | None:
        """The name in the next version; None where it is refused. What is inside of a state goes with it."""
        for head in within(name):
            if head in self.moves:
                return self.moves[head].value.text + name[len(head) :]
            if head in self.refused:
                return None
        return name if self.item.compatible else None

    def back(self, name: str) -> Iterator[str]:
        """The names that lead to `name`."""
        for head in within(name):
            yield from (old + name[len(head) :] for old in self._into.get(head, ()))
        if self.lead(name) == name:
            yield name

    def contradictions(self) -> Iterator[Problem]:
        """What is wrong with the item alone."""
        item = self.item
        if not (item.compatible or self.moves):
            yield item.source.at, "nothing is taken over; add `compatible: true`, or say where `states` lead"
        for old in item.states:
            if old in item.waits:
                yield item.waits[old].at, f"{quoted(old)} is in `states`, too; keep one"
        for name in self.refused.values():
            if name.text in self.moves:
                yield name.at, f"{quoted(name.text)} is refused here, and led on above; keep one"


def _chain(step: _Step, steps: list[_Step]) -> list[_Step]:
    """The steps from here to this machine, in order. Raises _Nowhere."""
    chain = [step]
    while (to := chain[-1].item.target) is not None:
        onward = next((each for each in steps if same_hash(each.item.source.text, to.text)), None)
        if onward is None and len(chain) > 1:
            raise _Nowhere  # it is said once, where it is written
        if onward is None:
            advice = "leave `to` out where the states are those of this version, or add an item for that one"
            raise _Nowhere((to.at, f"no item is `from: {to.text}`; {advice}"))
        if onward in chain:
            raise _Nowhere((to.at, "the items lead round; leave `to` out where the states are those of this version"))
        chain.append(onward)
    return chain


def _astray(chain: list[_Step], kinds: dict[str, Kind], scope: Scope) -> Iterator[Problem]:
    """States that an item names and that come to nothing, or from rest to unrest; E01 has the direct ones."""
    item = chain[0].item
    for waits, moves in ((False, item.states), (True, item.waits)):
        for move in moves.values():
            if chain[0].moves[move.name.text] is not move:
                continue  # it is told that there are two
            end, said = _end(chain, move.name.text)
            if said is not None:
                yield move.value.at, said
            elif end in kinds and waits is not (kinds[end] is Kind.WAIT):
                yield move.value.at, _unlike(move.value, end, waits)
            elif end is not None and len(chain) > 1 and end not in kinds and end not in scope.used:
                before = "" if end == move.value.text else f"{quoted(move.value.text)} leads to "
                said = f"{before}{quoted(end)} is no state here"
                yield move.value.at, f"{said}; lead it on in the item of {quoted(chain[-1].item.source.text)}"


def _unlike(value: Name, end: str, waits: bool) -> str:
    led = quoted(value.text) + (f" leads to {quoted(end)}, which" if end != value.text else "")
    if waits:
        return f"{led} is no wait state; what waits can only go on waiting, so name one that does, or refuse it"
    return f"{led} is a wait state; put it under `waits` if the old one waited, too, or refuse it"


def _end(chain: list[_Step], name: str) -> tuple[str | None, str | None]:
    """Where a state comes to, None where some step refuses it; and a complaint when one has not heard of it."""
    at: str = name
    for number, step in enumerate(chain):
        led = step.lead(at)
        if led is None:
            spoken = any(head in step.refused for head in within(at))
            if number and not spoken:
                there = quoted(step.item.source.text)
                return None, f"the item of {there} says nothing of {quoted(at)}; name or refuse it there"
            return None, None
        at = led
    return at, None


def _model(chain: list[_Step], kinds: dict[str, Kind]) -> MigrationModel | None:
    """The chain as one table, with every name in it that some step treats in its own way; None for too many."""
    names: dict[str, None] = dict.fromkeys(name for name in kinds if "." in name)
    for step in reversed(chain):
        before = dict.fromkeys((*step.moves, *step.refused))
        before |= dict.fromkeys(islice((old for name in names for old in step.back(name)), MOST + 1))
        if len(before) > MOST:
            return None
        names = before
    compatible = all(step.item.compatible for step in chain)
    ends = {name: _end(chain, name)[0] for name in names}
    led = ((name, end) for name, end in ends.items() if end is not None and end in kinds)
    refused = [name for name, end in ends.items() if end not in kinds and (compatible or name in chain[0].refused)]
    item = chain[0].item
    return MigrationModel(
        spec_hash=item.source.text,
        version=item.version,
        at=item.source.at,
        compatible=compatible,
        states=tuple((name, end) for name, end in led if not (compatible and end == name)),
        refuse=tuple(refused),
    )
