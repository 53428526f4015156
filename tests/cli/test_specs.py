"""`pawl new`, `generate`, `check` and `diagram` as a user meets them: what is written, said, and the exit code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from pawl.tools.cli.main import main
from pawl.tools.compiler.emit_svg import dot_hash, hash_in

SOURCES = Path(__file__).parents[2] / ".src"

SPEC = """\
pawl: 1
machine: light
version: 1
states:
  dark: {initial: true}
  lit: {}
  off: {final: true}
events: {press: {}, stop: {}}
transitions:
  - {from: dark, on: press, to: lit}
  - {from: lit, on: press, to: dark}
  - {from: [dark, lit], on: stop, to: off}
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Pawl:
    """Runs the command line in a folder of its own, in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def __call__(self, *arguments: str) -> Ran:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(arguments)
        captured = self._capsys.readouterr()
        code = left.value.code
        return Ran(code if isinstance(code, int) else int(code is not None), captured.out, captured.err)

    def write(self, path: str, text: str = SPEC) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file


@pytest.fixture
def pawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Pawl:
    monkeypatch.chdir(tmp_path)
    return Pawl(tmp_path, capsys)


def other(name: str) -> str:
    return SPEC.replace("machine: light", f"machine: {name}")


# help and misuse


def test_help_names_every_command_and_is_said_without_any_command(pawl: Pawl) -> None:
    ran = pawl("--help")

    assert ran.code == 0
    for command in ("new", "generate", "check", "diagram"):
        assert f"\n  {command} " in ran.out
    assert "[tool.pawl]" in ran.out
    assert "Usage: pawl" in pawl().err + pawl().out


@pytest.mark.parametrize("command", ["new", "generate", "check", "diagram"])
def test_the_help_of_a_command_teaches_with_examples(pawl: Pawl, command: str) -> None:
    ran = pawl(command, "--help")

    assert ran.code == 0
    assert "Examples:\n" in ran.out
    assert f"    pawl {command} " in ran.out


def test_help_does_not_load_the_compiler() -> None:
    program = (
        "import sys\nfrom pawl.tools.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'jinja2', 'yaml', 'transitions', 'graphviz', 'rich', 'cattrs'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}

    subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["check", "--bogus"], "No such option: --bogus"),
        (["check", "nowhere"], "pawl: nowhere: no such file or folder"),
        (["check", "empty"], "pawl: empty has no specs (*.yaml, *.yml); `pawl new NAME --out empty` writes one"),
        (["check"], "pawl: no specs: name files or folders, or set `specs` under [tool.pawl] in pyproject.toml"),
        (["diagram", "light.yaml"], "pawl: no folder: give --out, or set `diagrams` under [tool.pawl]"),
        (["diagram", "light.yaml", "--format", "png"], "png"),
        (
            ["diagram", "light.yaml", "--format", "dot", "--state", "lid"],
            "light has no state 'lid'; did you mean 'lit'?",
        ),
        (
            ["diagram", "light.yaml", "--format", "dot", "--path", "dark,off,lit"],
            "light has no row from 'off' to 'lit'",
        ),
        (["diagram", "light.yaml", "two.yaml", "--format", "dot"], "writes one machine to stdout, and here are 2"),
        (["diagram", "light.yaml", "two.yaml", "--format", "dot", "--state", "lit"], "about one machine"),
        (["generate", "light.yaml", "--out", "light.yaml"], "cannot write light.yaml"),
        (["generate", "light.yaml", "--out", "light.yaml/deeper"], "cannot write light.yaml"),
        (["new", "Order"], "'Order' is not a snake_case name"),
        (["new", "class"], "'class' is a Python keyword"),
        (["new", "json"], "'json' is a module of Python's standard library"),
        (["new", "order", "--out", "light.yaml"], "cannot write light.yaml"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(pawl: Pawl, arguments: list[str], message: str) -> None:
    pawl.write("light.yaml")
    pawl.write("two.yaml", other("two"))
    (pawl.folder / "empty").mkdir()

    ran = pawl(*arguments)

    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


# new


def test_a_new_machine_runs_checks_and_is_fresh_before_it_is_changed(pawl: Pawl) -> None:
    ran = pawl("new", "parcel_tracking", "--out", "specs")

    assert ran.code == 0
    assert sorted(path.name for path in (pawl.folder / "specs").iterdir()) == [
        "parcel_tracking.py", "parcel_tracking.yaml", "parcel_tracking_context.py", "pawl.schema.json",
    ]  # fmt: skip
    checked = pawl("check", "specs", "--strict")
    assert (checked.code, checked.err) == (0, "")
    assert pawl("generate", "specs", "--check").code == 0
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    command = [sys.executable, "-W", "error", "specs/parcel_tracking_context.py"]
    lived = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert lived.stderr == ""
    assert lived.stdout.splitlines()[-1].split() == ["packing", "packed", "->", "shipped"]


def test_what_is_new_passes_strict_mypy(pawl: Pawl) -> None:
    pawl("new", "order")
    environment = {**os.environ, "MYPYPATH": str(SOURCES)}
    cache = Path(__file__).parents[2] / ".mypy_cache" / "golden"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}"]

    done = subprocess.run(
        [*command, "order.py", "order_context.py"], env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout


def test_the_commands_in_a_new_spec_work_as_they_stand_there(pawl: Pawl) -> None:
    pawl("new", "order")
    text = (pawl.folder / "order.yaml").read_text()

    lines = [line.removeprefix("#   pawl ") for line in text.splitlines() if line.startswith("#   pawl ")]
    told = [line.partition("   ")[0].split() for line in lines]

    assert [words[0] for words in told] == ["check", "generate", "diagram"]
    for words in told:
        assert pawl(*words).code == 0, words


def test_the_path_in_the_help_of_diagram_is_one_of_a_new_machine(pawl: Pawl) -> None:
    pawl("new", "order")
    (example,) = [line for line in pawl("diagram", "--help").out.splitlines() if "--path " in line and ">" in line]

    ran = pawl(*example.partition(" > ")[0].split()[1:])

    assert (ran.code, ran.err) == (0, "")


def test_new_overwrites_nothing(pawl: Pawl) -> None:
    mine = pawl.write("order_context.py", "mine\n")

    ran = pawl("new", "order")

    assert ran.code == 2
    assert "already there: order_context.py" in ran.err
    assert [path.name for path in pawl.folder.iterdir()] == ["order_context.py"]
    assert mine.read_text() == "mine\n"


# generate


def test_a_module_is_written_beside_its_spec_or_where_out_says(pawl: Pawl) -> None:
    pawl.write("here/light.yaml")

    assert pawl("generate", "here/light.yaml").out == "created   here/light.py\n"
    assert pawl("generate", "here", "--out", "my_package/machines").out == "created   my_package/machines/light.py\n"
    assert pawl("generate", "here").out == "unchanged here/light.py\n"


def test_a_generated_module_is_importable_from_any_package(pawl: Pawl) -> None:
    pawl.write("light.yaml")
    pawl("generate", "light.yaml", "--out", "lamp/machines")
    program = "from lamp.machines.light import MACHINE, State; assert MACHINE.initial is State.DARK"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(SOURCES), str(pawl.folder)))}

    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_all_errors_are_told_in_one_go_and_nothing_is_written(pawl: Pawl) -> None:
    pawl.write("specs/good.yaml", other("good"))
    pawl.write("specs/one.yaml", other("one").replace("to: lit", "to: lid"))
    pawl.write("specs/two.yaml", other("two").replace("initial: true", "wait: true"))

    ran = pawl("generate", "specs", "--out", "out")

    assert ran.code == 1
    assert "specs/one.yaml:10:33: E01 unknown state 'lid'" in ran.err
    assert "specs/two.yaml:" in ran.err
    assert " E03 " in ran.err
    assert not (pawl.folder / "out").exists()
    assert ran.out == ""


def test_check_shows_the_diff_and_the_command_that_fixes_it(pawl: Pawl) -> None:
    spec = pawl.write("my specs/light.yaml")
    pawl("generate", "my specs", "--out", "out")
    spec.write_text(SPEC.replace("{from: lit, on: press, to: dark}", "{from: lit, on: press, to: lit}"))
    before = (pawl.folder / "out" / "light.py").read_text()

    ran = pawl("generate", "my specs", "--out", "out", "--check")

    assert ran.code == 1
    assert "--- out/light.py (on disk)\n+++ out/light.py (from the spec)\n" in ran.out
    assert "+        Row(State.LIT,  Event.PRESS, State.LIT,  line=11),\n" in ran.out
    assert "out/light.py: not what the spec says\nrun `pawl generate 'my specs' --out out` and commit" in ran.err
    assert (pawl.folder / "out" / "light.py").read_text() == before


def test_check_of_a_module_that_is_missing_is_drift_and_line_endings_are_not(pawl: Pawl) -> None:
    spec = pawl.write("light.yaml")

    assert pawl("generate", "light.yaml", "--check").code == 1
    pawl("generate", "light.yaml")
    module = pawl.folder / "light.py"
    module.write_bytes(module.read_bytes().replace(b"\n", b"\r\n"))
    spec.write_bytes(spec.read_bytes().replace(b"\n", b"\r\n"))
    assert pawl("generate", "light.yaml", "--check").code == 0


def test_a_module_that_people_wrote_is_never_overwritten(pawl: Pawl) -> None:
    pawl.write("light.yaml")
    mine = pawl.write("light.py", "x = 1\n")

    ran = pawl("generate", "light.yaml")

    assert ran.code == 2
    assert "light.py exists and was not generated by pawl" in ran.err
    assert mine.read_text() == "x = 1\n"


def test_a_module_whose_spec_is_gone_is_told_is_drift_and_goes_with_prune(pawl: Pawl) -> None:
    pawl.write("specs/light.yaml")
    gone = pawl.write("specs/gone.yaml", other("gone"))
    pawl.write("out/by_hand.py", "x = 1\n")
    pawl("generate", "specs", "--out", "out")
    gone.unlink()

    told, drifted = pawl("generate", "specs", "--out", "out"), pawl("generate", "specs", "--out", "out", "--check")

    assert (told.code, drifted.code) == (0, 1)
    assert "out/gone.py was generated from a spec that is gone; remove it, or run with --prune" in told.err
    assert "run `pawl generate specs --out out --prune`" in drifted.err
    assert pawl("generate", "specs/light.yaml", "--out", "out", "--prune").out == "unchanged out/light.py\n"
    assert "removed   out/gone.py" in pawl("generate", "specs", "--out", "out", "--prune").out
    assert sorted(path.name for path in (pawl.folder / "out").iterdir()) == ["by_hand.py", "light.py"]


def test_two_machines_of_one_name_are_refused(pawl: Pawl) -> None:
    pawl.write("a/light.yaml")
    pawl.write("b/light.yaml")

    ran = pawl("generate", "a", "b", "--out", "out")

    assert ran.code == 1
    assert "light" in ran.err
    assert "b/light.yaml" in ran.err
    assert not (pawl.folder / "out").exists()


def test_json_is_one_object_on_stdout_with_findings_and_files(pawl: Pawl) -> None:
    spec = pawl.write("light.yaml")

    made = json.loads(pawl("generate", "light.yaml", "--json").out)
    assert (made["ok"], made["files"]) == (True, [{"path": "light.py", "change": "created"}])
    spec.write_text(SPEC.replace("version: 1", "version: 2"))
    drifted = json.loads(pawl("generate", "light.yaml", "--json", "--check").out)
    assert drifted["ok"] is False
    assert "+SPEC_VERSION: Final = 2" in drifted["files"][0]["diff"]
    spec.write_text(SPEC.replace("to: lit", "to: lid"))
    wrong = json.loads(pawl("generate", "light.yaml", "--json").out)
    assert [(found["rule"], found["line"]) for found in wrong["findings"] if found["severity"] == "error"] == [
        ("E01", 10)
    ]


# check


def test_check_tells_warnings_and_what_was_compared_and_passes(pawl: Pawl) -> None:
    pawl.write("light.yaml")

    ran = pawl("check", "light.yaml")

    assert ran.code == 0
    assert "light: 4 cells compared with pytransitions" in ran.out
    assert ran.out.endswith("1 spec, 0 errors, 0 warnings\n")


def test_one_cell_is_not_counted_as_cells(pawl: Pawl) -> None:
    pawl.write("once.yaml", ONCE)

    assert "once: 1 cell compared with pytransitions" in pawl("check", "once.yaml").out


ONCE = """\
pawl: 1
machine: once
version: 1
states: {before: {initial: true}, after: {final: true}}
events: {go: {}}
transitions: [{from: before, on: go, to: after}]
"""


def test_strict_makes_warnings_count(pawl: Pawl) -> None:
    pawl.write("light.yaml", SPEC.replace("events: {", "guards: {spare: Never asked.}\nevents: {"))

    assert pawl("check", "light.yaml").code == 0
    strict = pawl("check", "light.yaml", "--strict")
    assert strict.code == 1
    assert "W09" in strict.err
    assert "--strict was given" in strict.err


def test_check_of_a_broken_spec_says_where_and_fails(pawl: Pawl) -> None:
    pawl.write("light.yaml", SPEC.replace("to: lit", "to: lid"))

    ran = pawl("check", "light.yaml")

    assert ran.code == 1
    assert ran.err.startswith("light.yaml:10:33: E01 ")
    assert "1 error" in ran.out


def test_brackets_in_messages_and_names_are_not_eaten(pawl: Pawl) -> None:
    pawl.write("[bold].yaml", SPEC.replace("to: lit", "to: '[red]lid[/red]'"))

    ran = pawl("check", "[bold].yaml")

    assert ran.err.startswith("[bold].yaml:10:33: ")
    assert "[red]lid[/red]" in ran.err


# diagram


def test_a_diagram_is_three_files_that_are_fresh_until_the_spec_changes(pawl: Pawl) -> None:
    spec = pawl.write("light.yaml")

    made = pawl("diagram", "light.yaml", "--out", "pictures")

    assert made.code == 0
    assert sorted(path.name for path in (pawl.folder / "pictures").iterdir()) == ["light.dot", "light.md", "light.svg"]
    assert pawl("diagram", "light.yaml", "--out", "pictures", "--check").code == 0
    spec.write_text(SPEC.replace("off:", "of:").replace("to: off", "to: of"))
    drifted = pawl("diagram", "light.yaml", "--out", "pictures", "--check")
    assert drifted.code == 1
    assert drifted.err.count("not what the spec says") == 3
    assert "run `pawl diagram light.yaml --out pictures`" in drifted.err
    assert "<svg" not in drifted.out
    assert "-<!-- dot sha256:" in drifted.out


def test_check_of_a_diagram_compares_the_hash_and_does_not_draw(pawl: Pawl, monkeypatch: pytest.MonkeyPatch) -> None:
    pawl.write("light.yaml")
    pawl("diagram", "light.yaml", "--out", "pictures")
    svg = pawl.folder / "pictures" / "light.svg"
    text = svg.read_text(encoding="utf-8")
    assert hash_in(text) == dot_hash((pawl.folder / "pictures" / "light.dot").read_text(encoding="utf-8"))
    monkeypatch.setattr(shutil, "which", lambda *_args, **_more: None)

    assert pawl("diagram", "light.yaml", "--out", "pictures", "--check").code == 0
    svg.write_text(text.replace("dot sha256: ", "dot sha256: 0"), encoding="utf-8")
    assert pawl("diagram", "light.yaml", "--out", "pictures", "--check").code == 1
    undrawn = pawl("diagram", "light.yaml", "--format", "svg")
    assert undrawn.code == 2
    assert "graphviz-pure is not installed" in undrawn.err


@pytest.mark.parametrize(
    ("kind", "start"),
    [("svg", "<?xml"), ("dot", "// Generated"), ("mermaid", "%% Generated"), ("markdown", "<!-- Generated")],
)
def test_one_format_goes_to_stdout_or_to_a_file(pawl: Pawl, kind: str, start: str) -> None:
    pawl.write("light.yaml")

    ran = pawl("diagram", "light.yaml", "--format", kind)

    assert ran.code == 0
    assert ran.out.startswith(start)
    assert [path.name for path in pawl.folder.iterdir()] == ["light.yaml"]
    assert pawl("diagram", "light.yaml", "--format", kind, "--out", "x").out.startswith("created   x")


def test_a_session_is_drawn_on_top_but_not_into_the_committed_diagrams(pawl: Pawl) -> None:
    pawl.write("light.yaml")
    pawl.write("pyproject.toml", '[tool.pawl]\ndiagrams = "pictures"\n')

    over = pawl(
        "diagram", "light.yaml", "--format", "dot", "--state", "lit", "--path", "dark,lit", "--path", "lit, dark, lit"
    )

    assert over.code == 0
    assert over.out.count("#c2185b") > pawl("diagram", "light.yaml", "--format", "dot").out.count("#c2185b")
    refused = pawl("diagram", "light.yaml", "--state", "lit")
    assert refused.code == 2
    assert "does not belong in the diagrams folder" in refused.err


def test_a_broken_spec_draws_nothing(pawl: Pawl) -> None:
    pawl.write("light.yaml", SPEC.replace("to: lit", "to: lid"))

    assert pawl("diagram", "light.yaml", "--format", "dot") == (1, "", pawl("check", "light.yaml").err)
