"""Every rule has a spec that breaks it and the exact words with which it is refused.

`tests/golden/errors/RULE_what/` holds the specs of one run and `stderr.txt`. `pytest --rewrite` writes the latter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from pawl.tools.compiler.checks.rules import CHECKS, FORM
from pawl.tools.compiler.compile import compile_files
from pawl.tools.compiler.findings import Severity
from pawl.tools.compiler.load import MAX_BYTES

GOLDEN = Path(__file__).parent.parent / "golden" / "errors"
CASES = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())

BUILT: dict[str, bytes] = {
    "Y02_latin1": "pawl: 1\nmachine: door\ndoc: Eine T\xfcr.\n".encode("latin-1"),
    "Y02_utf16": "pawl: 1\nmachine: door\n".encode("utf-16"),
    "Y03_long": b"# " + b"x" * MAX_BYTES,
    "Y04_control": b"pawl: 1\nmachine: do\0or\n",
    "Y04_separator": b'pawl: 1\nmachine: door\nversion: 1\ndoc: "\xe2\x80\xa8"\n',
    "Y09_abyss": b"pawl: " + b"[" * (MAX_BYTES - 100),
}
"""Specs that an editor, or the repository, would not keep as they are."""


@pytest.mark.parametrize("case", CASES)
def test_a_broken_spec_is_refused_in_these_words(
    case: str, rewrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case in BUILT:
        (tmp_path / "spec.yaml").write_bytes(BUILT[case])
        monkeypatch.chdir(tmp_path)
    else:
        monkeypatch.chdir(GOLDEN / case)
    paths = sorted({Path("spec.yaml"), *Path().glob("*.yaml")})
    compiled = compile_files(paths)
    text = "".join(f"{finding}\n" for finding in compiled.findings)
    golden = GOLDEN / case / "stderr.txt"
    if rewrite:
        golden.write_text(text, encoding="utf-8")
    expected = golden.read_text(encoding="utf-8")
    if case.startswith("Y05") and not hasattr(yaml, "CSafeLoader"):
        text, expected = (re.sub(r"not YAML.*", "", words) for words in (text, expected))
    assert text == expected
    rule = case.partition("_")[0]
    assert rule == "all" or rule in {finding.rule for finding in compiled.findings}


@pytest.mark.parametrize("case", CASES)
def test_a_finding_says_where_what_and_what_to_do(case: str) -> None:
    for line in (GOLDEN / case / "stderr.txt").read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"[a-z/]+\.yaml:[0-9]+:[0-9]+: [EWY][0-9]{2} .+(; .+|\?)", line), line


@pytest.mark.parametrize("case", CASES)
def test_findings_come_in_file_order(case: str) -> None:
    lines = (GOLDEN / case / "stderr.txt").read_text(encoding="utf-8").splitlines()
    places = [(file, int(line), int(column)) for file, line, column, _ in (text.split(":", 3) for text in lines)]
    assert places == sorted(places)


def test_every_rule_has_a_failing_example() -> None:
    shown = {case.partition("_")[0] for case in CASES}
    assert {check.rule for check in CHECKS} | set(FORM) <= shown


def test_every_example_is_of_a_rule_that_exists() -> None:
    known = {check.rule for check in CHECKS} | set(FORM) | {"all"}
    assert {case.partition("_")[0] for case in CASES} <= known


def test_rules_are_listed_once_and_only_w_rules_are_warnings() -> None:
    rules = [check.rule for check in CHECKS]
    assert len(rules) == len(set(rules))
    assert not set(rules) & set(FORM)
    severity: Callable[[str], Severity] = lambda rule: Severity.WARN if rule[0] == "W" else Severity.ERROR  # noqa: E731
    assert [check.severity for check in CHECKS] == [severity(rule) for rule in rules]


def test_a_rule_speaks_of_itself_alone() -> None:
    """An example that breaks one rule is not buried under what follows from it."""
    for case in CASES:
        rule = case.partition("_")[0]
        others = {
            line.split(" ")[1] for line in (GOLDEN / case / "stderr.txt").read_text(encoding="utf-8").splitlines()
        } - {rule}
        assert rule == "all" or others <= ALLOWED.get(case, set()), (case, others)


ALLOWED: dict[str, set[str]] = {
    "E06_keywords": {"E10"},
    "W15_as_error": {"W16"},
    "W15_trap": {"W16"},
    "Y07_bomb": {"Y12"},
}
"""Where one mistake rightly breaks two rules."""
