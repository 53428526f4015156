"""The expansion of a barrier, row by row, against the table of the design."""

from __future__ import annotations

import pytest

from compiler.specs import WRITER, edited, model, said
from pawl.runtime.fsm.table import Kind, Unhandled
from pawl.tools.compiler.installed import protocol, read_protocol
from pawl.tools.compiler.model import MachineModel, RowModel

INNER = ("committing", "retrying", "reconciling", "rereading")
STOP = ("cancel", "deadline")
"""The stop events but `evicted`, which plays the loss of ownership."""


def short(row: RowModel) -> str:
    guard = f" [{', '.join([*row.when, *('not ' + name for name in row.unless)])}]" if row.when or row.unless else ""
    action = f" ({', '.join(row.do)})" if row.do else ""
    return f"{row.event or ''}{guard} -> {row.target or 'stay'}{action}".strip()


def rows_of(machine: MachineModel, state: str) -> list[str]:
    return [short(row) for row in machine.rows_of(state)]


def each(template: str, *events: str) -> list[str]:
    return [f"{event} {template}" for event in events]


EXPANDED = {
    "writing.committing": [
        "committed [stop_noted] -> stopped (apply_write)",
        "committed -> writing (apply_write)",
        "superseded -> lost (note_lost)",
        "refused [stop_noted] -> withdrawn (note_refusal, abandon_barrier)",
        "refused -> failed (note_refusal)",
        "unavailable [stop_noted] -> withdrawn (abandon_barrier)",
        "unavailable -> writing.retrying (note_unavailable)",
        "uncertain -> writing.reconciling",
        *each("-> stay (note_stop)", *STOP, "evicted"),
    ],
    "writing.retrying": [
        "retry_due -> writing.committing (renew_token)",
        *each("-> withdrawn (note_stop, abandon_barrier)", *STOP, "evicted"),
    ],
    "writing.reconciling": [
        "read_committed [stop_noted] -> stopped (apply_write)",
        "read_committed -> writing (apply_write)",
        "superseded -> lost (note_lost)",
        "read_unwritten [stop_noted] -> withdrawn (abandon_barrier)",
        "read_unwritten -> writing.retrying",
        "read_conflict -> unclear (abandon_barrier)",
        "read_failed -> writing.rereading",
        *each("-> stay (note_stop)", *STOP, "evicted"),
    ],
    "writing.rereading": [
        "reread_due -> writing.reconciling",
        "evicted -> lost (note_lost)",
        *each("-> stay (note_stop)", *STOP),
    ],
}


@pytest.mark.parametrize("state", EXPANDED)
def test_a_barrier_has_the_rows_of_the_protocol_in_order(state: str) -> None:
    assert rows_of(model(WRITER), state) == EXPANDED[state]


def test_inner_states_stand_before_the_state_that_declares_them() -> None:
    names = [state.name for state in model(WRITER).states]
    assert names[:6] == ["idle", *(f"writing.{name}" for name in INNER), "writing"]


def test_inner_states_ask_the_store_and_wait_for_it() -> None:
    states = {state.name: state for state in model(WRITER).states}
    assert [states[f"writing.{name}"].enter for name in INNER] == [("submit_barrier",), (), ("read_back",), ()]
    assert [states[f"writing.{name}"].inside for name in INNER] == ["writing"] * 4
    assert {states[f"writing.{name}"].kind for name in INNER} == {Kind.PLAIN}
    timers = {name: states[f"writing.{name}"].after for name in INNER}
    assert {name: (t.delay, t.event) for name, t in timers.items() if t is not None} == {
        "retrying": ("barrier_backoff", "retry_due"),
        "rereading": ("barrier_backoff", "reread_due"),
    }
    assert states["writing"].barrier == "write"
    assert states["writing.committing"].barrier is None


def test_a_row_into_a_barrier_makes_its_command_and_commits_it() -> None:
    assert rows_of(model(WRITER), "idle") == ["-> writing.committing (prepare_write)"]


def test_a_row_of_a_barrier_state_to_itself_commits_again_after_its_own_actions() -> None:
    change = (
        "on: finished, to: done",
        "on: finished, to: writing, when: more, do: [count]}\n  - {from: writing, on: finished, to: done",
    )
    assert (
        rows_of(model(WRITER, change), "writing")[0] == "finished [more] -> writing.committing (count, prepare_write)"
    )


def test_a_row_into_another_barrier_from_inside_one_commits_that_one() -> None:
    changes = (
        ("refused: failed,", "refused: logging,"),
        (
            "  done: {final: true}",
            "  logging: {auto: true, barrier: log, records: true, refused: failed}\n  done: {final: true}",
        ),
        ("  - {from: writing, on: STOP", "  - {from: logging, to: done}\n  - {from: writing, on: STOP"),
    )
    machine = model(WRITER, *changes)
    assert "refused -> logging.committing (note_refusal, prepare_log)" in rows_of(machine, "writing.committing")


def test_a_barrier_that_records_takes_no_stop() -> None:
    machine = model(
        WRITER,
        ("stop: stopped, unwritten: withdrawn", "records: true"),
        ("  stopped: {final: true}\n  withdrawn: {final: true}\n", ""),
    )
    assert rows_of(machine, "writing.committing") == [
        "committed -> writing (apply_write)",
        "superseded -> lost (note_lost)",
        "refused -> failed (note_refusal)",
        "unavailable -> writing.retrying (note_unavailable)",
        "uncertain -> writing.reconciling",
    ]
    assert rows_of(machine, "writing.retrying") == ["retry_due -> writing.committing (renew_token)"]
    assert "stop_noted" not in machine.guards
    assert "note_stop" not in machine.actions


def test_what_is_not_on_disk_leads_to_the_stop_target_unless_the_spec_says_otherwise() -> None:
    machine = model(WRITER, (", unwritten: withdrawn", ""), ("  withdrawn: {final: true}\n", ""))
    assert "cancel -> stopped (note_stop, abandon_barrier)" in rows_of(machine, "writing.retrying")


def test_a_state_may_name_its_own_conflict_and_superseded_targets() -> None:
    machine = model(
        WRITER,
        ("unwritten: withdrawn", "unwritten: withdrawn, conflict: failed, superseded: failed"),
        ("conflict: unclear, superseded: lost", "conflict: failed"),
        ("  unclear: {halt: true}\n  lost: {final: true}\n", ""),
        ("stale: [finished, STOP]", "stale: [finished]"),
    )
    assert "read_conflict -> failed (abandon_barrier)" in rows_of(machine, "writing.reconciling")
    assert "superseded -> failed (note_lost)" in rows_of(machine, "writing.committing")


def test_a_machine_without_a_loss_of_ownership_has_no_rows_for_it() -> None:
    machine = model(WRITER, ("lost: evicted, ", ""))
    assert rows_of(machine, "writing.rereading") == [
        "reread_due -> writing.reconciling",
        *each("-> stay (note_stop)", "cancel", "evicted", "deadline"),
    ]


def test_a_written_row_takes_the_place_of_all_of_the_protocols_for_that_event() -> None:
    written = """\
  - {from: writing.committing, on: refused, to: idle, when: repairable}
  - {from: writing.committing, on: refused, to: unclear, do: [note_refusal]}
  - {from: writing.retrying, on: finished, to: done}
unhandled:"""
    machine = model(WRITER, ("unhandled:", written))
    assert rows_of(machine, "writing.committing") == [
        *EXPANDED["writing.committing"][:3],
        "refused [repairable] -> idle",
        "refused -> unclear (note_refusal)",
        *EXPANDED["writing.committing"][5:],
    ]
    assert rows_of(machine, "writing.retrying") == [*EXPANDED["writing.retrying"], "finished -> done"]


def test_a_written_row_from_inside_may_lead_to_the_state_itself_and_to_inner_states() -> None:
    written = """\
  - {from: writing.committing, on: committed, to: writing, do: [apply_write]}
  - {from: writing.committing, on: refused, to: writing.retrying}
unhandled:"""
    rows = rows_of(model(WRITER, ("unhandled:", written)), "writing.committing")
    assert rows[0] == "committed -> writing (apply_write)"
    assert "refused -> writing.retrying" in rows


def test_dotted_names_may_be_quoted_and_stand_in_groups() -> None:
    written = (
        '  - {from: "writing.retrying", on: finished, to: done}\n'
        "  - {from: WAITING, on: finished, to: failed}\nunhandled:"
    )
    machine = model(
        WRITER, ("unhandled:", written), ("groups: {", "groups: {WAITING: [writing.rereading, writing.reconciling], ")
    )
    assert rows_of(machine, "writing.retrying")[-1] == "finished -> done"
    assert rows_of(machine, "writing.rereading")[-1] == "finished -> failed"


def test_expanded_rows_say_so_and_point_at_the_barrier() -> None:
    machine = model(WRITER, ("unhandled:", "  - {from: writing.retrying, on: finished, to: done}\nunhandled:"))
    for row in machine.rows:
        inner = "." in row.source and row.event != "finished"
        assert row.expanded is inner
        assert (row.at.line == 6) is inner


def test_the_store_s_answers_need_no_declaration_and_are_stale_where_nothing_waits() -> None:
    events = {event.name: event for event in model(WRITER).events}
    assert list(events)[:4] == ["finished", "cancel", "deadline", "evicted"]
    assert set(events) - {"finished", "cancel", "deadline", "evicted"} == {
        event.name for event in protocol().machine.events
    } - {"stop_requested", "ownership_lost"}
    assert events["committed"].unhandled is Unhandled.STALE
    assert events["committed"].correlate == "token"


def test_a_spec_may_declare_and_decide_the_store_s_answers_itself() -> None:
    machine = model(
        WRITER,
        ("events: {", 'events: {committed: {payload: "store:Answer", correlate: key}, '),
        ("stale: [finished, STOP]", 'stale: [finished, STOP], ignore: [committed, unavailable], refuse: "*"'),
    )
    events = {event.name: event for event in machine.events}
    assert (events["committed"].payload, events["committed"].correlate) == ("store:Answer", "key")
    assert events["committed"].unhandled is Unhandled.IGNORE
    assert events["unavailable"].unhandled is Unhandled.IGNORE
    assert events["uncertain"].unhandled is Unhandled.STALE


def test_the_context_methods_of_a_barrier_have_their_docs() -> None:
    machine = model(WRITER)
    assert list(machine.guards) == ["stop_noted"]
    assert list(machine.delays) == ["barrier_backoff"]
    assert set(machine.actions) == {
        "prepare_write", "apply_write", "submit_barrier", "read_back", "renew_token", "note_stop", "note_lost",
        "note_refusal", "note_unavailable", "abandon_barrier",
    }  # fmt: skip
    assert all(doc for doc in [*machine.guards.values(), *machine.actions.values(), *machine.delays.values()])


def test_methods_that_a_barrier_brings_along_need_no_declaration() -> None:
    sections = "guards: {}\nactions: {}\ndelays: {}\ntransitions:"
    assert said(WRITER, ("transitions:", sections)) == []
    own = 'actions: {note_stop: "Mine."}\ntransitions:'
    assert model(WRITER, ("transitions:", own)).actions["note_stop"] == "Mine."


def test_two_states_may_share_a_barrier() -> None:
    changes = (
        ("  done: {final: true}", "  again: {barrier: write, refused: failed, stop: stopped}\n  done: {final: true}"),
        (
            "on: finished, to: done}",
            "on: finished, to: again}\n  - {from: again, on: finished, to: done}\n"
            "  - {from: again, on: STOP, to: failed}",
        ),
    )
    machine = model(WRITER, *changes)
    assert len([state for state in machine.states if state.inside]) == 8
    assert rows_of(machine, "writing")[0] == "finished -> again.committing (prepare_write)"


def test_the_protocol_is_a_machine_that_compiles_without_a_finding() -> None:
    from pathlib import Path

    from pawl.tools.compiler.compile import compile_files

    path = Path(__file__).parents[2] / "fsm_specs" / "barrier.yaml"
    result = compile_files([path])
    assert result.findings == ()
    assert result.machines[0].spec_hash == protocol().machine.spec_hash


def test_the_protocol_decides_every_event_in_every_state() -> None:
    machine = protocol().machine
    for inner in protocol().inner:
        handled = {row.event for row in machine.rows_of(inner)}
        stale = {event.name for event in machine.events if event.unhandled is Unhandled.STALE}
        assert {event.name for event in machine.events} <= handled | stale


def test_a_broken_protocol_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"Y12 unknown key 'stats'; did you mean 'states'.*reinstall"):
        read_protocol("pawl: 1\nmachine: barrier\nversion: 1\nstats: {}\n", "barrier.yaml")
    with pytest.raises(RuntimeError, match="a barrier ends in applied"):
        read_protocol(
            edited(
                WRITER,
                ("writing: {barrier: write, refused: failed, stop: stopped, unwritten: withdrawn}", "writing: {}"),
            ),
            "b.yaml",
        )
