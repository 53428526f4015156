"""Whether earlier guards leave anything to a later row: conjunctions of guards, compared as logic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import attrs

from pawl.tools.compiler.model import RowModel

Cube: TypeAlias = frozenset[tuple[str, bool]]
"""A conjunction: the guards of a row, each with the answer that it wants. The empty one always holds."""


@attrs.define
class Budget:
    """How many cubes may still be looked at: the question is exponential in the guards, and a spec may be hostile."""

    left: int = 200_000


def cube(row: RowModel) -> Cube:
    """The guards of `row`."""
    return frozenset([(name, True) for name in row.when] + [(name, False) for name in row.unless])


def contradicts(one: Cube) -> bool:
    """Whether no answers of the guards fulfil `one`: it wants a guard both ways."""
    return any((name, not wanted) in one for name, wanted in one)


def covering(one: Cube, earlier: Sequence[Cube], budget: Budget) -> tuple[int, ...] | None:
    """The places in `earlier` of the cubes that together hold whenever `one` does.

    None when they do not, or when `budget` ends before that is known. One alone is looked for first: an earlier cube
    that asks for no more than `one`.
    """
    for place, other in enumerate(earlier):
        if other <= one:
            return (place,)
    used: set[int] = set()
    near = [(place, other - one) for place, other in enumerate(earlier) if not _opposed(other, one)]
    return tuple(sorted(used)) if len(near) > 1 and _splits(near, used, budget) else None


def exhaustive(cubes: Sequence[Cube], budget: Budget) -> bool | None:
    """Whether one of `cubes` holds whatever the guards answer; None when `budget` ends before that is known."""
    if covering(frozenset(), cubes, budget) is not None:
        return True
    return None if budget.left <= 0 else False


def _opposed(one: Cube, other: Cube) -> bool:
    return any((name, not wanted) in other for name, wanted in one)


def _splits(cubes: Sequence[tuple[int, Cube]], used: set[int], budget: Budget) -> bool:
    """Whether the cubes cover everything, by telling both answers of one guard apart, again and again."""
    work = [list(cubes)]
    while work and budget.left > 0:
        case = work.pop()
        budget.left -= len(case)
        always = next((place for place, rest in case if not rest), None)
        if always is not None:
            used.add(always)
            continue
        name = _commonest(rest for _, rest in case)
        if name is None:
            return False
        work.extend(_with(case, name, wanted) for wanted in (True, False))
    return not work


def _with(case: Sequence[tuple[int, Cube]], name: str, wanted: bool) -> list[tuple[int, Cube]]:
    """What is left to ask once the guard `name` has answered `wanted`."""
    return [(place, rest - {(name, wanted)}) for place, rest in case if (name, not wanted) not in rest]


def _commonest(cubes: Iterable[Cube]) -> str | None:
    counts: dict[str, int] = {}
    for rest in cubes:
        for name, _ in rest:
            counts[name] = counts.get(name, 0) + 1
    return max(sorted(counts), key=counts.__getitem__, default=None)
