"""The page about limits has the numbers that the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pawl.runtime.agent import ahead, answers, bounds, facts, filters, output_type, results
from pawl.runtime.app import agents, words
from pawl.runtime.llm import openai_wire, port

PAGE = Path(__file__).parents[2] / ".docs" / "guide" / "limits.md"
AT_MOST = r"[\d,]+ (?:bytes|values|levels|calls|characters|items)[^|]*"
ROWS = dict(re.findall(rf"^\| (.+?) \| ({AT_MOST}) \|", PAGE.read_text("utf-8"), re.MULTILINE))
CODE = {
    "arguments of one call": [bounds.Bounds().bytes],
    "their JSON values": [bounds.Bounds().values],
    "their nesting": [bounds.DEEPEST],
    "an answer of a model": [port.LARGEST_ANSWER],
    "its calls": [port.MOST_CALLS],
    "an id of a call": [answers._LONGEST_ID],
    "an answer with `output_type=`": [output_type._MOST.values],
    "a reply of an OpenAI server": [openai_wire.LARGEST],
    "a result of a tool": [results.MAX_RESULT_BYTES],
    "its nesting": [results._DEEPEST],
    "text of an error of your code": [facts._LONGEST_ERROR],
    "text that an input or output filter returns": [filters.LARGEST_ANSWER],
    "an input": [words.LONGEST],
    "a message about a decision": [words.LONGEST_WORDS],
    "edited arguments": [words._EDIT.bytes, words._EDIT.values],
    "items of one decision": [port.MOST_CALLS],
    "`durable_context`": [bounds.Bounds().bytes, bounds.Bounds().values],
    "an id of an agent or a start": [agents._LONGEST],
}


def test_every_limit_of_the_table_is_one_of_the_code() -> None:
    assert len(ROWS) == len(CODE)


@pytest.mark.parametrize("of", CODE)
def test_a_limit_is_what_the_page_says(of: str) -> None:
    (said,) = (most for row, most in ROWS.items() if row.startswith(of))
    assert [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", said)] == CODE[of]


def test_what_is_said_of_large_arguments_is_so() -> None:
    text = PAGE.read_text("utf-8")
    assert f"more than {ahead._SMALL:,} characters are read by a thread" in text
    assert f"(over {ahead._FEW}\nvalues)" in text
    assert filters._LONGEST_REASON == facts._LONGEST_ERROR
