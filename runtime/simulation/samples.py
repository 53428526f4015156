"""Small valid records, and a store driven from a test: `done(store, operation)` waits for the answer."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.approvals import ApprovalItem, ApprovalRequest, Decision, Receipt, Verdict
from pawl.runtime.records.canonical import canonical, digest
from pawl.runtime.records.executions import ExecutionRecord, Manifest, StoredAnswer
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.messages import ToolCall, Usage
from pawl.runtime.records.tools import ErrorInfo, ToolRow, ToolStatus
from pawl.runtime.store.answers import Answer, Committed
from pawl.runtime.store.port import Operation, Store

T = TypeVar("T")

WAIT = 60.0
"""Seconds that a test waits for an answer before it calls the store hung."""


def answer_of(store: Store, operation: Operation[T]) -> Answer[T]:
    """Submit, and wait for the answer. Raises AssertionError when none comes."""
    answers: list[Answer[T]] = []
    answered = threading.Event()

    def receive(answer: Answer[T]) -> None:
        answers.append(answer)
        answered.set()

    store.submit(operation, receive)
    assert answered.wait(WAIT), "the store gave no answer"
    return answers[0]


def done(store: Store, operation: Operation[T]) -> T:
    """The value of an operation that must be committed. Raises AssertionError otherwise."""
    answer = answer_of(store, operation)
    assert isinstance(answer, Committed), answer
    value: T = answer.value
    return value


def an_agent(agent_id: str = "a", **changes: Any) -> AgentRoot:
    """An agent that nobody owns."""
    return replace(AgentRoot(agent_id, "support", 1, 10.0), **changes)


def an_execution(execution_id: str = "e", agent_id: str = "a", **changes: Any) -> ExecutionRecord:
    """A fresh execution; its start id is derived from its id."""
    record = ExecutionRecord(
        execution_id=execution_id,
        agent_id=agent_id,
        definition="support",
        definition_version=1,
        machine="agent_invocation",
        spec_hash="0" * 64,
        start_id=f"start-{execution_id}",
        input=digest("hello"),
        context=None,
        created_at=10.0,
        updated_at=10.0,
        status="preparing",
        phase="preparing",
        revision=0,
        token="token-0",
    )
    return replace(record, **changes)


def a_full_execution(execution_id: str = "e", agent_id: str = "a") -> ExecutionRecord:
    """An execution with every optional part, and text that is not ASCII."""
    return an_execution(
        execution_id,
        agent_id,
        context=digest("{}"),
        status="suspended",
        phase="approval",
        llm_call_id="call-1",
        manifest=Manifest(7, ((1, 2), (4, 6)), (digest("extra"),)),
        answer=StoredAnswer("call-0", "schön \u2028 \U0001f980", (ToolCall("t", "refund", '{"a": 1}'),), an_error()),
        batch_call_id="call-0",
        batch=("tool-1", "tool-2"),
        request=a_request(execution_id=execution_id, agent_id=agent_id, expires_at=99.5),
        iterations=3,
        lost_calls=1,
        usage=Usage(10**12, 7),
        deadline=1e9,
        result=digest("result"),
        error=an_error(),
    )


def an_error() -> ErrorInfo:
    """An error as data."""
    return ErrorInfo("ToolError", 'it "broke"\n')


def a_request(
    request_id: str = "request", execution_id: str = "e", agent_id: str = "a", **changes: Any
) -> ApprovalRequest:
    """A request with two items."""
    arguments = {"deep": [1, -2.5, None, {"x": [True, ""]}], "ä": "\x00"}
    items = tuple(ApprovalItem(name, f"tool-{name}", "refund", arguments, digest(name)) for name in ("t1", "t2"))
    return ApprovalRequest(request_id, execution_id, agent_id, items, 10.0, changes.get("expires_at"))


def a_receipt(tool_call_id: str = "t1", request_id: str = "request", at: float = 11.0, **changes: Any) -> Receipt:
    """An approval, unless `verdict` says otherwise."""
    decision = Decision(tool_call_id, changes.get("verdict", Verdict.APPROVED), "", changes.get("edit"))
    return Receipt(f"receipt-{tool_call_id}-{at}", request_id, decision, at)


def a_tool(tool_invocation_id: str = "tool-1", execution_id: str = "e", **changes: Any) -> ToolRow:
    """A dispatched tool call."""
    row = ToolRow(
        tool_invocation_id=tool_invocation_id,
        execution_id=execution_id,
        llm_call_id="call-1",
        tool_call_id=f"t-{tool_invocation_id}",
        index=0,
        tool="refund",
        raw_arguments='{"cents": 7}',
        arguments={"cents": 7},
        policy="ask",
        idempotency_key=f"key-{tool_invocation_id}",
        status=ToolStatus.PENDING,
    )
    return replace(row, **changes)


def an_entry(
    text: str | None = "hello", kind: JournalKind = JournalKind.EXTERNAL_MESSAGE, **changes: Any
) -> JournalEntry:
    """A journal entry, of execution "e" unless `execution_id` says otherwise."""
    content = None if text is None else Content.of(text)
    return JournalEntry(kind, changes.get("execution_id", "e"), 10.0, content, changes.get("meta", {}))


def a_content(value: Any) -> Content:
    """A JSON body."""
    return Content.of(canonical(value))
