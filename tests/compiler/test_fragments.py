"""What a use of a fragment becomes: names, rows, exits and parameters, texts, hash and findings."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from compiler.parts import COURIER, RETRY, compiled, model, said, table, written
from compiler.specs import edited
from pawl.runtime.fsm.table import Unhandled
from pawl.tools.compiler.compile import compile_files, compile_text
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


QUIET = """\
pawl: 1
fragment: quiet
states:
  resting: {initial: true}
events: {wake: {}}
transitions: [{from: resting, on: wake}]
"""


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


NIGHT = """\
pawl: 1
fragment: night
include: ../retry.yaml
use: [{fragment: retry, as: inner, with: {done: rest, failed: gone, attempt: knock}}]
exits: {gone: }
parameters: {knock: , may_try_again: }
states:
  rest: {initial: true, enter: [knock]}
events: {morning: {}}
transitions:
  - {from: rest, on: morning, to: inner, when: may_try_again}
  - {from: rest, on: morning, to: inner.pausing}
  - {from: inner, on: morning, to: gone}
unhandled: {ignore: morning}
"""

TWICE = """\
pawl: 1
machine: twice
version: 1
include: parts/night.yaml
use:
  - {fragment: night, as: one, with: {gone: two, knock: softly, may_try_again: brave}}
  - {fragment: night, as: two, with: {gone: end, knock: loudly, may_try_again: shy}}
states:
  begin: {initial: true, auto: true}
  end: {final: true}
transitions:
  - {from: begin, to: one}
  - {from: one.inner.trying, on: morning, to: end}
checks: {W19: off}
"""


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


# without a prefix

WHOLE = """\
pawl: 1
machine: door
version: 1
states:
  closed: {initial: true}
  open: {}
  gone: {final: true}
events: {push: {}, pull: {}, demolish: {}}
groups: {ALL: [closed, open]}
transitions:
  - {from: closed, on: push, to: open}
  - {from: open, on: pull, to: closed}
  - {from: ALL, on: demolish, to: gone, do: [ring]}
unhandled: {ignore: [push, pull]}
"""


def test_moving_the_last_rows_into_a_fragment_without_a_prefix_keeps_the_hash(tmp_path: Path) -> None:
    last = "  - {from: ALL, on: demolish, to: gone, do: [ring]}\n"
    head = "version: 1\ninclude: more.yaml\nuse: more\n"
    door = edited(WHOLE, (last, ""), ("version: 1\n", head))
    before = compile_text(WHOLE).machines[0]

    machine = model(tmp_path, door=door, more=f"pawl: 1\nfragment: more\ntransitions:\n{last}")

    assert (machine.spec_hash, table(machine)) == (before.spec_hash, table(before))


def test_states_events_and_groups_may_move_along(tmp_path: Path) -> None:
    states = "  open: {}\n  gone: {final: true}\n"
    rest = edited(WHOLE, ("pawl: 1\nmachine: door\nversion: 1\n", "pawl: 1\nfragment: more\n"))
    more = edited(rest, ("  closed: {initial: true}\n", ""), ("  - {from: closed, on: push, to: open}\n", ""))
    door = (
        "pawl: 1\nmachine: door\nversion: 1\ninclude: more.yaml\nuse: more\nstates:\n  closed: {initial: true}\n"
        "transitions:\n  - {from: closed, on: push, to: open}\n"
    )
    assert states in more
    machine = model(tmp_path, door=door, more=more)
    assert machine.spec_hash == compile_text(WHOLE).machines[0].spec_hash


def test_the_beginning_may_move_along_and_there_is_one(tmp_path: Path) -> None:
    closed = "  closed: {initial: true}\n"
    door = edited(WHOLE, (closed, ""), ("version: 1\n", "version: 1\ninclude: more.yaml\nuse: more\n"))
    machine = model(tmp_path, door=door, more=f"pawl: 1\nfragment: more\nstates:\n{closed}")
    assert machine.initial == "closed"
    assert machine.spec_hash == compile_text(WHOLE).machines[0].spec_hash
    both = edited(door, ("  open: {}\n", "  open: {initial: true}\n"))
    assert said(tmp_path, door=both) == ["more.yaml:4 E03"]


def test_the_way_into_a_use_may_lie_in_what_the_fragment_uses_without_a_prefix(tmp_path: Path) -> None:
    outer = "pawl: 1\nfragment: outer\ninclude: quiet.yaml\nuse: quiet\n"
    machine = (
        "pawl: 1\nmachine: m\nversion: 1\ninclude: outer.yaml\nuse: outer as o\n"
        "states: {a: {initial: true, auto: true}}\ntransitions: [{from: a, to: o}]\nchecks: {W15: off}\n"
    )
    found = model(tmp_path, m=machine, outer=outer, quiet=QUIET)
    assert table(found) == ["a - -> o.resting", "o.resting wake -> -"]
    twice = f"{outer}states: {{b: {{initial: true}}}}\n"
    assert said(tmp_path, m=machine, outer=twice, quiet=QUIET) == ["quiet.yaml:4 E03"]


HALF = """\
pawl: 1
fragment: half
include: [other.yaml, quiet.yaml]
use: [other, quiet as q]
states:
  one: {initial: true}
groups: {MINE: [one, two]}
events: {go: {}, back: {}, off: {}}
transitions:
  - {from: one, on: go, to: two}
  - {from: one, on: off, to: later}
  - {from: THEIRS, on: back, to: one}
"""

OTHER = """\
pawl: 1
fragment: other
include: quiet.yaml
use: quiet as later
states:
  two: {}
groups: {THEIRS: [two, later.resting], BOTH: [go, off]}
transitions:
  - {from: two, on: BOTH, to: q}
  - {from: q, on: back, to: one}
"""


def test_files_without_a_prefix_know_each_others_names_also_under_the_prefix_of_the_whole(tmp_path: Path) -> None:
    machine = (
        "pawl: 1\nmachine: m\nversion: 1\ninclude: half.yaml\nuse: half as h\nchecks: {W09: off}\n"
        "states: {a: {initial: true, auto: true}}\ntransitions: [{from: a, to: h}]\n"
        "unhandled: {ignore: [go, back, off, wake]}\n"
    )
    assert table(model(tmp_path, m=machine, half=HALF, other=OTHER, quiet=QUIET)) == [
        "a - -> h.one",
        "h.one go -> h.two",
        "h.one off -> h.later.resting",
        "h.two back -> h.one",
        "h.two go -> h.q.resting",
        "h.two off -> h.q.resting",
        "h.later.resting back -> h.one",
        "h.later.resting wake -> -",
        "h.q.resting back -> h.one",
        "h.q.resting wake -> -",
    ]


def test_words_that_several_files_share_are_there_once(tmp_path: Path) -> None:
    words = "pawl: 1\nfragment: words\nevents: {cancel: {}, evicted: {}}\ngroups: {STOP: [cancel, evicted]}\n"
    other = "pawl: 1\nfragment: other\ninclude: words.yaml\nuse: words\ntransitions: [{from: b, on: STOP, to: c}]\n"
    third = edited(other, ("fragment: other", "fragment: third"), ("from: b", "from: a"))
    machine = (
        "pawl: 1\nmachine: m\nversion: 1\ninclude: [other.yaml, third.yaml, words.yaml]\nuse: [other, third, words]\n"
        "states: {a: {initial: true}, b: {}, c: {final: true}}\ntransitions: [{from: a, on: evicted, to: b, when: g}]\n"
    )
    found = model(tmp_path, m=machine, other=other, third=third, words=words)
    assert table(found) == [
        "a evicted g -> b", "a cancel -> c", "a evicted -> c", "b cancel -> c", "b evicted -> c",
    ]  # fmt: skip
    assert found.groups == {"STOP": ("cancel", "evicted")}


def test_what_a_fragment_brings_is_in_the_hash_and_where_it_lies_is_not(tmp_path: Path) -> None:
    first = model(tmp_path, courier=COURIER, retry=RETRY).spec_hash
    moved = edited(COURIER, ("include: retry.yaml", "include: [parts/again.yaml]"))
    assert model(tmp_path, courier=moved, parts__again="# moved\n" + RETRY).spec_hash == first
    changed = edited(RETRY, ("late, to: failed}", "late, to: failed, do: [sigh]}"))
    assert model(tmp_path, courier=COURIER, retry=changed).spec_hash != first


# findings


def test_a_finding_in_a_fragment_is_told_once_for_all_machines_and_refuses_each_of_them(tmp_path: Path) -> None:
    other = edited(COURIER, ("machine: courier", "machine: bearer"))
    broken = edited(RETRY, ("to: pausing", "to: pausng"))
    result = compiled(tmp_path, bearer=other, courier=COURIER, retry=broken)
    assert [f"{Path(f.position.file).name}:{f.position.line} {f.rule}" for f in result.findings] == [
        "retry.yaml:12 E01"
    ]
    assert result.machines == ()
    assert str(result.findings[0]).endswith(f"(used in {tmp_path / 'bearer.yaml'}:6:5)")


def test_a_broken_fragment_leaves_other_machines_alone(tmp_path: Path) -> None:
    alone = edited(WHOLE, ("machine: door", "machine: gate"))
    result = compiled(tmp_path, courier=COURIER, gate=alone, retry=RETRY.replace("from: trying", "frm: trying"))
    assert [machine.name for machine in result.machines] == ["gate"]
    assert {finding.rule for finding in result.findings} == {"Y12"}


def test_a_fragment_that_is_included_from_elsewhere_is_read_once(tmp_path: Path) -> None:
    paths = written(tmp_path, twice=TWICE, courier=COURIER, parts__night=NIGHT, retry=RETRY)
    result = compile_files(paths)
    assert result.findings == ()
    assert sorted(Path(file).name for file in result.included) == ["night.yaml", "retry.yaml"]
    assert compile_files(paths[:2]) == result


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(RETRY)
    inside = tmp_path / "specs"
    inside.mkdir()
    (inside / "retry.yaml").symlink_to(tmp_path / "secret.yaml")
    (finding,) = compiled(inside, courier=COURIER).findings
    assert (finding.rule, finding.position.line) == ("Y16", 4)
    assert "outside of the folder" in finding.message


def test_a_folder_a_device_and_an_unreadable_path_are_no_fragments(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    for include in ("folder.yaml", "x/" * 3000 + "a.yaml"):
        (finding,) = compiled(tmp_path, courier=edited(COURIER, ("retry.yaml", include))).findings
        assert (finding.rule, finding.position.line) == ("Y16", 4)


def test_includes_lead_so_deep_and_no_deeper(tmp_path: Path) -> None:
    chain = {f"f{n}": f"pawl: 1\nfragment: f{n}\ninclude: f{n + 1}.yaml\nuse: f{n + 1}\n" for n in range(40)}
    door = edited(WHOLE, ("version: 1\n", "version: 1\ninclude: f0.yaml\nuse: f0\n"))
    written(tmp_path, **chain)
    assert said(tmp_path, door=door) == ["f15.yaml:3 Y16"]
    written(tmp_path, f12="pawl: 1\nfragment: f12\n")
    assert said(tmp_path, door=door) == []


def test_files_that_include_each_other_in_very_many_ways_are_read_once_each(tmp_path: Path) -> None:
    wide = 12
    for level in range(15):
        below = [f"l{level + 1}n{n}" for n in range(wide)] if level < 14 else []
        include = (
            f"include: [{', '.join(f'{name}.yaml' for name in below)}]\nuse: [{', '.join(below)}]\n" if below else ""
        )
        for n in range(wide):
            written(tmp_path, **{f"l{level}n{n}": f"pawl: 1\nfragment: l{level}n{n}\n{include}"})
    door = edited(WHOLE, ("version: 1\n", "version: 1\ninclude: l0n0.yaml\nuse: l0n0\n"))
    assert said(tmp_path, door=door) == []
    assert len(compiled(tmp_path, door=edited(door, ("use: l0n0\n", ""))).included) == 14 * wide + 1


def test_a_file_includes_so_many_and_no_more(tmp_path: Path) -> None:
    names = ", ".join(f"f{n}.yaml" for n in range(5000))
    result = compiled(tmp_path, door=edited(WHOLE, ("version: 1\n", f"version: 1\ninclude: [{names}]\n")))
    assert {finding.rule for finding in result.findings} == {"Y16"}
    assert len(result.findings) == 101


# alone


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("to: done", "to: doen"), ["retry.yaml:11 E01"]),
        (("initial: true, ", ""), []),
        (("pausing: {", "pausing: {initial: true, "), ["retry.yaml:7 E03"]),
        (("pausing: {", "pausing: {final: true, "), ["retry.yaml:7 E04", "retry.yaml:14 E04"]),
        (("parameters: {", "parameters: {late: , "), []),
        (("when: may_try_again", "when: attempt"), []),
        (
            ("  - {from: trying, on: late, to: failed}\n", "  - {from: trying, on: late, to: failed}\n" * 2),
            ["retry.yaml:14 E08"],
        ),
        (("pausing: {", "pausing: {barrier: write, "), ["retry.yaml:7 E14"]),
        (("pausing: {", "pausing: {barrier: write, refused: failed, stop: done, "), []),
        (("on: worked", "on: what_the_user_declares"), []),
    ],
)
def test_a_fragment_that_nothing_uses_is_checked_as_far_as_it_goes_alone(
    tmp_path: Path, change: tuple[str, str], found: list[str]
) -> None:
    assert said(tmp_path, retry=edited(RETRY, change)) == found
    assert not any(each.position.uses for each in compiled(tmp_path, retry=edited(RETRY, change)).findings)


def test_a_fragment_that_is_used_is_not_checked_alone_as_well(tmp_path: Path) -> None:
    broken = edited(RETRY, ("to: pausing", "to: pausng"))
    assert said(tmp_path, courier=COURIER, retry=broken) == ["retry.yaml:12 E01"]
    assert compiled(tmp_path, courier=COURIER, retry=broken).findings[0].position.uses


def test_one_that_includes_others_is_not_followed_alone(tmp_path: Path) -> None:
    assert said(tmp_path, night=edited(NIGHT, ("to: gone", "to: went"))) == []
