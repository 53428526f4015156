"""The page about the language is held to what the compiler does."""

from __future__ import annotations

import re
from pathlib import Path

from pawl.tools.compiler import spec
from pawl.tools.compiler.assemble import MAX_ROWS, MAX_STATES
from pawl.tools.compiler.build import MAX_DEPTH
from pawl.tools.compiler.checks.rules import CHECKS, FORM
from pawl.tools.compiler.compile import compile_files, compile_text
from pawl.tools.compiler.names import LONGEST

PAGE = (Path(__file__).parents[2] / "fsm_specs" / "README.md").read_text(encoding="utf-8")
EXAMPLE, FRAGMENT, USE = (text.split("```")[0] for text in PAGE.split("```yaml\n")[1:4])


def test_the_example_compiles_without_a_finding() -> None:
    result = compile_text(EXAMPLE)
    assert [str(finding) for finding in result.findings] == []
    assert [machine.name for machine in result.machines] == ["refund"]


def test_the_example_of_a_fragment_compiles_with_the_one_of_its_use(tmp_path: Path) -> None:
    (tmp_path / "fragments").mkdir()
    (tmp_path / "fragments" / "retry.yaml").write_text(FRAGMENT, encoding="utf-8")
    states = "{begin: {initial: true, auto: true}, sent: {final: true}, gone: {final: true}, unclear: {halt: true}}"
    head = f"pawl: 1\nmachine: courier\nversion: 1\nevents: {{cancel: {{}}}}\nstates: {states}\n"
    machine = tmp_path / "courier.yaml"
    machine.write_text(f"{head}{USE}unhandled: {{ignore: cancel}}\n", encoding="utf-8")

    result = compile_files([machine])

    assert [str(finding) for finding in result.findings] == []
    (model,) = result.machines
    assert {"fetch.trying", "fetch.pausing", "send.trying", "send.pausing"} <= {state.name for state in model.states}


def test_every_key_is_in_the_example_or_explained() -> None:
    classes = (
        spec.Spec,
        spec.Fragment,
        spec.UseSpec,
        spec.StateSpec,
        spec.EventSpec,
        spec.RowSpec,
        spec.AfterSpec,
        spec.BarriersSpec,
        spec.UnhandledSpec,
        spec.MigrationSpec,
    )
    keys = {key for cls in classes for key in spec.keys(cls)}
    assert len(keys) > 50
    for key in keys:
        assert f"`{key}`" in PAGE or re.search(rf"\b{key}:", EXAMPLE + FRAGMENT + USE) or f"`{key}: " in PAGE, key


def test_every_rule_is_listed_with_its_title() -> None:
    for rule, title in [*FORM.items(), *((check.rule, check.title) for check in CHECKS)]:
        assert f"| {rule} | {title} |" in PAGE
    assert len(re.findall(r"\| [EWY][0-9]{2} \|", PAGE)) == len(FORM) + len(CHECKS)


def test_the_limits_are_those_of_the_compiler() -> None:
    for number in (f"{MAX_STATES:,} states", f"{MAX_ROWS:,} rows", f"{MAX_DEPTH} levels", f"{LONGEST} characters"):
        assert number in PAGE
