"""The codec: what is written is read back equal, and nothing that is not as declared is read or written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pawl.runtime.records import codec
from pawl.runtime.records.agents import AgentRoot, Owner
from pawl.runtime.records.approvals import ApprovalItem, ApprovalRequest, Decision, Receipt, Verdict
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.codec import RECORDS, decode, encode
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.executions import ExecutionRecord, Manifest, StopIntent, StoredAnswer
from pawl.runtime.records.messages import ToolCall, Usage
from pawl.runtime.records.tools import ErrorInfo, ToolRow, ToolStatus

ITEM = ApprovalItem("t1", "tool-1", "refund", {"cents": 7, "deep": [1.5, None, {"x": True}]}, "sha256:00", "large")
RECORD = ExecutionRecord(
    execution_id="e1",
    agent_id="customer-42",
    definition="support",
    definition_version=3,
    machine="agent_invocation",
    spec_hash="0" * 64,
    start_id="req-1",
    input="sha256:11",
    context=None,
    created_at=1.5,
    updated_at=2.25,
    status="suspended",
    phase="approval",
    revision=2,
    token="token",
    llm_call_id="call-2",
    manifest=Manifest(9, ((1, 2), (5, 7)), ("sha256:22",)),
    answer=StoredAnswer("call-1", "schön \U0001f980", (ToolCall("t1", "refund", '{"cents": 7}'),), None),
    batch=("tool-1", "tool-2"),
    request=ApprovalRequest("r1", "e1", "customer-42", (ITEM, ITEM, attrs.evolve(ITEM, tool_call_id="t3")), 1.0),
    decisions=(Decision("t1", Verdict.REJECTED, "no", {"cents": 1}),),
    usage=Usage(10, 20),
    error=ErrorInfo("ToolError", "it broke"),
)


def changed(path: list[Any], change: Callable[[Any, Any], None]) -> str:
    """The text of RECORD after `change(container, key)` at `path`."""
    value: Any = json.loads(encode(RECORD))
    container = value
    for key in path[:-1]:
        container = container[key]
    change(container, path[-1])
    return json.dumps(value)


def putting(new: Any) -> Callable[[Any, Any], None]:
    return lambda container, key: container.__setitem__(key, new)


def removing(container: Any, key: Any) -> None:
    del container[key]


def test_a_record_is_read_back_as_it_was_written() -> None:
    assert decode(encode(RECORD), ExecutionRecord) == RECORD
    assert type(decode(encode(RECORD), ExecutionRecord).decisions[0].verdict) is Verdict


def test_the_text_is_canonical_json_with_type_and_version() -> None:
    text = encode(StopIntent("e1", "cancel_requested", 1.0))
    assert text == '{"data":{"at":1.0,"execution_id":"e1","reason":"cancel_requested"},"type":"stop_intent","v":1}'
    assert encode(RECORD) == canonical(json.loads(encode(RECORD)))


def test_type_names_are_unique_and_every_record_type_can_be_written() -> None:
    assert len({name for name, _ in RECORDS.values()}) == len(RECORDS)
    for record in RECORDS:
        codec._hooks(record)


DATA = ["data"]
ITEMS = [*DATA, "request", "items"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed([*ITEMS, 2, "digest"], putting(7)), "execution.request.items[2].digest: expected text, found 7"),
        (changed([*ITEMS, 2, "digest"], removing), "execution.request.items[2]: missing 'digest'"),
        (changed([*ITEMS, 0, "more"], putting(1)), "execution.request.items[0]: unknown 'more'"),
        (changed([*ITEMS, 1], putting("t1")), "execution.request.items[1]: expected an object, found 't1'"),
        (changed(ITEMS, putting({})), "execution.request.items: expected a list, found {}"),
        (changed(ITEMS, putting("abc")), "execution.request.items: expected a list, found 'abc'"),
        (changed([*ITEMS, 0, "arguments"], putting([])), "execution.request.items[0].arguments: expected an object"),
        (changed([*DATA, "revision"], putting("1")), "execution.revision: expected an integer, found '1'"),
        (changed([*DATA, "revision"], putting(True)), "execution.revision: expected an integer, found true"),
        (changed([*DATA, "revision"], putting(1.0)), "execution.revision: expected an integer, found 1.0"),
        (changed([*DATA, "revision"], removing), "execution: missing 'revision'"),
        (changed([*DATA, "iterations"], removing), "execution: missing 'iterations'"),
        (changed([*DATA, "created_at"], putting("1.5")), "execution.created_at: expected a number, found '1.5'"),
        (changed([*DATA, "created_at"], putting(False)), "execution.created_at: expected a number, found false"),
        (changed([*DATA, "run_model"], putting(0)), "execution.run_model: expected true or false, found 0"),
        (changed([*DATA, "status"], putting(None)), "execution.status: expected text, found null"),
        (changed([*DATA, "batch", 1], putting(2)), "execution.batch[1]: expected text, found 2"),
        (changed([*DATA, "manifest", "excluded", 1], putting([1])), "excluded[1]: expected a list of 2, found [1]"),
        (changed([*DATA, "manifest", "excluded", 1, 0], putting("1")), "excluded[1][0]: expected an integer"),
        (
            changed([*DATA, "decisions", 0, "verdict"], putting("maybe")),
            "execution.decisions[0].verdict: expected one of approved, rejected; found 'maybe'",
        ),
        (changed([*DATA, "decisions", 0, "verdict"], putting(["approved"])), "expected one of approved, rejected"),
        (changed([*DATA, "on_rejection"], putting("END")), "execution.on_rejection: expected one of end, continue"),
        (changed(["v"], putting(2)), "execution: version 2 is not known here, only 1; upgrade Pawl"),
        (changed(["v"], putting(True)), "execution: version true is not known here"),
        (changed(["type"], putting("tool")), "execution: the stored record is of type 'tool'"),
        (changed(["more"], putting(1)), "execution: not an envelope"),
        (changed(["type"], removing), "execution: not an envelope"),
        (changed(DATA, putting([])), "execution: expected an object, found []"),
        ("[]", "execution: not an envelope"),
        ("null", "execution: not an envelope of exactly `data`, `type` and `v`: null"),
        ("", "execution: not JSON: Expecting value"),
        ('{"v":1,"v":1}', "execution: not JSON: a key occurs twice in one object"),
        (changed(["v"], putting(float("nan"))), "execution: not JSON: NaN is not a JSON number"),
        ('{"v":1e999}', "execution: not JSON: number 1e999 is out of range"),
        ("[" * 100_000, "execution: not JSON: maximum recursion depth"),
        ('"\\ud800"', "execution: a lone surrogate"),
        ('"\ud800"', "execution: a lone surrogate"),
    ],
)
def test_what_is_not_as_declared_is_not_read_and_the_error_has_the_place(text: str, message: str) -> None:
    with pytest.raises(CodecError) as raised:
        decode(text, ExecutionRecord)
    assert message in str(raised.value)


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _with_arguments(value: Any) -> ExecutionRecord:
    assert RECORD.request is not None
    items = (ITEM, attrs.evolve(ITEM, arguments=value))
    return attrs.evolve(RECORD, request=attrs.evolve(RECORD.request, items=items))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (attrs.evolve(RECORD, revision=True), "execution.revision: expected an integer, found true"),
        (attrs.evolve(RECORD, revision="1"), "execution.revision: expected an integer, found '1'"),
        (attrs.evolve(RECORD, status=None), "execution.status: expected text, found null"),
        (attrs.evolve(RECORD, status="\ud800"), "execution.status: a lone surrogate"),
        (attrs.evolve(RECORD, created_at=float("nan")), "execution.created_at: nan is out of range"),
        (attrs.evolve(RECORD, created_at=float("inf")), "execution.created_at: inf is out of range"),
        (attrs.evolve(RECORD, deadline=10**400), "execution.deadline: 1000"),
        (attrs.evolve(RECORD, batch=["tool-1"]), "execution: expected a tuple, found ['tool-1']"),
        (attrs.evolve(RECORD, request=ITEM), "execution.request: missing"),
        (
            attrs.evolve(RECORD, manifest=Manifest(1, ((1, 2, 3),))),
            "execution.manifest.excluded[0]: expected a list of 2",
        ),
        (attrs.evolve(RECORD, on_rejection="maybe"), "execution.on_rejection: expected one of end, continue"),
        (_with_arguments({"a": [1, {2: 3}]}), "execution.request.items[1].arguments.a[1]: key 2 is not text"),
        (_with_arguments({"a": (1, 2)}), "execution.request.items[1].arguments.a: a tuple is not JSON"),
        (_with_arguments({"a": b"x"}), "execution.request.items[1].arguments.a: a bytes is not JSON"),
        (_with_arguments({"a": float("nan")}), "execution.request.items[1].arguments.a: nan is not a JSON number"),
        (_with_arguments({"a": "\ud800"}), "execution: a lone surrogate"),
        (_with_arguments({"a": _nested(200)}), "nested deeper than 100 levels"),
        (_with_arguments(None), "execution.request.items[1].arguments: expected an object, found null"),
        (7, "int is not a record of the codec (known: agent, "),
        (Verdict.APPROVED, "Verdict is not a record of the codec"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(value: Any, message: str) -> None:
    with pytest.raises(CodecError) as raised:
        encode(value)
    assert message in str(raised.value)


def test_free_json_may_nest_as_deep_as_it_says() -> None:
    record = _with_arguments({"a": _nested(99)})
    assert decode(encode(record), ExecutionRecord) == record
    with pytest.raises(CodecError, match="nested deeper"):
        encode(_with_arguments({"a": _nested(100)}))


def test_a_whole_number_is_taken_for_a_float_and_written_as_one() -> None:
    intent = StopIntent("e", "r", 3)
    assert '"at":3.0' in encode(intent)
    assert decode(encode(intent).replace("3.0", "3"), StopIntent) == intent


def test_an_enum_is_written_as_its_text() -> None:
    receipt = Receipt("id", "r1", Decision("t1", Verdict.APPROVED), 1.0)
    assert '"verdict":"approved"' in encode(receipt)
    assert decode(encode(receipt), Receipt) == receipt


def test_decoding_imports_nothing() -> None:
    text = encode(RECORD)
    decode(text, ExecutionRecord)
    before = set(sys.modules)
    decode(text, ExecutionRecord)
    with pytest.raises(CodecError):
        decode(text.replace('"execution"', '"os.system"'), ExecutionRecord)
    assert set(sys.modules) == before


texts = st.text(st.characters(codec="utf-8"), max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False)
free = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
tool_rows = st.builds(
    ToolRow,
    **dict.fromkeys(("tool_invocation_id", "execution_id", "llm_call_id", "tool_call_id", "tool", "message"), texts),
    index=st.integers(),
    raw_arguments=texts,
    arguments=st.none() | st.dictionaries(texts, free, max_size=3),
    policy=st.sampled_from(["ask", "replay", "probe"]),
    idempotency_key=texts,
    status=st.sampled_from(ToolStatus),
    attempt=st.integers(),
    token=st.none() | texts,
    output=st.none() | texts,
    error=st.none() | st.builds(ErrorInfo, texts, texts),
    duration=numbers,
)
agents = st.builds(
    AgentRoot, texts, texts, st.integers(), numbers, st.sampled_from(["open", "closed"]), owner=st.none() | texts
)
owners = st.builds(Owner, texts, texts, st.integers(), numbers, numbers)


@settings(max_examples=150, deadline=None)
@given(tool_rows | agents | owners)
def test_any_record_is_read_back_equal_and_has_one_text(value: Any) -> None:
    text = encode(value)
    again = decode(text, type(value))
    assert again == value
    assert encode(again) == text
    assert text.encode().decode() == text


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_change_of_a_type_inside_a_text_goes_unnoticed(data: st.DataObject) -> None:
    """Exchange one value of a written record for a value of another JSON type: it is refused, or was free JSON."""
    value = json.loads(encode(RECORD))
    container, key, path = value, "data", "data"
    while isinstance(container[key], (dict, list)) and container[key] and data.draw(st.booleans() | st.just(True)):
        container = container[key]
        key = data.draw(st.sampled_from(sorted(container) if isinstance(container, dict) else range(len(container))))
        path += f".{key}"
    other = data.draw(st.sampled_from([None, True, 7, "text", [], {}, ["x"]]))
    before = container[key]
    if type(other) is type(before) or "arguments" in path or "edit" in path:
        return
    container[key] = other
    try:
        again = decode(json.dumps(value), ExecutionRecord)
    except CodecError:
        return
    assert json.loads(encode(again)) == value  # an optional part that became null, or the other way round
