from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compiler.specs import DOOR, WRITER, compiled, edited, model, said
from pawl.runtime.fsm.table import Kind, Resume, Unhandled
from pawl.tools.compiler.compile import compile_documents, compile_files, compile_text
from pawl.tools.compiler.findings import Severity
from pawl.tools.compiler.load import load_text

ROOT = Path(__file__).parents[2]


def test_a_spec_becomes_a_model() -> None:
    machine = model(DOOR)
    assert (machine.name, machine.version, machine.file, machine.initial) == ("door", 1, "spec.yaml", "closed")
    assert [(state.name, state.kind) for state in machine.states] == [
        ("closed", Kind.PLAIN), ("open", Kind.PLAIN), ("gone", Kind.FINAL),
    ]  # fmt: skip
    assert [(row.source, row.event, row.target, row.at.line) for row in machine.rows] == [
        ("closed", "push", "open", 10),
        ("closed", "demolish", "gone", 12),
        ("open", "pull", "closed", 11),
        ("open", "demolish", "gone", 12),
    ]
    assert [(event.name, event.unhandled) for event in machine.events] == [
        ("push", Unhandled.IGNORE), ("pull", Unhandled.IGNORE), ("demolish", None),
    ]  # fmt: skip


def test_every_key_of_a_state_and_an_event_arrives_in_the_model() -> None:
    machine = model(
        edited(
            DOOR,
            ("machine: door\n", 'machine: door\ndoc: A door.\ncontext: "a.b:C"\n'),
            (
                "open: {}",
                "open: {enter: [ring, light], after: {delay: soon, on: pull, resume: remaining}, "
                "label: Wide, doc: Ajar.}",
            ),
            ("gone: {final: true}", "gone: {final: true, outcome: rubble}"),
            ("push: {}", 'push: {payload: "a:B", authority: [session, revision], correlate: hand_id, doc: By hand.}'),
            ("transitions:", "groups: {ANY: [closed, open]}\nerror: gone\ntransitions:"),
            ("from: [closed, open]", "from: ANY"),
        )
    )
    assert (machine.doc, machine.context, machine.error) == ("A door.", "a.b:C", "gone")
    state = machine.states[1]
    assert (state.enter, state.label, state.doc) == (("ring", "light"), "Wide", "Ajar.")
    assert state.after is not None
    assert (state.after.delay, state.after.event, state.after.resume) == ("soon", "pull", Resume.REMAINING)
    assert machine.states[2].outcome == "rubble"
    event = machine.events[0]
    assert (event.payload, event.authority, event.correlate, event.doc) == (
        "a:B", ("session", "revision"), "hand_id", "By hand.",
    )  # fmt: skip
    assert machine.groups == {"ANY": ("closed", "open")}
    assert (machine.actions, machine.delays) == ({"ring": "", "light": ""}, {"soon": ""})


def test_a_row_with_lists_is_one_row_for_each_source_and_event_source_by_source() -> None:
    machine = model(
        DOOR,
        (
            "  - {from: [closed, open], on: demolish, to: gone}",
            "  - {from: [open, closed], on: [demolish, blast], to: gone}",
        ),
        ("demolish: {}}", "demolish: {}, blast: {}}"),
    )
    assert [(row.source, row.event) for row in machine.rows if row.at.line == 12] == [
        ("closed", "demolish"), ("closed", "blast"), ("open", "demolish"), ("open", "blast"),
    ]  # fmt: skip


def test_a_state_that_two_groups_share_gets_a_row_once() -> None:
    machine = model(
        DOOR,
        ("transitions:", "groups: {ALL: [closed, open]}\ntransitions:"),
        ("from: [closed, open]", "from: [open, ALL]"),
    )
    assert [row.source for row in machine.rows if row.event == "demolish"] == ["closed", "open"]


def test_internal_error_is_declared_without_saying_so_where_it_is_used() -> None:
    assert "internal_error" not in [event.name for event in model(DOOR).events]
    machine = model(DOOR, ("unhandled:", "  - {from: open, on: internal_error, to: gone}\nunhandled:"))
    assert {event.name: event.payload for event in machine.events}["internal_error"] == "builtins:Exception"
    assert "internal_error" in [event.name for event in model(DOOR, ("unhandled:", "error: gone\nunhandled:")).events]


def test_every_event_may_be_decided_at_once_and_named_lists_come_first() -> None:
    machine = model(DOOR, ("ignore: [push, pull]", 'ignore: pull, refuse: "*"'))
    assert {e.name: e.unhandled for e in machine.events} == {
        "push": Unhandled.REFUSE, "pull": Unhandled.IGNORE, "demolish": Unhandled.REFUSE,
    }  # fmt: skip


def test_guards_actions_and_delays_come_in_the_order_of_first_use_with_their_docs() -> None:
    machine = model(
        DOOR,
        ("on: push, to: open", "on: push, to: open, when: b, unless: a}\n  - {from: closed, on: push"),
        ("transitions:", "guards: {a: Ah., b: }\ntransitions:"),
    )
    assert list(machine.guards.items()) == [("b", ""), ("a", "Ah.")]


def test_machines_with_an_error_are_left_out_and_others_are_not(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(WRITER)
    bad.write_text(edited(DOOR, ("to: closed", "to: closd")))
    result = compile_files([good, bad])
    assert [machine.name for machine in result.machines] == ["writer"]
    assert [finding.position.file for finding in result.errors] == [str(bad)]


def test_machines_come_by_name_in_whatever_order_the_files_are_given(tmp_path: Path) -> None:
    one, two = tmp_path / "z.yaml", tmp_path / "a.yaml"
    one.write_text(DOOR)
    two.write_text(WRITER)
    assert compile_files([one, two]) == compile_files([two, one, one])
    assert [machine.name for machine in compile_files([one, two]).machines] == ["door", "writer"]


def test_documents_of_one_name_are_each_compiled() -> None:
    documents = [load_text(text, "spec.yaml") for text in (DOOR, WRITER)]
    assert [machine.name for machine in compile_documents(documents).machines] == ["door", "writer"]


def test_a_relative_path_stays_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "door.yaml").write_text(DOOR)
    monkeypatch.chdir(tmp_path)
    machine = compile_files([Path("door.yaml")]).machines[0]
    assert machine.file == machine.states[0].at.file == "door.yaml"


def test_warnings_keep_the_machine_and_a_spec_can_weigh_them() -> None:
    trap = edited(DOOR, ("gone: {final: true}", "gone: {}"), ("ignore: [push, pull]", "ignore: [push, pull, demolish]"))
    assert said(trap) == ["7 W15"]
    assert len(compiled(trap).machines) == 1
    assert said(trap + "checks: {W15: off}\n") == []
    result = compiled(trap + "checks: {W15: error}\n")
    assert [finding.severity for finding in result.findings] == [Severity.ERROR]
    assert result.machines == ()


def test_an_error_cannot_be_weighed() -> None:
    broken = edited(DOOR, ("to: closed", "to: closd"))
    assert said(broken + "checks: {E01: off}\n") == ["11 E01", "14 Y14"]
    assert said(DOOR + "checks: {E01: error}\n") == []


def test_the_specs_of_the_project_compile_without_an_error() -> None:
    paths = sorted((ROOT / "fsm_specs").glob("*.yaml"))
    result = compile_files(paths)
    assert len(paths) >= 5
    assert result.errors == ()
    assert len(result.machines) == len(paths)


def test_the_result_does_not_depend_on_the_hash_seed() -> None:
    script = (
        "import sys; from pathlib import Path; from pawl.tools.compiler.compile import compile_files; "
        "r = compile_files(sorted(Path(sys.argv[1]).rglob('*.yaml'))); print(r)"
    )
    specs = ROOT / "tests" / "golden" / "errors"
    runs = {
        subprocess.run(
            [sys.executable, "-c", script, str(specs)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / ".src")},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(runs) == 1
    assert "E13" in runs.pop()


def test_the_compiler_imports_only_the_engine() -> None:
    script = (
        "import sys; import pawl.tools.compiler.compile; "
        "own = ('pawl.runtime.fsm', 'pawl.tools'); "
        "print([m for m in sys.modules if m.startswith('pawl.') and not m.startswith(own)])"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(ROOT / ".src")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.stdout.strip() == "['pawl.runtime']"


def test_a_spec_is_never_run() -> None:
    attack = "__import__('os').system('touch /tmp/pawned')"
    for change in (
        ("on: push", f'on: "{attack}"'),
        ("machine: door", f'machine: "{attack}"'),
        ("open: {}", f'open: {{enter: ["{attack}"]}}'),
    ):
        assert [line.split()[1] for line in said(DOOR, change)] == ["E10"]
    assert [line.split()[1] for line in said(DOOR, ("push: {}", f'push: {{payload: "{attack}"}}'))] == ["Y14"]


def test_text_instead_of_a_file_has_the_name_that_it_is_given() -> None:
    assert str(compile_text("", file="note.yaml").findings[0]).startswith("note.yaml:1:1: Y06 ")
