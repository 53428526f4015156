from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from pawl.tools.compiler.cover import Budget, Cube, contradicts, covering, exhaustive

GUARDS = "abcd"
CUBES = st.frozensets(st.tuples(st.sampled_from(GUARDS), st.booleans()), max_size=5)


def holds(cube: Cube, answers: dict[str, bool]) -> bool:
    return all(answers[name] is wanted for name, wanted in cube)


def valuations() -> list[dict[str, bool]]:
    return [dict(zip(GUARDS, answers, strict=True)) for answers in product([False, True], repeat=len(GUARDS))]


@given(CUBES, st.lists(CUBES, max_size=6))
def test_covering_agrees_with_trying_every_answer(one: Cube, earlier: list[Cube]) -> None:
    if contradicts(one):
        assert not any(holds(one, answers) for answers in valuations())
        return
    expected = all(any(holds(cube, answers) for cube in earlier) for answers in valuations() if holds(one, answers))
    found = covering(one, earlier, Budget())
    assert (found is not None) is expected
    if found is not None:
        named = [earlier[place] for place in found]
        assert all(any(holds(cube, answers) for cube in named) for answers in valuations() if holds(one, answers))


@given(st.lists(CUBES, max_size=8))
def test_exhaustive_agrees_with_trying_every_answer(cubes: list[Cube]) -> None:
    expected = all(any(holds(cube, answers) for cube in cubes) for answers in valuations())
    assert exhaustive(cubes, Budget()) is expected


def test_a_hard_question_ends_with_the_budget_and_without_an_answer() -> None:
    cubes = [frozenset((f"g{n}_{k}", bool(n >> k & 1)) for k in range(12)) for n in range(4000)]
    parity = [frozenset((f"p{k}", bool(n >> k & 1)) for k in range(12)) for n in range(4095)]
    budget = Budget(1000)
    assert exhaustive(parity, budget) is None
    assert budget.left <= 0
    assert covering(frozenset(), cubes, Budget(1000)) is None


def test_the_one_row_that_alone_is_enough_is_named() -> None:
    a, b = frozenset({("a", True)}), frozenset({("a", False)})
    assert covering(frozenset({("a", True), ("b", True)}), [b, a], Budget()) == (1,)
    assert covering(frozenset(), [a, b], Budget()) == (0, 1)
