from __future__ import annotations

from typing import Any

import attrs
import pytest

from compiler.specs import DOOR, WRITER, compiled, edited, model, said
from pawl.tools.compiler.findings import MOST_FINDINGS
from pawl.tools.compiler.load import load_text
from pawl.tools.compiler.nodes import Scalar
from pawl.tools.compiler.spec import Spec
from pawl.tools.compiler.structure import structure


def spec_of(text: str) -> Spec:
    spec, findings = structure(load_text(text, "spec.yaml"))
    assert findings == ()
    assert spec is not None
    return spec


def test_one_name_stands_for_a_list_of_one() -> None:
    lists = edited(
        DOOR, ("on: push, to: open", "on: [push], to: open, when: [a], do: [b]}\n  - {from: closed, on: push")
    )
    single = edited(DOOR, ("on: push, to: open", "on: push, to: open, when: a, do: b}\n  - {from: closed, on: push"))
    assert model(lists).rows == model(single).rows


def test_nothing_written_stands_for_a_state_or_event_without_keys() -> None:
    changed = edited(
        DOOR, ("  open: {}", "  open:"), ("{push: {}, pull: {}, demolish: {}}", "{push: , pull: , demolish: }")
    )
    assert [state.name for state in model(changed).states] == ["closed", "open", "gone"]
    assert spec_of(changed).states["open"] == attrs.evolve(
        spec_of(DOOR).states["open"], at=spec_of(changed).states["open"].at
    )


def test_quotes_do_not_change_what_a_value_is() -> None:
    assert model(DOOR, ("version: 1", 'version: "1"'), ("initial: true", "'initial': 'true'")).version == 1


@pytest.mark.parametrize("word", ["0", "-1", "1.0", "01", "1e3", "0x1", "1_0", "", "one", "9999999999", "\u0661"])
def test_a_version_is_a_plain_whole_number(word: str) -> None:
    assert said(DOOR, ("version: 1", f"version: {word}")) == ["3 Y14"]


@pytest.mark.parametrize("word", ["True", "yes", "on", "1", "TRUE", "no", "~", '""'])
def test_a_flag_is_true_or_false_in_just_these_letters(word: str) -> None:
    assert "6 Y14" in said(DOOR, ("open: {}", f"open: {{wait: {word}}}"))


def test_a_flag_that_is_false_is_the_same_as_none() -> None:
    assert model(DOOR, ("open: {}", "open: {auto: false, final: false}")) == model(DOOR)


def test_a_mistyped_key_is_named_and_read_as_the_one_that_was_meant() -> None:
    assert said(DOOR, ("transitions:", "transitons:")) == ["9 Y12"]
    assert said(DOOR, ("initial:", "inital:")) == ["5 Y12"]


def test_a_mistyped_key_beside_the_right_one_is_not_read() -> None:
    assert said(DOOR, ("initial: true", "initial: true, intial: false")) == ["5 Y12"]


def test_all_mistakes_of_form_are_found_in_one_go() -> None:
    changes = (
        ("version: 1", "version: x"),
        ("initial: true", "initial: true, atuo: [true]"),
        ("open: {}", "open: [a]"),
        ("{push: {}", "{push: {payload: nope}"),
        ("from: open,", "frm: open,"),
    )
    assert said(DOOR, *changes) == ["3 Y14", "5 Y12", "5 Y13", "6 Y13", "8 Y14", "11 Y12"]


def test_a_refused_value_is_not_reported_as_a_missing_key() -> None:
    assert said(DOOR, ("from: open,", "from: {a: b},")) == ["11 Y13"]


def test_a_spec_without_states_gives_one_finding_and_no_machine() -> None:
    result = compiled("pawl: 1\nmachine: door\nversion: 1\n")
    assert [str(f) for f in result.findings] == ["spec.yaml:1:1: Y13 the key 'states' is missing; add it"]
    assert result.machines == ()


def test_every_leaf_of_a_spec_has_its_place() -> None:
    def leaves(value: object) -> list[Scalar]:
        if isinstance(value, Scalar):
            return [value]
        if isinstance(value, dict):
            return [leaf for item in value.values() for leaf in leaves(item)]
        if isinstance(value, tuple):
            return [leaf for item in value for leaf in leaves(item)]
        kind: Any = type(value)
        if attrs.has(kind):
            return [leaf for field in attrs.fields(kind) for leaf in leaves(getattr(value, field.name))]
        return []

    lines = WRITER.splitlines()
    found = leaves(spec_of(WRITER))
    assert len(found) > 30
    for leaf in found:
        assert lines[leaf.at.line - 1][leaf.at.column - 1 :].startswith(leaf.text)


def test_text_for_people_may_say_anything() -> None:
    words = 'he said \\"\\"\\"boom\\"\\"\\" {{ 7 }} \\\\ \\n # é'
    machine = model(
        DOOR,
        ("machine: door\n", f'machine: door\ndoc: "{words}"\n'),
        ("open: {}", f'open: {{doc: "{words}", label: "{words}"}}'),
    )
    assert machine.doc == 'he said """boom""" {{ 7 }} \\ \n # é'
    assert machine.states[1].label == machine.states[1].doc == machine.doc


def test_a_section_with_nothing_in_it_is_empty() -> None:
    assert (
        said("pawl: 1\nmachine: door\nversion: 1\nstates: {a: {initial: true, final: true}}\ntransitions:\nevents:\n")
        == []
    )


def test_a_hostile_file_gets_no_more_findings_than_anybody_reads() -> None:
    text = "pawl: 1\nmachine: door\nversion: 1\nstates: {a: {initial: true, final: true}}\n"
    assert len(said(text + "".join(f"k{n}: x\n" for n in range(1000)))) == MOST_FINDINGS
    assert len(said(text + "k: x\n" * 1000)) == MOST_FINDINGS + 1


def test_an_unknown_name_among_very_many_is_refused_without_a_guess() -> None:
    states = "".join(f"  s{n}: {{}}\n" for n in range(600))
    text = f"pawl: 1\nmachine: door\nversion: 1\nstates:\n  a: {{initial: true}}\n{states}error: s9999\n"
    assert [f.message for f in compiled(text).findings if f.rule == "E01"] == [
        "unknown state 's9999'; add it to `states`"
    ]
