"""Whatever is decided of the calls of one answer: each is approved, rejected or edited for itself, in any order."""

from __future__ import annotations

from itertools import product

import pytest

from pawl.runtime.simulation.exploring import explore
from pawl.runtime.simulation.playing import play
from pawl.runtime.simulation.running import scenarios_of
from pawl.runtime.simulation.scenario import Scenario

CALLS = ("c1", "c2", "c3")
WORDS = {"approve": "approve", "reject": "{reject: never}", "edit": "{edit: {to: b}}"}
ORDERS = (CALLS, ("c3", "c2", "c1"), ("c2", "c3", "c1"))
VERDICTS = list(product(WORDS, repeat=len(CALLS)))


def decided(verdicts: tuple[str, ...], order: tuple[str, ...], rejection: str) -> Scenario:
    """A run whose three calls are decided one by one; each has a tool of its own."""
    words = dict(zip(CALLS, verdicts, strict=True))
    ends = rejection == "end" and "reject" in verdicts
    last = next((at for at, call in enumerate(order) if ends and words[call] == "reject"), len(order) - 1)
    steps = [f"  - decide: {{run: r1, items: {{{call}: {WORDS[words[call]]}}}}}" for call in order[: last + 1]]
    ran = [] if ends else [call for call in CALLS if words[call] != "reject"]
    told = [] if ends else [f"did {call}" if call in ran else "never" for call in CALLS]
    tools = ", ".join(f"{call}: {{approval: ask, returns: did {call}}}" for call in CALLS)
    calls = ", ".join(f"{{id: {call}, tool: {call}, args: {{to: a}}}}" for call in CALLS)
    (scenario,) = scenarios_of(
        f"""
scenario: 1
name: {" ".join(verdicts)} in the order {" ".join(order)}
agents: {{clerk: {{on_rejection: {rejection}, tools: {{{tools}}}}}}}
model: {{clerk: [{{calls: [{calls}]}}{"" if ends else ", {text: done}"}]}}
steps:
  - start: {{agent: clerk, input: go, as: r1}}
{chr(10).join(steps)}
expect:
  r1: {{outcome: {"rejected" if ends else "completed"}}}
  effects: {{{", ".join(f"{call}: 1" for call in ran)}}}
  transcript: {{clerk: [user, assistant, tool, tool, tool{"" if ends else ", assistant"}]}}
"""
        + ("" if ends else f"  model_input: {{clerk: {{2: {{contains: [{', '.join(told)}]}}}}}}\n")
    )
    return scenario


@pytest.mark.parametrize("rejection", ["end", "continue"])
@pytest.mark.parametrize("verdicts", VERDICTS, ids=" ".join)
def test_whatever_is_decided_of_three_calls_each_has_its_result(verdicts: tuple[str, ...], rejection: str) -> None:
    for order in ORDERS:
        play(decided(verdicts, order, rejection)).check()


def test_whatever_goes_wrong_meanwhile() -> None:
    explore(decided(("approve", "reject", "edit"), ("c2", "c3", "c1"), "continue")).check()
