"""The page of what breaks elsewhere names every scenario that shows it here, and only tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

from pawl.runtime.simulation.running import scenarios_of

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
PAGE = (FOLDER / "PEERS.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?P<report>[^|]+) \| (?P<name>[^|]+) \| (?P<file>peers-[a-z]+) \|$", re.MULTILINE)


def test_the_page_names_every_scenario_with_its_report() -> None:
    said = {(row["file"], row["name"]): row["report"] for row in ROW.finditer(PAGE)}
    there = {
        (path.stem, scenario.name): _why(path)[place]
        for path in sorted(FOLDER.glob("peers-*.yaml"))
        for place, scenario in enumerate(scenarios_of(path))
    }
    assert sorted(said) == sorted(there)
    assert [key for key, report in said.items() if not re.match(rf"# {re.escape(report)}[:,]", there[key])] == []


def test_every_test_that_the_page_names_is_there() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 10
    missing = [test for path, test in named if f"def {test}(" not in (ROOT / path).read_text(encoding="utf-8")]
    assert missing == []


def _why(path: Path) -> list[str]:
    documents = re.split(r"^---$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [document.strip().splitlines()[0] for document in documents]
