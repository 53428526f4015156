from __future__ import annotations

from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from pawl.tools.compiler.graph import backwards, cycles, looping, path, reachable

NODES = "abcdef"
EDGES = st.fixed_dictionaries({name: st.lists(st.sampled_from(NODES), unique=True, max_size=4) for name in NODES})
SETS = st.sets(st.sampled_from(NODES))


def simple_paths(edges: dict[str, list[str]], start: str, goal: str) -> list[tuple[str, ...]]:
    """Every path that visits nothing twice, by trying them all."""
    found: list[tuple[str, ...]] = []
    work: list[tuple[str, ...]] = [(start,)]
    while work:
        walk = work.pop()
        if walk[-1] == goal:
            found.append(walk)
            continue
        work += [(*walk, target) for target in edges[walk[-1]] if target not in walk]
    return found


@given(EDGES, st.sampled_from(NODES), SETS)
def test_a_set_dominates_a_state_exactly_when_every_simple_path_meets_it(
    edges: dict[str, list[str]], goal: str, avoiding: set[str]
) -> None:
    free = [walk for walk in simple_paths(edges, "a", goal) if not avoiding & set(walk)]
    found = path(edges, ["a"], goal, avoiding)
    assert (found is not None) is bool(free)
    assert (goal in reachable(edges, ["a"], avoiding)) is bool(free)
    if found is not None:
        assert len(found) == min(map(len, free))
        assert all(after in edges[before] for before, after in pairwise(found))
        assert not avoiding & set(found)


@given(EDGES, SETS)
def test_cycles_are_cycles_and_every_knot_has_one(edges: dict[str, list[str]], within: set[str]) -> None:
    found = cycles(edges, within)
    for cycle in found:
        assert cycle[0] == cycle[-1]
        assert len(cycle) > 1
        assert set(cycle) <= within
        assert all(after in edges[before] for before, after in pairwise(cycle))
    inside = {name: [t for t in edges[name] if t in within] for name in within}
    circling = {name for name in within if name in reachable(inside, inside[name])}
    assert looping(edges, within) == circling
    knots = {
        frozenset(o for o in circling if o in reachable(inside, [n]) and n in reachable(inside, [o])) for n in circling
    }
    assert len(found) == len(knots)
    assert {next(iter(k for k in knots if cycle[0] in k)) for cycle in found} == knots


@given(EDGES)
def test_turning_every_edge_twice_changes_nothing(edges: dict[str, list[str]]) -> None:
    turned = backwards(backwards(edges))
    assert {name: set(targets) for name, targets in turned.items()} == {n: set(t) for n, t in edges.items()}
    for one, other in product(NODES, repeat=2):
        assert (other in edges[one]) is (one in backwards(edges)[other])


def test_a_chain_of_ten_thousand_states_needs_no_recursion() -> None:
    edges = {str(n): [str((n + 1) % 10_000)] for n in range(10_000)}
    (cycle,) = cycles(edges, set(edges))
    assert len(cycle) == 10_001
