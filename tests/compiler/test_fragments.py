"""What a use of a fragment becomes: names, rows, exits and parameters, texts, hash and findings."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from compiler.parts import COURIER, NIGHT, QUIET, RETRY, TWICE, model, said, table
from compiler.specs import edited
from pawl.runtime.fsm.table import Unhandled
from pawl.tools.compiler.crosscheck import cross_check
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.verify import GeneratedDiffers, verify


def test_each_use_has_its_own_states_and_rows(tmp_path: Path) -> None:
    machine = model(tmp_path, courier=COURIER, retry=RETRY)

    assert [state.name for state in machine.states] == [
        "begin", "sent", "lost", "fetch.trying", "fetch.pausing", "send.trying", "send.pausing",
    ]  # fmt: skip
    assert table(machine) == [
        "begin - -> fetch.trying",
        "fetch.trying cancel -> lost",
        "fetch.trying worked -> send.trying",
        "fetch.trying late may_try_again -> fetch.pausing",
        "fetch.trying late -> lost",
        "fetch.pausing cancel -> lost",
        "fetch.pausing pause_over -> fetch.trying",
        "send.trying cancel -> send.trying",
        "send.trying worked -> sent",
        "send.trying late may_try_again -> send.pausing",
        "send.trying late -> lost",
        "send.pausing cancel -> lost",
        "send.pausing pause_over -> send.trying",
    ]


def test_parameters_are_what_each_use_says_and_the_rest_is_shared(tmp_path: Path) -> None:
    machine = model(tmp_path, courier=COURIER, retry=RETRY)

    assert {state.name: state.enter for state in machine.states if state.enter} == {
        "fetch.trying": ("ask_source",), "send.trying": ("ask_target",),
    }  # fmt: skip
    assert {state.after.delay for state in machine.states if state.after is not None} == {"patience", "pause"}
    assert list(machine.guards) == ["may_try_again"]
    assert [event.name for event in machine.events] == ["cancel", "worked", "late", "pause_over"]


def test_both_engines_agree_on_a_machine_with_fragments(tmp_path: Path) -> None:
    machine = model(tmp_path, courier=COURIER, retry=RETRY)
    made = verify(machine, emit_python(machine))

    assert cross_check(machine, made).differences == ()
    damaged = attrs.evolve(
        made, rows=tuple(attrs.evolve(r, target=r.source) if r.event == "late" else r for r in made.rows)
    )
    found = cross_check(machine, damaged).differences
    assert any("retry.yaml:12:" in str(each) for each in found)


def test_the_line_of_a_row_is_one_of_the_machines_own_file(tmp_path: Path) -> None:
    machine = model(tmp_path, courier=COURIER, retry=RETRY)
    lines = {(row.source, row.event): row.at.outermost.line for row in machine.rows}
    assert lines["fetch.trying", "worked"] == 6
    assert lines["send.trying", "worked"] == 7
    assert lines["begin", None] == 14
    text = emit_python(machine)
    assert "line=6),  # retry.yaml:11\n" in text
    with pytest.raises(GeneratedDiffers):
        verify(machine, text.replace("line=6)", "line=11)"))


def test_a_comment_cannot_end_the_line_whatever_the_fragment_is_called(tmp_path: Path) -> None:
    name = 'a\nimport os\n".yaml'
    (tmp_path / name).write_text(RETRY)
    include = name.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    machine = model(tmp_path, courier=edited(COURIER, ("include: retry.yaml", f'include: "{include}"')))
    verify(machine, emit_python(machine))
    assert "\nimport os" not in emit_python(machine)


def test_the_short_form_is_the_long_one(tmp_path: Path) -> None:
    head = "pawl: 1\nmachine: m\nversion: 1\ninclude: [quiet.yaml]\nstates: {a: {initial: true, auto: true}}\n"
    long = "{fragment: quiet, as: r}"
    uses = [long, f"[{long}]", "[{fragment: quiet, as: r, with: {}}]", "quiet as r", "[quiet as r]", '"quiet  as   r"']
    rows = "transitions: [{from: a, to: r}]\nchecks: {W15: off}\n"

    made = [model(tmp_path, m=f"{head}use: {use}\n{rows}", quiet=QUIET) for use in uses]

    assert {each.spec_hash for each in made} == {made[0].spec_hash}
    assert {tuple(table(each)) for each in made} == {("a - -> r.resting", "r.resting wake -> -")}


def test_the_rows_of_the_user_replace_those_of_the_fragment_for_the_pair(tmp_path: Path) -> None:
    own = "transitions:\n  - {from: fetch.trying, on: late, to: lost, when: hopeless}\n  - {from: fetch, on: late}\n"
    machine = model(tmp_path, courier=edited(COURIER, ("transitions:\n", own)) + "checks: {W13: off}\n", retry=RETRY)
    rows = [row for row in table(machine) if " late" in row]
    assert rows == [
        "fetch.trying late hopeless -> lost",
        "fetch.trying late -> -",
        "fetch.pausing late -> -",
        "send.trying late may_try_again -> send.pausing",
        "send.trying late -> lost",
    ]


def test_fragments_use_fragments_and_no_name_of_one_is_taken_for_one_of_another(tmp_path: Path) -> None:
    machine = model(tmp_path, twice=TWICE, parts__night=NIGHT, retry=RETRY)

    assert [state.name for state in machine.states if state.name.startswith("one")] == [
        "one.rest", "one.inner.trying", "one.inner.pausing",
    ]  # fmt: skip
    rows = table(machine)
    assert "one.rest morning brave -> one.inner.trying" in rows  # `may_try_again` of night, which is a parameter
    assert "one.inner.trying late may_try_again -> one.inner.pausing" in rows  # `may_try_again` of retry, which is not
    assert "one.inner.trying worked -> one.rest" in rows
    assert "one.inner.trying late -> two.rest" in rows  # an exit of an exit
    assert "two.inner.trying late -> end" in rows
    assert [row for row in rows if row.startswith("one.inner.trying morning")] == ["one.inner.trying morning -> end"]
    assert "two.inner.trying morning -> end" in rows
    assert {state.name: state.enter for state in machine.states if "trying" in state.name} == {
        "one.inner.trying": ("softly",), "two.inner.trying": ("loudly",),
    }  # fmt: skip
    uses = next(row.at.uses for row in machine.rows if row.source == "two.inner.pausing" and row.event == "pause_over")
    assert [(Path(at.file).name, at.line) for at in uses] == [("night.yaml", 4), ("twice.yaml", 7)]


SAVING = """\
pawl: 1
fragment: saving
exits: {saved: , failed: }
parameters: {write: The barrier.}
states:
  asked: {initial: true, auto: true}
  writing: {barrier: write, refused: failed, stop: failed}
transitions:
  - {from: asked, to: writing, do: [count]}
  - {from: writing, on: next, to: saved}
  - {from: writing.committing, on: uncertain, to: writing.rereading}
  - {from: writing.reconciling, on: read_committed, to: writing, do: [apply_write]}
"""

SAVER = """\
pawl: 1
machine: saver
version: 1
include: saving.yaml
use:
  - {fragment: saving, as: first, with: {saved: second, failed: end, write: draft}}
  - {fragment: saving, as: second, with: {saved: end, failed: end, write: copy}}
states:
  begin: {initial: true, auto: true}
  end: {final: true}
  unclear: {halt: true}
events: {next: {}, stop: {}, gone: {}}
barriers: {stop: [stop, gone], lost: gone, conflict: unclear, superseded: end}
transitions:
  - {from: begin, to: first}
  - {from: second.writing.retrying, on: stop, to: unclear}
unhandled: {stale: [next, stop, gone]}
"""


def test_a_fragment_may_have_barriers_whose_names_the_use_chooses(tmp_path: Path) -> None:
    machine = model(tmp_path, saver=SAVER, saving=SAVING)
    rows = table(machine)

    assert "first.asked - -> first.writing.committing count prepare_draft" in rows
    assert "first.writing next -> second.asked" in rows
    assert "first.writing.committing uncertain -> first.writing.rereading" in rows
    assert "first.writing.reconciling read_committed -> first.writing apply_draft" in rows
    assert "second.writing.reconciling read_committed -> second.writing apply_copy" in rows
    assert "second.writing.committing committed -> second.writing apply_copy" in rows
    assert "second.writing.retrying stop -> unclear" in rows
    assert "second.writing.retrying gone -> end note_stop abandon_barrier" in rows
    assert {"prepare_draft", "apply_draft", "prepare_copy", "apply_copy"} <= set(machine.actions)
    made = verify(machine, emit_python(machine))
    assert cross_check(machine, made).differences == ()


def test_what_a_fragment_says_about_unhandled_events_is_a_default(tmp_path: Path) -> None:
    def decided(text: str) -> dict[str, Unhandled | None]:
        machine = model(tmp_path, courier=edited(COURIER, ("transitions:", f"{text}\ntransitions:")), retry=RETRY)
        return {event.name: event.unhandled for event in machine.events if event.unhandled is not None}

    stale = dict.fromkeys(("worked", "late", "pause_over"), Unhandled.STALE)
    assert decided("") == stale
    assert decided("unhandled: {refuse: worked}") == stale | {"worked": Unhandled.REFUSE}
    assert decided("groups: {OURS: [late, pause_over]}\nunhandled: {ignore: OURS}") == stale | {
        "late": Unhandled.IGNORE, "pause_over": Unhandled.IGNORE,
    }  # fmt: skip


def test_star_in_the_unhandled_lists_of_a_machine_is_what_neither_side_names(tmp_path: Path) -> None:
    text = edited(
        COURIER, ("events: {cancel: {}}", "events: {cancel: {}, more: {}}"), ("[fetch, send.pausing]", "fetch")
    )
    text += "  - {from: fetch, on: more}\nunhandled: {refuse: '*'}\n"
    machine = model(tmp_path, courier=text, retry=RETRY)
    assert {event.name: str(event.unhandled) for event in machine.events} == {
        "cancel": "refuse", "more": "refuse", "worked": "stale", "late": "stale", "pause_over": "stale",
    }  # fmt: skip


def test_an_event_may_be_declared_on_both_sides_when_both_say_the_same(tmp_path: Path) -> None:
    same = edited(COURIER, ("{cancel: {}}", "{cancel: {}, worked: {doc: Said by both.}}"))
    assert [event.doc for event in model(tmp_path, courier=same, retry=RETRY).events if event.name == "worked"] == [
        "Said by both."
    ]
    other = edited(COURIER, ("{cancel: {}}", "{cancel: {}, worked: {authority: [session]}}"))
    assert said(tmp_path, courier=other, retry=RETRY) == ["retry.yaml:8 E02"]


def test_texts_of_the_fragment_are_used_and_those_of_the_machine_come_first(tmp_path: Path) -> None:
    guards = "guards: {may_try_again: Attempts are left.}\ntransitions:"
    retry = edited(RETRY, ("transitions:", guards))
    assert model(tmp_path, courier=COURIER, retry=retry).guards == {"may_try_again": "Attempts are left."}
    own = edited(COURIER, ("transitions:", "guards: {may_try_again: Less than three.}\ntransitions:"))
    assert model(tmp_path, courier=own, retry=retry).guards == {"may_try_again": "Less than three."}


def test_a_machine_that_lists_its_guards_need_not_list_those_of_a_fragment_that_lists_its_own(tmp_path: Path) -> None:
    courier = edited(COURIER, ("transitions:", "guards: {}\ntransitions:"))
    assert said(tmp_path, courier=courier, retry=RETRY) == ["retry.yaml:12 E09"]
    retry = edited(RETRY, ("transitions:", "guards: {may_try_again: }\ntransitions:"))
    assert said(tmp_path, courier=courier, retry=retry) == []
