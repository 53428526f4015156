"""Fragments without a prefix: a machine, or a fragment, that is cut into several files."""

from __future__ import annotations

from pathlib import Path

from compiler.parts import COURIER, QUIET, RETRY, WHOLE, model, said, table
from compiler.specs import edited
from pawl.tools.compiler.compile import compile_text


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
