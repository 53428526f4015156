"""The verdict against an oracle that tries every answer of every guard, and words that show each kind of break."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import product
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.by_hand import event, machine, row, state
from compiler.golden import CASES, model_of
from compiler.specs import WRITER, compiled, edited, model
from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind, Unhandled
from pawl.tools.compiler.cover import Budget, contradicts, covering, cube
from pawl.tools.compiler.model import MachineModel, RowModel
from pawl.tools.diff.verdict import verdict

GUARDS, STATES, EVENTS = ("g", "h"), ("a", "b", "c"), ("x", "y")
ASKED = [((), ()), (("g",), ()), ((), ("g",)), (("h",), ()), (("g",), ("h",))]
ENDS = (Kind.WAIT, Kind.FINAL, Kind.HALT)


def answers() -> Iterator[dict[str, bool]]:
    for values in product((True, False), repeat=len(GUARDS)):
        yield dict(zip(GUARDS, values, strict=True))


def after(model: MachineModel, name: str, on: str | None, says: dict[str, bool]) -> tuple[str, Any] | None:
    """(state, the row's target) after an event, with these answers; None when it is refused."""
    rows = [each for each in model.rows if (each.source, each.event) == (name, on)]
    for each in rows:
        if all(says[guard] for guard in each.when) and not any(says[guard] for guard in each.unless):
            return each.target or name, each.target == name and kinds(model)[name] is Kind.AUTO
    if on is None:
        return name, False
    if on == INTERNAL_ERROR:
        if rows or model.error is None or kinds(model)[name] in (Kind.FINAL, Kind.HALT):
            return None
        return model.error, model.error == name and kinds(model)[name] is Kind.AUTO
    ways = {each.name: each.unhandled for each in model.events}
    return (name, False) if rows or ways.get(on) in (Unhandled.IGNORE, Unhandled.STALE) else None


def kinds(model: MachineModel) -> dict[str, Kind]:
    return {each.name: each.kind for each in model.states}


def holds(old: MachineModel, new: MachineModel, begin: str) -> bool:
    """Whether every word from `begin` holds, by trying all there are."""
    seen, work = {begin}, deque([begin])
    while work:
        name = work.popleft()
        before, now = kinds(old)[name], kinds(new).get(name)
        if now is None or (before if before in ENDS else None) != (now if now in ENDS else None):
            return False
        rests = any(
            not any(
                (each.source, each.event) == (name, None)
                and all(says[guard] for guard in each.when)
                and not any(says[guard] for guard in each.unless)
                for each in old.rows
            )
            for says in answers()
        )
        events: list[str | None] = [None, INTERNAL_ERROR, *(EVENTS if rests else ())]
        for on, says in product([] if before is Kind.FINAL else events, answers()):
            was, is_now = after(old, name, on, says), after(new, name, on, says)
            if was is None:
                continue
            if was != is_now:
                return False
            if was[0] not in seen:
                seen.add(was[0])
                work.append(was[0])
    return True


@st.composite
def machines(draw: st.DrawFn) -> MachineModel:
    names = STATES[: draw(st.integers(2, 3))]
    states = [state(name, draw(st.sampled_from([Kind.PLAIN, Kind.PLAIN, Kind.AUTO, *ENDS]))) for name in names]
    rows: list[RowModel] = []
    for each in states:
        if each.kind is Kind.FINAL:
            continue
        for on in (*EVENTS, INTERNAL_ERROR, *([None] if each.kind is Kind.AUTO else [])):
            cell: list[RowModel] = []
            for _ in range(draw(st.integers(0, 2))):
                when, unless = draw(
                    st.sampled_from([((), ()), (("g",), ()), ((), ("g",)), (("h",), ()), (("g",), ("h",))])
                )
                made = row(each.name, on, draw(st.sampled_from([None, *names])), when=when, unless=unless)
                if covering(cube(made), [cube(one) for one in cell], Budget()) is None and not contradicts(cube(made)):
                    cell.append(made)
            rows += cell
    events = [event(name, unhandled=draw(st.sampled_from([*Unhandled]))) for name in EVENTS]
    error = draw(st.sampled_from([None, names[-1]]))
    return machine(states, events, rows, error=error)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[MachineModel, MachineModel]:
    """Two machines, often with much in common."""
    old, other = draw(machines()), draw(machines())
    kept = [each for each in old.rows if draw(st.integers(0, 7))]
    new = attrs.evolve(old, rows=tuple(kept), events=draw(st.sampled_from([old.events, other.events])))
    return old, draw(st.sampled_from([other, new, new]))


@settings(max_examples=400, deadline=None)
@given(pairs())
def test_every_state_is_judged_as_trying_everything_does(both: tuple[MachineModel, MachineModel]) -> None:
    old, new = both

    judged = verdict(old, new)

    for name, witness in judged.states.items():
        assert (witness is None) == holds(old, new, name), name


@settings(max_examples=200, deadline=None)
@given(pairs())
def test_a_witness_is_a_way_of_the_old_machine_to_what_it_names(both: tuple[MachineModel, MachineModel]) -> None:
    old, new = both

    for name, witness in verdict(old, new).states.items():
        if witness is None:
            continue
        at = name
        for each in witness.path:
            assert each.source == at
            assert any((after(old, at, each.event, says) or ("",))[0] == each.target for says in answers())
            at = each.target or at
        assert at == witness.broken.state
        says = dict.fromkeys(GUARDS, False) | dict(witness.broken.answers)
        if witness.broken.event is not None:
            assert after(old, at, witness.broken.event, says) != after(new, at, witness.broken.event, says)


@pytest.mark.parametrize("case", CASES)
def test_a_machine_is_compatible_with_itself(case: str) -> None:
    judged = verdict(model_of(case), model_of(case))

    assert judged.compatible
    assert set(judged.states.values()) == {None}


def _pair(*changes: tuple[str, str]) -> tuple[MachineModel, MachineModel]:
    found = compiled(edited(WRITER, *changes))
    assert found.machines, found.errors
    return model(WRITER), found.machines[0]


FINISHED = "on: finished, to: done}"
AGAIN = [
    ("events: {", "events: {again: {}, "),
    ("  - {from: writing, on: STOP", "  - {from: writing, on: again}\n  - {from: writing, on: STOP"),
    ("stale: [", "stale: [again, "),
]


@pytest.mark.parametrize(
    "changes",
    [
        [("version: 1", "version: 2")],
        [(FINISHED, "on: finished, to: done, do: [tell]}")],
        [("done: {final: true}", "done: {final: true, enter: [tell]}")],
        [("finished: {}", 'finished: {payload: "builtins:str"}')],
        AGAIN,
    ],
)
def test_what_is_done_what_comes_along_and_what_is_new_break_no_word(changes: list[tuple[str, str]]) -> None:
    assert verdict(*_pair(*changes)).compatible


MORE = "on: finished, to: done}\n  - {from: unclear, on: cancel, to: done}"
BREAKS = {
    "it went to 'done', goes to 'failed' now": (
        "writing", [(FINISHED, "on: finished, to: failed}"), ("  done: {final: true}\n", "")]
    ),
    "it went to 'done', stays now": ("writing", [(FINISHED, "on: finished, to: done, when: sure}")]),
    "its outcome was none, and is other now": (
        "stopped", [("stopped: {final: true}", "stopped: {final: true, outcome: other}")]
    ),
    "it was a halt state, and is a wait state now": (
        "unclear", [("unclear: {halt", "unclear: {wait"), (FINISHED, MORE)]
    ),
    "it stayed, is refused now": (
        "writing.committing", [("{stale: [finished, STOP]}", "{stale: [STOP], refuse: [finished]}")]
    ),
}  # fmt: skip


@pytest.mark.parametrize("reason", BREAKS)
def test_each_kind_of_break_is_told(reason: str) -> None:
    where, changes = BREAKS[reason]
    judged = verdict(*_pair(*changes))

    assert not judged.compatible
    witness = judged.states[where]
    assert witness is not None
    assert witness.path == ()
    assert reason in witness.broken.reason


def test_the_word_leads_from_the_start_to_the_break_and_states_behind_it_hold() -> None:
    old, new = _pair(("on: finished, to: done}", "on: finished, to: done, when: sure}"))

    judged = verdict(old, new)

    assert judged.witness is not None
    assert [each.event for each in judged.witness.path] == [None, "committed"]
    assert judged.witness.broken.answers == (("sure", False),)
    assert judged.states["done"] is None
    assert judged.states["idle"] is judged.witness or judged.states["idle"] == judged.witness


def test_another_beginning_breaks_new_sessions_only() -> None:
    old = machine([state("a"), state("b")], [event("x")], [row("a", "x", "b"), row("b", "x", "a")])
    judged = verdict(old, attrs.evolve(old, initial="b"))

    assert not judged.compatible
    assert judged.initial == "sessions began in 'a', and begin in 'b' now"
    assert set(judged.states.values()) == {None}


def test_a_question_too_large_to_answer_is_not_vouched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"g{number}" for number in range(6)]
    old = machine(
        [state("a"), state("b")],
        [event("x")],
        [*(row("a", "x", "b", when=(name,)) for name in names), row("a", "x", "b", unless=tuple(names))],
    )
    new = machine([state("a"), state("b")], [event("x")], [row("a", "x", "b")])
    assert verdict(old, new).compatible

    monkeypatch.setattr("pawl.tools.diff.verdict.Budget", lambda: Budget(3))

    assert not verdict(old, new).compatible
