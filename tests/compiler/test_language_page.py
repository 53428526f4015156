"""The page about the language is held to what the compiler does."""

from __future__ import annotations

import re
from pathlib import Path

import attrs

from pawl.tools.compiler import spec
from pawl.tools.compiler.assemble import MAX_ROWS, MAX_STATES
from pawl.tools.compiler.build import MAX_DEPTH
from pawl.tools.compiler.checks.rules import CHECKS, FORM
from pawl.tools.compiler.compile import compile_text
from pawl.tools.compiler.names import LONGEST

PAGE = (Path(__file__).parents[2] / "fsm_specs" / "README.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.split("```yaml\n")[1].split("```")[0]


def test_the_example_compiles_without_a_finding() -> None:
    result = compile_text(EXAMPLE)
    assert [str(finding) for finding in result.findings] == []
    assert [machine.name for machine in result.machines] == ["refund"]


def test_every_key_is_in_the_example_or_explained() -> None:
    classes = (
        spec.Spec,
        spec.StateSpec,
        spec.EventSpec,
        spec.RowSpec,
        spec.AfterSpec,
        spec.BarriersSpec,
        spec.UnhandledSpec,
    )
    keys = {field.metadata.get("key", field.name) for cls in classes for field in attrs.fields(cls)} - {"at", "name"}
    assert len(keys) > 40
    for key in keys:
        assert f"`{key}`" in PAGE or re.search(rf"\b{key}:", EXAMPLE) or f"`{key}: " in PAGE, key


def test_every_rule_is_listed_with_its_title() -> None:
    for rule, title in [*FORM.items(), *((check.rule, check.title) for check in CHECKS)]:
        assert f"| {rule} | {title} |" in PAGE
    assert len(re.findall(r"\| [EWY][0-9]{2} \|", PAGE)) == len(FORM) + len(CHECKS)


def test_the_limits_are_those_of_the_compiler() -> None:
    for number in (f"{MAX_STATES:,} states", f"{MAX_ROWS:,} rows", f"{MAX_DEPTH} levels", f"{LONGEST} characters"):
        assert number in PAGE
