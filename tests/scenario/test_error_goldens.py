"""What is wrong with a scenario file is said in these words: `tests/golden/scenario_errors/WHAT.yaml` and `.txt`.

`pytest --rewrite` writes the latter.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from pawl.tools.scenario.load import load_scenarios

GOLDEN = Path(__file__).parent.parent / "golden" / "scenario_errors"
CASES = sorted(path.stem for path in GOLDEN.glob("*.yaml"))


@pytest.mark.parametrize("case", CASES)
def test_a_broken_scenario_is_refused_in_these_words(case: str, rewrite: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    loaded = load_scenarios(f"{case}.yaml")
    text = "".join(f"{found}\n" for found in loaded.findings)
    golden = GOLDEN / f"{case}.txt"
    if rewrite:
        golden.write_text(text, encoding="utf-8")
    if case == "not_yaml" and not hasattr(yaml, "CSafeLoader"):
        pytest.skip("the two parsers of PyYAML say it in different words")
    assert text == golden.read_text(encoding="utf-8")
    assert text


@pytest.mark.parametrize("case", CASES)
def test_a_finding_says_where_what_and_what_to_do(case: str) -> None:
    for line in (GOLDEN / f"{case}.txt").read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"[a-z_]+\.yaml:[0-9]+:[0-9]+: [EYS][0-9]{2} .+(; .+|\?)", line), line
