"""What a spec says about sessions of its other versions, followed step by step to this one."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.by_hand import at, order
from compiler.parts import COURIER, RETRY, written
from compiler.specs import DOOR, WRITER, compiled, edited, model, said
from pawl.runtime.fsm.evolution import led, onward
from pawl.runtime.fsm.table import Migration
from pawl.tools.compiler.compile import compile_files, compile_text
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.migrations import MOST
from pawl.tools.compiler.model import MigrationModel
from pawl.tools.compiler.verify import GeneratedDiffers, verify

OLD, OLDER = "0123456789ab", "ba9876543210"


def of(item: str, text: str = WRITER) -> MigrationModel:
    """What one item comes to, in a machine that compiles without a finding."""
    return model(f"{text}migrations:\n  - {item}\n").migrations[0]


def test_a_state_that_goes_on_takes_along_what_is_inside_of_it() -> None:
    found = of(f"{{from: {OLD}, version: 1, states: {{penning: writing}}}}")

    inner = ("committing", "retrying", "reconciling", "rereading")
    assert dict(found.states) == {"penning": "writing"} | {f"penning.{name}": f"writing.{name}" for name in inner}


def test_a_use_of_a_fragment_goes_on_as_another(tmp_path: Path) -> None:
    items = f"migrations: [{{from: {OLD}, version: 1, compatible: true, states: {{load: fetch}}}}]\n"
    (path, *_) = written(tmp_path, courier=COURIER + items, retry=RETRY)
    (machine,) = [each for each in compile_files([path]).machines if each.name == "courier"]

    (found,) = machine.migrations
    names = [state.name.removeprefix("fetch.") for state in machine.states if state.name.startswith("fetch.")]
    assert len(names) > 1
    assert dict(found.states) == {f"load.{name}": f"fetch.{name}" for name in names}
    assert led(found, "load") is None or led(found, "load") not in {state.name for state in machine.states}


@pytest.mark.parametrize(
    ("more", "state", "end"),
    [
        ("compatible: true", "writing", "writing"),
        ("compatible: true", "writing.retrying", "writing.retrying"),
        ("compatible: true", "gone", None),
        ("compatible: true, refuse: [writing]", "writing", None),
        ("compatible: true, refuse: [writing]", "writing.retrying", None),
        ("compatible: true, refuse: [writing.retrying]", "writing.retrying", None),
        ("compatible: true, refuse: [writing.retrying]", "writing", "writing"),
        ("compatible: true, states: {writing: unclear}", "writing", "unclear"),
        ("compatible: true, states: {writing: unclear}", "writing.retrying", None),
        ("compatible: true, states: {writing: unclear, writing.retrying: lost}", "writing.retrying", "lost"),
        ("states: {writing: unclear}", "unclear", None),
        ("states: {writing: unclear}, refuse: [unclear]", "unclear", None),
        ("states: {writing: unclear, unclear: unclear}", "unclear", "unclear"),
        ("states: {a: writing, b: writing}", "b.committing", "writing.committing"),
    ],
)
def test_a_state_goes_on_where_its_item_says(more: str, state: str, end: str | None) -> None:
    spec = model(f"{WRITER}migrations:\n  - {{from: {OLD}, version: 1, {more}}}\n")
    machine = verify(spec, emit_python(spec))

    assert onward(machine, machine.migrations[0], state) == end


def test_what_is_inside_of_a_state_that_goes_on_does_not_stay_where_it_was() -> None:
    found = of(f"{{from: {OLD}, version: 1, compatible: true, states: {{writing: unclear}}}}")

    assert led(found, "writing") == "unclear"
    assert led(found, "writing.committing") is None
    assert led(found, "idle") == "idle"


def test_this_very_version_needs_no_item() -> None:
    own = model(DOOR).spec_hash
    for text in (own, own[:12]):
        assert said(f"{DOOR}migrations: [{{from: {text}, version: 1, compatible: true}}]\n") == ["14 E15"]
        to = f"{DOOR}migrations: [{{from: {OLD}, to: {text}, version: 1, compatible: true}}]\n"
        assert said(to) == ["14 E15"]


def test_a_hash_that_looks_like_a_number_is_a_text() -> None:
    for text in ("123456789012", "12345678e901", "000000000000"):
        assert of(f"{{from: {text}, version: 1, compatible: true}}").spec_hash == text


def test_an_item_stands_for_so_many_states_and_no_more() -> None:
    moves = ", ".join(f"w{number}: writing" for number in range(MOST // 5 + 1))
    found = compiled(f"{WRITER}migrations:\n  - {{from: {OLD}, version: 1, states: {{{moves}}}}}\n")

    assert [finding.rule for finding in found.findings] == ["E15"]
    assert f"more than {MOST:,} states" in found.findings[0].message


# chains ---------------------------------------------------------------------------------------------------------------

NAMES = ["idle", "writing", "unclear", "old", "older", "writing.retrying", "old.retrying", "old.elsewhere"]
STATES = {state.name: state for state in model(WRITER).states}


@attrs.frozen
class Item:
    """One step, and what it says, read word by word."""

    compatible: bool
    moves: dict[str, str]
    refuse: list[str]

    def yaml(self, number: int, last: bool) -> str:
        parts = [f"from: {number:012}", f"version: {number + 1}"]
        parts += [] if last else [f"to: {number + 1:012}"]
        parts += ["compatible: true"] if self.compatible else []
        parts.append(f"states: {{{', '.join(f'{old}: {new}' for old, new in self.moves.items())}}}")
        parts += [f"refuse: [{', '.join(self.refuse)}]"] if self.refuse else []
        return f"  - {{{', '.join(parts)}}}\n"

    def after(self, name: str) -> str | None:
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            head, rest = ".".join(parts[:length]), "".join(f".{part}" for part in parts[length:])
            if head in self.moves:
                return self.moves[head] + rest
            if head in self.refuse:
                return None
        return name if self.compatible else None


@st.composite
def items(draw: st.DrawFn) -> list[Item]:
    found = []
    number = draw(st.integers(1, 3))
    for place in range(number):
        olds = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
        cut = draw(st.integers(0, len(olds)))
        targets = ["idle", "writing", "unclear"] if place == number - 1 else [each for each in NAMES if "." not in each]
        moves = {old: draw(st.sampled_from(targets)) for old in olds[:cut]}
        found.append(Item(draw(st.booleans()) or not moves, moves, olds[cut:]))
    return found


@given(items())
@settings(max_examples=300, deadline=None)
def test_a_chain_of_items_leads_where_each_of_them_leads_in_turn(steps: list[Item]) -> None:
    text = "".join(step.yaml(number, step is steps[-1]) for number, step in enumerate(steps))
    found = compile_text(f"{WRITER}migrations:\n{text}")
    if found.errors:  # a step has not heard of what another leads to
        assert {finding.rule for finding in found.errors} == {"E15"}
        assert len(steps) > 1
        return
    for place, migration in enumerate(found.machines[0].migrations):
        for name in (*NAMES, *STATES):
            end: str | None = name
            for step in steps[place:]:
                end = step.after(end) if end is not None else None
            now = led(migration, name)
            assert (now if now in STATES else None) == (end if end in STATES else None), (place, name)


# in the generated module ----------------------------------------------------------------------------------------------

TWO = (
    MigrationModel(OLD, 2, at(), compatible=True, states=(("boxing", "packing"),), refuse=("paying", "stuck")),
    MigrationModel(OLDER, 1, at(), states=(("boxing", "packing"), ("held", "on_hold"))),
)


def test_what_the_module_says_is_what_the_spec_says() -> None:
    text = emit_python(order(migrations=TWO))

    assert verify(order(migrations=TWO), text).migrations == (
        Migration(OLD, 2, True, (("boxing", "packing"),), ("paying", "stuck")),
        Migration(OLDER, 1, False, (("boxing", "packing"), ("held", "on_hold"))),
    )
    assert "Migration" not in emit_python(order())


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        (OLD, OLD[:-1] + "0", "migrations[0].spec_hash"),
        (f'"{OLDER}", 1', f'"{OLDER}", 2', "migrations[1].version"),
        ("compatible=True", "compatible=False", "migrations[0].compatible"),
        ('"held", State.ON_HOLD', '"held", State.STUCK', "migrations[1].states"),
        ('refuse=("paying", "stuck")', 'refuse=("paying",)', "migrations[0].refuse"),
    ],
)
def test_a_module_that_says_something_else_is_refused(old: str, new: str, difference: str) -> None:
    machine = order(migrations=TWO)
    text = emit_python(machine)
    assert old in text

    with pytest.raises(GeneratedDiffers) as caught:
        verify(machine, text.replace(old, new, 1))

    assert any(each.startswith(difference) for each in caught.value.differences), caught.value.differences


@given(st.text(), st.text())
def test_hostile_names_of_other_versions_stay_texts(name: str, digest: str) -> None:
    machine = order(migrations=(MigrationModel(digest, 1, at(), states=((name, "packing"),), refuse=(name,)),))

    (found,) = verify(machine, emit_python(machine)).migrations
    assert (found.spec_hash, found.states, found.refuse) == (digest, ((name, "packing"),), (name,))


WAITING = edited(
    DOOR,
    ("  open: {}", "  open: {}\n  held: {wait: true}"),
    ("on: push, to: open}", "on: push, to: open}\n  - {from: open, on: push, to: held}"),
    ("from: [closed, open], on: demolish", "from: [closed, open, held], on: demolish"),
    ("demolish", "cancel"),
)


@pytest.mark.parametrize("target", ["open", "held", "gone"])
def test_wait_states_lead_to_wait_states_and_others_to_others(target: str) -> None:
    for word in ("states", "waits"):
        item = f"{{from: {OLD}, version: 1, {word}: {{a: {target}}}}}"
        if (word == "waits") is (target == "held"):
            assert of(item, WAITING).states == (("a", target),)
        else:
            assert [each.rule for each in compiled(f"{WAITING}migrations: [{item}]\n").findings] == ["E15"]
