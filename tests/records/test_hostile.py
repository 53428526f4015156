"""Every small change of a record is refused, or is a record that says what its text says."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from pawl.runtime.records.agents import Owner
from pawl.runtime.records.codec import decode, encode
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.executions import StopIntent
from pawl.runtime.simulation.conformance_codec import refused_or_itself
from pawl.runtime.simulation.hostile import changes
from pawl.runtime.simulation.samples import a_full_execution, a_receipt, a_request, a_tool, an_agent

WHOLE = {
    "agent": an_agent(owner="me", fence=3),
    "owner": Owner("me", "host", 7, 1.5, 2.5),
    "execution": a_full_execution(),
    "tool": a_tool(redacted=("/cents",), duration=0.5),
    "receipt": a_receipt(edit={"a": [1, None]}),
    "request": a_request(),
    "intent": StopIntent("e", "cancel", 1.0),
}


@pytest.mark.parametrize("name", WHOLE)
def test_no_small_change_of_a_record_is_taken_for_something_else(name: str) -> None:
    value: Any = WHOLE[name]
    text = encode(value)
    some = islice(changes(text), 0, None, 1 if len(text) < 1000 else 5)
    assert [changed for changed in some if not refused_or_itself(changed, type(value))] == []


@pytest.mark.parametrize("text", [b"{}", None, 7, bytearray(b"{}")])
def test_what_is_no_text_is_no_record(text: Any) -> None:
    with pytest.raises(CodecError, match="agent: not text"):
        decode(text, type(an_agent()))
