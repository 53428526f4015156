"""What is said of sessions in flight is what becomes of them: sessions of random machines are saved and go on."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler.by_hand import event
from compiler.golden import CASES, model_of
from compiler.specs import WRITER, edited, model
from diff.test_verdict import EVENTS, GUARDS, STATES, pairs
from pawl import Session, SnapshotMismatch, UnhandledEvent
from pawl.runtime.fsm.errors import AutomaticLoop, StepFailed
from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind, Machine
from pawl.tools.compiler.compile import compile_text
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.model import MachineModel, MigrationModel
from pawl.tools.compiler.verify import verify
from pawl.tools.diff.difference import renamed
from pawl.tools.diff.flight import Becomes, Fate, Flight, flight, folded, renames
from pawl.tools.diff.verdict import verdict

NAMES = {"a": "first", "b": "second", "c": "third"}
Letter = tuple[str, dict[str, bool]]


class Answers:
    """A context whose guards answer as they are told."""

    def __init__(self) -> None:
        self.says = dict.fromkeys(GUARDS, False)

    def g(self, payload: object) -> bool:
        return self.says["g"]

    def h(self, payload: object) -> bool:
        return self.says["h"]


def fate_of(found: Flight, state: str) -> Fate:
    assert found.proposal is not None
    return next(fate for fate in found.proposal.fates if fate.state == state)


def judged(old: MachineModel, new: MachineModel, names: dict[str, str]) -> Flight:
    named = renamed(old, names)
    return flight(old, named, new, verdict(named, new))


letters = st.tuples(
    st.sampled_from(EVENTS), st.fixed_dictionaries({guard: st.booleans() for guard in GUARDS})
)  # fmt: skip


def _never_waits(model: MachineModel) -> bool:
    """Whether an eventless row that stays, with no guard, is in the way of events: `pawl check` refuses it."""
    return any(row.event is None and row.target is None and not row.when and not row.unless for row in model.rows)


@st.composite
def versions(draw: st.DrawFn) -> tuple[MachineModel, MachineModel, dict[str, str]]:
    """Two machines, and what states of the first are called in the second, some of them otherwise."""
    old, new = draw(pairs())
    assume(not any(_never_waits(one) for one in (old, new)))
    here = {state.name for state in new.states}
    names = {name: NAMES[name] for name in STATES if name in here and draw(st.booleans())}
    newer = attrs.evolve(renamed(new, names), spec_hash="1" * 64, version=2)
    there = {state.name for state in old.states}
    return old, newer, {name: now for name, now in names.items() if name in there}


def machine_of(model: MachineModel) -> Machine[Any, Any]:
    """The machine that is generated; `internal_error` is an event without being declared."""
    whole = attrs.evolve(model, events=(*model.events, event(INTERNAL_ERROR)))
    return verify(whole, emit_python(whole))


def alive(session: Session[Any, Any, Answers]) -> Session[Any, Any, Answers]:
    """The same, resumed where it has come to rest."""
    ended = session.machine.state[session.state].kind is Kind.FINAL
    if session.alive or ended:
        return session
    return Session.restore(session.machine, session.snapshot(), session.context)


def sent(session: Session[Any, Any, Answers], letter: Letter) -> bool:
    """Whether the event is accepted."""
    session.context.says = letter[1]
    try:
        session.send(letter[0])
    except UnhandledEvent:
        return False
    return True


@settings(max_examples=300, deadline=None)
@given(versions(), st.lists(letters, max_size=6), st.lists(letters, min_size=1, max_size=8))
def test_what_the_verdict_vouches_for_goes_on_and_accepts_what_it_accepted(
    both: tuple[MachineModel, MachineModel, dict[str, str]], before: list[Letter], after: list[Letter]
) -> None:
    old, new, names = both
    found = judged(old, new, names)
    assume(found.proposal is not None)
    assert found.proposal is not None
    newer = machine_of(attrs.evolve(new, migrations=(found.proposal.item,)))
    session = Session(machine_of(old), Answers())
    try:
        session.start()
        for letter in before:
            session = alive(session)
            if session.alive:
                sent(session, letter)
    except (AutomaticLoop, StepFailed):
        return
    snapshot = session.snapshot()
    if session.machine.state[session.state].kind is Kind.FINAL:
        return
    fate = fate_of(found, str(session.state))
    if fate.becomes is Becomes.REFUSED:
        with pytest.raises(SnapshotMismatch):
            Session.restore(newer, snapshot, Answers())
        return
    session, other = alive(session), Session.restore(newer, snapshot, Answers())
    assert str(other.state) == fate.to == names.get(str(session.state), str(session.state))
    for letter in after:
        try:
            if not session.alive or not sent(session, letter):
                return
        except (AutomaticLoop, StepFailed):
            return
        assert sent(other, letter), letter
        assert str(other.state) == names.get(str(session.state), str(session.state))
        session, other = alive(session), alive(other)
        assert session.alive == other.alive


@settings(max_examples=200, deadline=None)
@given(versions())
def test_nothing_goes_on_that_the_verdict_does_not_vouch_for(
    both: tuple[MachineModel, MachineModel, dict[str, str]],
) -> None:
    old, new, names = both
    named = renamed(old, names)
    says = verdict(named, new)
    found = flight(old, named, new, says)

    assert not found.declared
    assert {fate.becomes for fate in found.fates} <= {Becomes.REFUSED}
    going = [state.name for state in old.states if state.kind is not Kind.FINAL]
    assert [fate.state for fate in found.fates] == going
    good = {name for name in going if says.states[names.get(name, name)] is None}
    assert (found.proposal is not None) is bool(good)
    if found.proposal is not None:
        assert {fate.state for fate in found.proposal.fates if fate.becomes is not Becomes.REFUSED} == good
        assert all(fate.doubt is None for fate in found.proposal.fates)


@pytest.mark.parametrize("case", CASES)
def test_of_one_spec_all_continue(case: str) -> None:
    found = judged(model_of(case), model_of(case), {})

    assert found.same
    assert {fate.becomes for fate in found.fates} <= {Becomes.CONTINUES}
    assert found.proposal is None


# as it is written ---------------------------------------------------------------------------------------------------


def newer(*changes: tuple[str, str], text: str = WRITER) -> str:
    return edited(text, ("version: 1", "version: 2"), *changes)


WAITS = edited(
    WRITER,
    ("  done: {final: true}", "  done: {final: true}\n  held: {wait: true}"),
    ("on: finished, to: done}", "on: finished, to: held}\n  - {from: held, on: finished, to: done}"),
    ("- {from: writing, on: STOP", "- {from: [writing, held], on: STOP"),
)


@pytest.mark.parametrize(
    ("changes", "names", "item"),
    [
        ([], {}, "compatible: true}"),
        ([("writing", "penning")], {"writing": "penning"}, "compatible: true, states: {writing: penning}}"),
        ([("held", "asked")], {"held": "asked"}, "compatible: true, waits: {held: asked}}"),
        (
            [("held, on: finished, to: done", "held, on: finished, to: failed"), ("  done: {final: true}\n", "")],
            {},
            "compatible: true, refuse: [idle, writing, done, held]}",
        ),
    ],
)
def test_what_is_proposed_can_be_put_into_the_new_spec_and_says_the_same(
    changes: list[tuple[str, str]], names: dict[str, str], item: str
) -> None:
    old, text = model(WAITS), newer(*changes, text=WAITS)
    found = judged(old, model(text), names)

    assert found.proposal is not None
    words = "".join(found.proposal.yaml.split()).replace("{", "").replace("}", "").replace(",", "")
    assert words.endswith("".join(item.split()).replace("{", "").replace("}", "").replace(",", ""))
    pasted = compile_text(text + found.proposal.yaml)
    assert [str(each) for each in pasted.findings] == []
    (said,) = pasted.machines[0].migrations
    assert said.spec_hash == old.spec_hash[:12]
    new = pasted.machines[0]
    named = renamed(old, renames(old, new))
    again = flight(old, named, new, verdict(named, new))
    assert again.declared
    assert again.fates == found.proposal.fates
    assert renames(old, new) == dict(said.states)


def test_what_is_declared_is_told_with_what_speaks_against_it() -> None:
    old = model(WAITS)
    said = MigrationModel(
        old.spec_hash, 1, old.states[0].at, compatible=True,
        states=(("held", "writing"), ("idle", "held"), ("unclear", "lost")), refuse=("writing.retrying",),
    )  # fmt: skip
    straight = ("{from: idle, to: writing}", "{from: idle, to: writing, when: pen}\n  - {from: idle, to: held}")
    other = newer(straight, ("on: finished, to: held", "on: finished, to: done"), text=WAITS)
    new = attrs.evolve(model(other), migrations=(said,))
    named = renamed(old, renames(old, new))
    found = flight(old, named, new, verdict(named, new))

    told = {fate.state: (fate.becomes, fate.to, fate.doubt) for fate in found.fates}
    assert told["held"] == (Becomes.MAPPED, "writing", "it waits, and 'writing' does not")
    assert told["idle"] == (Becomes.MAPPED, "held", "it does not wait, and 'held' does")
    assert told["unclear"] == (Becomes.MAPPED, "lost", "not judged, as it is compared under another name")
    assert told["writing.retrying"] == (Becomes.REFUSED, None, None)
    becomes, to, doubt = told["writing"]
    assert (becomes, to) == (Becomes.CONTINUES, "writing")
    assert doubt is not None


def test_states_inside_of_a_barrier_are_told_with_it_where_they_share_its_fate() -> None:
    old = model(WRITER)
    for refuse, told in (((), ["writing"]), (("writing.retrying",), ["writing.retrying", "writing"])):
        said = MigrationModel(old.spec_hash, 1, old.states[0].at, compatible=True, refuse=refuse)
        new = attrs.evolve(model(newer()), migrations=(said,))
        fates = flight(old, old, new, verdict(old, new)).fates
        names = [(fate.state, around) for fate, around in folded(old, fates) if fate.state.startswith("writing")]
        assert [name for name, _ in names] == told
        assert dict(names)["writing"] is True


def test_another_machine_has_no_sessions_of_this_one() -> None:
    old = model(WRITER)
    new = model(newer(("machine: writer", "machine: scribe")))

    found = judged(old, new, {})

    assert not found.same
    assert found.proposal is None
    assert {fate.becomes for fate in found.fates} == {Becomes.REFUSED}


def test_items_that_were_copied_and_lead_to_states_of_the_version_before_are_told() -> None:
    item = "  - {from: 0123456789ab, version: 1, compatible: true, states: {a: writing}}\n"
    old = model(f"{newer()}migrations:\n{item}")
    text = edited(newer(("writing", "penning")), ("version: 2", "version: 3"))
    copied = text + f"migrations:\n{item.replace('writing', 'done')}"
    led = text + f"migrations:\n{item.replace('version', f'to: {old.spec_hash[:12]}, version')}"
    onward = f"  - {{from: {old.spec_hash[:12]}, version: 2, compatible: true, states: {{writing: penning}}}}\n"

    assert judged(old, model(led + onward), {"writing": "penning"}).behind == ()
    assert judged(old, model(copied), {"writing": "penning"}).behind == ()
    same = attrs.evolve(model(text), migrations=old.migrations)
    assert judged(old, same, {"writing": "penning"}).behind == ("0123456789ab",)
