"""Where a rule ends: what it must not say, beside the goldens that show what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.specs import DOOR, WRITER, compiled, edited, said
from pawl.tools.compiler.compile import compile_files

PULL = "  - {from: open, on: pull, to: closed}\n"


def rows(*texts: str) -> tuple[str, str]:
    """DOOR with these rows for `pull` in `open` instead of its own."""
    return PULL, "".join(f"  - {{from: open, on: pull{text}}}\n" for text in texts)


def automatic(states: str, transitions: str) -> str:
    return f"pawl: 1\nmachine: m\nversion: 1\nstates:\n{states}transitions:\n{transitions}"


# -- E02, E05, E09 -----------------------------------------------------------------------------------------------


def test_one_guard_wanted_in_several_rows_is_no_duplicate() -> None:
    assert said(DOOR, rows(", when: a", ", when: b, unless: a", "")) == []


def test_the_same_action_on_a_row_and_on_entry_is_no_duplicate() -> None:
    assert (
        said(
            DOOR,
            ("open: {}", "open: {enter: [ring]}"),
            ("on: push, to: open", "on: push, to: open, do: [ring]"),
            ("demolish: {}", "cancel: {}"),
            ("on: demolish", "on: cancel"),
        )
        == []
    )


def test_two_groups_may_share_members() -> None:
    groups = "groups: {ALL: [closed, open], SOME: [open]}\ntransitions:"
    assert said(DOOR, ("transitions:", groups), ("from: [closed, open]", "from: [ALL, SOME]")) == []


def test_a_group_of_names_that_are_states_and_events_serves_as_both() -> None:
    assert (
        said(
            DOOR,
            ("push", "open"),
            ("transitions:", "groups: {G: [open]}\ntransitions:"),
            ("{from: open, on: pull", "{from: G, on: pull"),
            ("{from: closed, on: open", "{from: closed, on: G"),
        )
        == []
    )


def test_without_a_section_names_in_use_need_no_declaration() -> None:
    assert said(DOOR, rows(", when: anything, do: [whatever]", "")) == []


def test_an_empty_section_declares_that_there_are_none() -> None:
    assert said(
        DOOR, rows(", when: anything, do: [whatever]", ""), ("transitions:", "guards: {}\nactions: {}\ntransitions:")
    ) == ["13 E09", "13 E09"]


def test_each_unknown_use_of_a_name_is_reported() -> None:
    assert said(DOOR, ("to: closed", "to: nowhere"), ("to: gone", "to: nowhere")) == ["11 E01", "12 E01"]


# -- E08, W18 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "guards",
    [
        [", when: a", ""],
        [", when: [a, b]", ", when: a", ""],
        [", when: a", ", unless: a, when: b", ""],
        [", when: a", ", when: b", ", when: [c]", ""],
        [", unless: a", ", when: [a, b]", ", when: a, unless: b"],
    ],
)
def test_rows_that_can_all_be_taken_are_alive(guards: list[str]) -> None:
    assert said(DOOR, rows(*guards)) == []


@pytest.mark.parametrize(
    ("guards", "dead"),
    [
        (["", ""], [12]),
        (["", ", when: a"], [12]),
        ([", when: a", ", when: a", ""], [12]),
        ([", when: a", ", when: [b, a]", ""], [12]),
        ([", when: [a, b]", ", when: [b, a], unless: c", ""], [12]),
        ([", when: a", ", unless: a", ", when: b"], [13]),
        ([", when: a, unless: b", ", when: [a, b]", ", when: a", ""], [13]),
        ([", when: a, unless: a", ""], [11]),
        ([", when: a", ", when: b, unless: a", ", unless: [a, b]", ", when: c"], [14]),
    ],
)
def test_a_row_that_earlier_ones_always_forestall_is_dead(guards: list[str], dead: list[int]) -> None:
    assert said(DOOR, rows(*guards)) == [f"{line} E08" for line in dead]


def test_a_row_for_another_event_or_state_forestalls_nothing() -> None:
    assert (
        said(
            DOOR,
            rows(""),
            ("unhandled", "  - {from: closed, on: pull, to: gone}\nunhandled"),
            ("[push, pull]", "[push]"),
        )
        == []
    )


def test_a_special_case_above_a_general_rule_is_no_dead_row() -> None:
    changes = (
        ("transitions:", "groups: {ANY: [closed, open]}\ntransitions:"),
        (
            "  - {from: [closed, open], on: demolish, to: gone}",
            "  - {from: open, on: demolish}\n  - {from: ANY, on: demolish, to: gone}",
        ),
    )
    assert said(DOOR, *changes) == []


def test_a_general_rule_that_no_state_is_left_for_is_a_dead_row() -> None:
    changes = (
        ("transitions:", "groups: {ANY: [closed, open]}\ntransitions:"),
        (
            "  - {from: [closed, open], on: demolish, to: gone}",
            "  - {from: [open, closed], on: demolish, to: gone}\n  - {from: ANY, on: demolish}",
        ),
    )
    assert said(DOOR, *changes) == ["14 E08", "14 E08"]


def test_rows_for_internal_error_in_a_state_that_never_waits_are_alive() -> None:
    states = "  a: {initial: true, auto: true}\n  b: {final: true}\n"
    assert said(automatic(states, "  - {from: a, to: b}\n  - {from: a, on: internal_error, to: b}\n")) == []


def test_guards_that_leave_nothing_over_need_no_last_row() -> None:
    assert said(DOOR, rows(", when: a", ", unless: a")) == []
    assert said(DOOR, rows(", when: a", ", unless: [a, b]", ", when: b")) == []
    assert said(DOOR, rows(", when: a", ", unless: b")) == ["12 W18"]


def test_an_automatic_state_with_event_rows_waits_on_purpose() -> None:
    states = "  a: {initial: true, auto: true}\n  b: {final: true}\n"
    guarded = automatic(states, "  - {from: a, to: b, when: ready}\n")
    assert said(guarded) == ["8 W18"]
    waiting = guarded + "  - {from: a, on: go, to: b}\nevents: {go: {}}\n"
    assert said(waiting) == []


# -- E07, W17 ------------------------------------------------------------------------------------------------------

TWO = "  a: {initial: true, auto: true}\n  b: {auto: true}\n  end: {final: true}\n"


@pytest.mark.parametrize(
    ("transitions", "rules"),
    [
        (["a, to: b", "b, to: a"], {"E07", "W13", "W16"}),
        (["a, to: b, when: g", "a, to: b", "b, to: a"], {"E07", "W13", "W16"}),
        (["a, to: b, when: g", "a, to: b, unless: g", "b, to: a"], {"E07", "W13", "W16"}),
        (["a, to: a, when: g", "a, to: b", "b, to: a, when: h", "b, to: b"], {"E07", "W13", "W16"}),
        (["a, to: end, when: g", "a, to: b", "b, to: a"], {"W17"}),
        (["a, to: b", "b, to: a, when: g", "b, to: end"], {"W17"}),
        (["a, to: a, when: g", "a, to: b", "b, to: end"], {"W17"}),
        (["a, to: b", "b, to: end"], set()),
        (["a, to: b, when: g", "a, to: end", "b, to: end"], set()),
    ],
)
def test_a_cycle_is_endless_when_no_answer_of_a_guard_leads_out(transitions: list[str], rules: set[str]) -> None:
    text = automatic(TWO, "".join(f"  - {{from: {row}}}\n" for row in transitions))
    assert {line.split()[1] for line in said(text)} == rules


def test_a_cycle_through_a_state_that_waits_is_none() -> None:
    text = automatic(
        "  a: {initial: true, auto: true}\n  b: {}\n  end: {final: true}\n",
        "  - {from: a, to: b}\n  - {from: b, on: go, to: a}\n  - {from: b, on: stop, to: end}\n"
        "events: {go: {}, stop: {}}\n",
    )
    assert said(text) == []


def test_a_cycle_through_a_barrier_waits_for_the_store() -> None:
    assert (
        said(
            WRITER,
            (
                "on: finished, to: done",
                "on: finished, to: idle, when: more}\n  - {from: writing, on: finished, to: done",
            ),
        )
        == []
    )


# -- E11, E12 ------------------------------------------------------------------------------------------------------


def test_nothing_has_to_be_decided_where_no_event_can_arrive() -> None:
    states = "  a: {initial: true, auto: true}\n  b: {}\n  end: {final: true}\n"
    assert said(automatic(states, "  - {from: a, to: b}\n  - {from: b, on: go, to: end}\nevents: {go: {}}\n")) == []


def test_an_automatic_state_that_may_wait_has_to_decide() -> None:
    states = "  a: {initial: true, auto: true}\n  b: {}\n  end: {final: true}\n"
    text = automatic(
        states,
        "  - {from: a, to: b, when: g}\n  - {from: a, on: x, to: b}\n  - {from: b, on: go, to: end}\n"
        "events: {go: {}, x: {}}\n",
    )
    assert said(text) == ["12 E11", "12 E11"]


def test_one_undecided_event_is_one_finding_with_all_its_states() -> None:
    (finding,) = compiled(
        DOOR,
        ("[push, pull]", "[pull]"),
        ("  open: {}", "  ajar: {}\n  open: {}"),
        ("from: [closed, open]", "from: [closed, open, ajar]"),
        PULL_TO_AJAR,
    ).findings
    assert "'push' is not decided in 'ajar', 'open'" in str(finding)


PULL_TO_AJAR = (PULL, PULL + "  - {from: closed, on: pull, to: ajar}\n")


def test_halt_states_get_events_too() -> None:
    assert said(DOOR, ("gone: {final: true}", "gone: {halt: true}")) == ["8 E11"]


def test_internal_error_never_has_to_be_decided() -> None:
    assert said(DOOR, ("unhandled:", "  - {from: open, on: internal_error, to: gone}\nunhandled:")) == []
    assert (
        said(
            DOOR,
            ("demolish: {}", "demolish: {}, internal_error: {}"),
            ("unhandled:", "  - {from: open, on: internal_error, to: gone}\nunhandled:"),
        )
        == []
    )


def test_a_group_in_a_list_may_hold_events_that_are_handled_everywhere() -> None:
    changes = (
        ("transitions:", "groups: {MOVES: [push, pull, demolish]}\ntransitions:"),
        ("[push, pull]}\n", "MOVES}\n"),
    )
    assert said(edited(DOOR, ("ignore: [push, pull]", "ignore: [push, pull]")), *changes) == []


# -- E13, E14 ------------------------------------------------------------------------------------------------------

CALL = (
    ("  done: {final: true}", "  calling: {effect: call}\n  done: {final: true}"),
    (
        "{from: writing, on: finished, to: done}",
        "{from: writing, on: finished, to: calling}\n  - {from: calling, on: finished, to: done}\n"
        "  - {from: calling, on: STOP, to: failed}",
    ),
)


def test_an_effect_after_a_barrier_is_behind_it() -> None:
    assert said(WRITER, *CALL) == []


def test_an_effect_on_the_barrier_state_is_behind_it() -> None:
    assert said(WRITER, ("refused: failed", "effect: call, refused: failed")) == []


def test_an_effect_between_two_barriers_needs_no_second_one() -> None:
    assert (
        said(
            WRITER,
            *CALL,
            (
                "{from: calling, on: finished, to: done}",
                "{from: calling, on: finished, to: writing}\n  - {from: writing, on: cancel, to: done}",
            ),
            ("on: STOP, to: failed}\nunhandled", "on: [evicted, deadline], to: failed}\nunhandled"),
        )
        == []
    )


@pytest.mark.parametrize(
    "row",
    [
        "  - {from: idle, to: calling, when: urgent}\n",
        "  - {from: writing.committing, on: finished, to: calling}\n",
        "  - {from: writing.retrying, on: retry_due, to: calling}\n",
    ],
)
def test_any_way_round_the_barrier_is_found(row: str) -> None:
    text = edited(WRITER, *CALL, ("transitions:\n", f"transitions:\n{row}"))
    assert [line.split()[1] for line in said(text)][:1] == ["E13"]


def test_a_stop_after_the_commit_leads_around_the_apply_step_and_is_no_commit_of_the_effect() -> None:
    assert "E13" in " ".join(
        said(WRITER, *CALL, ("stop: stopped", "stop: calling"), ("  stopped: {final: true}\n", ""))
    )


def test_a_barrier_of_another_machine_is_looked_for_only_when_that_is_compiled_too(tmp_path: Path) -> None:
    effect = edited(DOOR, ("open: {}", "open: {effect: light, behind: writer.write}"), ("demolish", "cancel"))
    assert said(effect) == []
    one, two = tmp_path / "door.yaml", tmp_path / "writer.yaml"
    one.write_text(effect)
    two.write_text(WRITER)
    assert compile_files([one, two]).findings == ()
    two.write_text(edited(WRITER, ("barrier: write", "barrier: save")))
    assert [f.rule for f in compile_files([one, two]).findings] == ["E13"]


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (("refused: failed, ", ""), "'refused'"),
        (("stop: stopped, unwritten: withdrawn", "unwritten: withdrawn"), "'stop'"),
        (("conflict: unclear, ", ""), "'conflict'"),
        ((", superseded: lost", ""), "'superseded'"),
    ],
)
def test_every_target_of_a_barrier_is_required(change: tuple[str, str], missing: str) -> None:
    finding = compiled(WRITER, change).findings[0]
    assert (finding.rule, finding.position.line) == ("E14", 6)
    assert f"for {missing};" in finding.message


# -- W13, W15, W16, W19 -------------------------------------------------------------------------------------------


def test_a_state_that_only_an_error_leads_to_is_reachable() -> None:
    assert (
        said(DOOR, ("  gone:", "  broken: {final: true}\n  gone:"), ("unhandled:", "error: broken\nunhandled:")) == []
    )


def test_a_halt_state_is_an_end() -> None:
    assert said(DOOR, ("gone: {final: true}", "gone: {halt: true}"), ("[push, pull]", "[push, pull, demolish]")) == []


def test_a_machine_that_is_meant_to_run_for_ever_has_no_way_to_an_end_to_miss() -> None:
    assert (
        said(
            DOOR,
            ("  gone: {final: true}\n", ""),
            (", demolish: {}", ""),
            ("  - {from: [closed, open], on: demolish, to: gone}\n", ""),
        )
        == []
    )


def test_a_state_that_only_leads_to_itself_is_a_trap() -> None:
    assert said(
        DOOR,
        ("gone: {final: true}", "gone: {}"),
        ("unhandled:", "  - {from: gone, on: push, to: gone}\nunhandled:"),
        ("[push, pull]", "[push, pull, demolish]"),
    ) == ["7 W15"]


@pytest.mark.parametrize(
    ("state", "helpless"),
    [
        ("{enter: [ask]}", True),
        ("{wait: true}", True),
        ("{effect: call, behind: a.b}", True),
        ("{}", False),
        ("{enter: [ask], after: {delay: soon, on: pull}}", False),
    ],
)
def test_a_state_is_helpless_when_it_asked_for_something_and_nothing_ends_the_wait(state: str, helpless: bool) -> None:
    assert said(DOOR, ("open: {}", f"open: {state}")) == ["6 W19"] * helpless
    assert said(DOOR, ("open: {}", f"open: {state}"), ("demolish", "cancel_all")) == []
