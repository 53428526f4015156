"""`pawl coverage` and `pawl diagram --coverage`: which rows were taken, in the terminal, as JSON and in colours."""

from __future__ import annotations

import json

import pytest

from cli.looks import NEW, OLD, SOME, recorded, row
from cli.shell import Shell, agrees
from compiler.specs import WRITER
from pawl.tools.compiler.compile import compile_text


@pytest.fixture
def here(shell: Shell) -> Shell:
    shell.write("order.yaml", OLD)
    shell.write("some.json", SOME)
    return shell


def every() -> str:
    rows = [
        row(each.source, each.event or "", each.target, when=list(each.when))
        for each in compile_text(OLD).machines[0].rows
    ]
    return recorded(*rows)


def test_the_rows_that_were_never_taken_are_told_by_line(here: Shell, rewrite: bool) -> None:
    story = here.story(
        [
            "coverage order.yaml some.json",
            "coverage order.yaml some.json --all",
            "coverage order.yaml some.json some.json --at-least 33",
            "coverage order.yaml some.json --at-least 34",
        ],
        dict,
    )

    agrees("coverage.txt", story, rewrite)


def test_when_every_row_was_taken_there_is_nothing_to_tell(here: Shell) -> None:
    here.write("every.json", every())

    ran = here("coverage", "order.yaml", "every.json", "--at-least", "100")

    assert (ran.code, ran.out) == (0, "order: 12 of 12 rows taken, 100 %; 6 of 6 states entered\n")


def test_as_json_every_row_that_is_missing_says_where_it_is(here: Shell) -> None:
    ran = here("coverage", "order.yaml", "some.json", "--json", "--at-least", "90")

    assert ran.code == 1
    (machine,) = ran.json["machines"]
    assert (machine["machine"], machine["rows"], machine["taken"], machine["percent"]) == ("order", 12, 4, 33.3)
    assert machine["states"] == {"all": 6, "never": ["hold"]}
    assert len(machine["never"]) == 8
    assert next(each for each in machine["never"] if each["line"] == 17) == {
        "file": "order.yaml", "line": 17, "from": "paying", "on": "paid", "to": "hold", "when": [], "unless": [],
        "protocol": False,
    }  # fmt: skip
    assert ran.json["ok"] is False
    assert "33.3 % of the rows were taken, and 90 are wanted" in ran.json["faults"][0]


def test_the_project_s_specs_are_meant_when_none_is_named(here: Shell) -> None:
    here.write("pyproject.toml", '[tool.pawl]\nspecs = "order.yaml"\n')

    assert here("coverage", "some.json").out.startswith("order: 4 of 12 rows taken")


def test_a_recording_of_another_version_is_used_and_what_does_not_fit_is_told(here: Shell) -> None:
    here.write("old.json", recorded(row("cart", "checkout", "paying"), row("cart", "flip", None), spec_hash="0" * 64))

    ran = here("coverage", "order.yaml", "old.json")

    assert ran.code == 0
    assert "1 of 12 rows taken" in ran.out
    assert "is of another version of order" in ran.err
    assert "cart -- flip --> stays was taken, and order has no such row" in ran.err


def test_a_recording_of_other_machines_says_so_and_reaches_no_share(here: Shell) -> None:
    here.write("other.json", recorded(row("a", "x", "b"), machine="lamp\x1b[31m"))

    ran = here("coverage", "order.yaml", "other.json", "--at-least", "1")

    assert ran.code == 1
    assert "order is in none of the recordings" in ran.err
    assert r"what was recorded is of lamp\x1b[31m" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["coverage", "order.yaml"], "no recording: name a coverage file (.json)"),
        (["coverage", "order.yaml", "nothing.json"], "nothing.json: No such file"),
        (["coverage", "order.yaml", "bad.json"], "bad.json: machines[0].rows[0].count is -1"),
        (["coverage", "some.json"], "no specs: name files or folders"),
        (["diagram", "order.yaml", "--coverage", "some.json"], "coverage does not belong in the diagrams folder"),
        (["diagram", "order.yaml", "--coverage", "bad.json", "--format", "dot"], "machines[0].rows[0].count is -1"),
        (["diagram", "order.yaml", "--coverage", "some.json", "--format", "mermaid"], "use --format svg or dot"),
        (
            ["diagram", "order.yaml", "--coverage", "some.json", "--format", "markdown", "-o", "x"],
            "use --format svg or dot",
        ),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(here: Shell, arguments: list[str], message: str) -> None:
    here.write("bad.json", recorded(row("cart", "checkout", "paying", -1)))
    here.write("pyproject.toml", '[tool.pawl]\ndiagrams = "pictures"\n')

    ran = here(*arguments)

    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_a_spec_with_errors_is_not_counted(here: Shell) -> None:
    here.write("order.yaml", OLD.replace("to: hold}", "to: held}"))

    ran = here("coverage", "order.yaml", "some.json")

    assert ran.code == 1
    assert "E01" in ran.err


def test_coverage_is_drawn_as_dot_and_svg_and_stays_out_of_pages(here: Shell) -> None:
    ran = here("diagram", "order.yaml", "--coverage", "some.json", "--out", "covered")

    assert ran.code == 0
    assert sorted(path.name for path in (here.folder / "covered").iterdir()) == ["order.dot", "order.svg"]
    dot = (here.folder / "covered" / "order.dot").read_text()
    assert "checkout \u00d73" in dot
    assert "4 of 12 rows taken, 33.3 %" in dot
    assert here("diagram", "order.yaml", "--coverage", "some.json", "--out", "covered", "--check").code == 0


def test_recordings_are_added_up_on_the_drawing(here: Shell) -> None:
    ran = here("diagram", "order.yaml", "--format", "dot", "--coverage", "some.json", "--coverage", "some.json")

    assert "checkout \u00d76" in ran.out


def test_what_a_recorder_saved_is_what_the_command_reads(here: Shell) -> None:
    from pawl.runtime.fsm.session import Session
    from pawl.tools.compiler.emit_python import emit_python
    from pawl.tools.compiler.verify import verify
    from pawl.tools.coverage.recorder import Recorder

    class Context:
        def __getattr__(self, name: str) -> object:
            return lambda payload=None: True if name == "enough" else None

    model = compile_text(OLD).machines[0]
    with Recorder() as recorder:
        session = Session(verify(model, emit_python(model)), Context())
        session.start()
        for event in ("checkout", "paid", "packed"):
            session.send(event)
    recorder.save(here.folder / "mine.json")

    ran = here("coverage", "order.yaml", "mine.json", "--json")

    assert ran.err == ""
    assert ran.json["machines"][0]["taken"] == 3
    assert json.loads((here.folder / "mine.json").read_text())["machines"][0]["started"] == {"cart": 1}
    assert compile_text(NEW).machines[0].spec_hash != model.spec_hash


def test_the_protocol_of_a_barrier_is_one_line_and_can_be_left_out(here: Shell) -> None:
    here.write("writer.yaml", WRITER)
    here.write("writer.json", recorded(row("writing.committing", "refused", "failed"), machine="writer"))

    every = here("coverage", "writer.yaml", "writer.json")
    written = here("coverage", "writer.yaml", "writer.json", "--written")

    (line,) = [line for line in every.out.splitlines() if "the protocol of its barrier" in line]
    assert line.split()[:5] == ["writer.yaml:6", "1", "of", "29", "writing.*"]
    assert "protocol" not in written.out
    assert written.out.startswith("writer: 0 of ")


def test_of_many_rows_that_do_not_fit_some_are_told(here: Shell) -> None:
    here.write("many.json", recorded(*(row("cart", f"e{number}", None) for number in range(25))))

    said = here("coverage", "order.yaml", "many.json").err

    assert said.count("has no such row") == 20
    assert "and 5 rows more that order does not have" in said
