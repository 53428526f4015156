"""Scenario files and texts to scenarios, with everything that is wrong in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from pawl.runtime.simulation.scenario import Scenario
from pawl.tools.compiler.build import Words
from pawl.tools.compiler.findings import Finding, in_file_order
from pawl.tools.compiler.load import checked_text, documents, text_of
from pawl.tools.compiler.nodes import Document
from pawl.tools.scenario.names import check_names
from pawl.tools.scenario.reader import Reader
from pawl.tools.scenario.schema import HOOKS, SPOKEN, read_scenario, read_step

WORDS = Words("a scenario", "`scenario: 1` and `name: …`", "ten", "scenarios")


@attrs.frozen
class Loaded:
    """The scenarios of one file that can be played, and what is wrong with the others."""

    scenarios: tuple[Scenario, ...]
    findings: tuple[Finding, ...]


def load_scenarios(path: Path | str) -> Loaded:
    """Read a file. Never raises for what it holds, or when it cannot be read."""
    return _loaded(text_of(path), str(path))


def load_scenario_text(text: str, file: str = "scenario") -> Loaded:
    """The same for text; `file` is what positions say."""
    return _loaded(checked_text(text, file), file)


def _loaded(text: str | Document, file: str) -> Loaded:
    read = (text,) if isinstance(text, Document) else documents(text, file, WORDS)
    scenarios: list[Scenario] = []
    findings: list[Finding] = []
    for document in read:
        scenario, wrong = _scenario(document)
        findings += wrong
        if scenario is not None and not wrong:
            scenarios.append(scenario)
    return Loaded(tuple(scenarios), in_file_order(findings))


def _scenario(document: Document) -> tuple[Scenario | None, Sequence[Finding]]:
    if document.root is None:
        return None, document.findings
    reader = Reader(HOOKS, read_step, SPOKEN)
    scenario = read_scenario(reader, document.root)
    if scenario is not None and not reader.findings:
        check_names(scenario, reader)
    return scenario, (*document.findings, *reader.findings)
