"""Whether earlier guards leave anything to a later row: conjunctions of guards, compared as logic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from pawl.tools.compiler.model import RowModel

Cube: TypeAlias = frozenset[tuple[str, bool]]
"""A conjunction: the guards of a row, each with the answer that it wants. The empty one always holds."""

STEPS = 20_000
"""How many cases are told apart before the answer is 'not covered': the question is exponential in the guards."""


def cube(row: RowModel) -> Cube:
    """The guards of `row`."""
    return frozenset([(name, True) for name in row.when] + [(name, False) for name in row.unless])


def contradicts(one: Cube) -> bool:
    """Whether no answers of the guards fulfil `one`: it wants a guard both ways."""
    return any((name, not wanted) in one for name, wanted in one)


def covering(one: Cube, earlier: Sequence[Cube]) -> tuple[int, ...] | None:
    """The places in `earlier` of the cubes that together hold whenever `one` does, or None when there are none.

    One alone is looked for first: an earlier cube that asks for no more than `one`.
    """
    for place, other in enumerate(earlier):
        if other <= one:
            return (place,)
    used: set[int] = set()
    near = [(place, other - one) for place, other in enumerate(earlier) if not _opposed(other, one)]
    return tuple(sorted(used)) if len(near) > 1 and _splits(near, used) else None


def exhaustive(cubes: Sequence[Cube]) -> bool:
    """Whether one of `cubes` holds whatever the guards answer."""
    return covering(frozenset(), cubes) is not None


def _opposed(one: Cube, other: Cube) -> bool:
    return any((name, not wanted) in other for name, wanted in one)


def _splits(cubes: Sequence[tuple[int, Cube]], used: set[int]) -> bool:
    """Whether the cubes cover everything, by telling both answers of one guard apart, again and again."""
    work = [list(cubes)]
    for _ in range(STEPS):
        if not work:
            return True
        case = work.pop()
        always = next((place for place, rest in case if not rest), None)
        if always is not None:
            used.add(always)
            continue
        name = _commonest(rest for _, rest in case)
        if name is None:
            return False
        for wanted in (True, False):
            here = [(place, rest - {(name, wanted)}) for place, rest in case if (name, not wanted) not in rest]
            work.append(here)
    return False


def _commonest(cubes: Iterable[Cube]) -> str | None:
    counts: dict[str, int] = {}
    for rest in cubes:
        for name, _ in rest:
            counts[name] = counts.get(name, 0) + 1
    return max(sorted(counts), key=counts.__getitem__, default=None)
