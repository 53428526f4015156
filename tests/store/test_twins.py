"""The two adapters, one short and one fast, give the same answers to the same random operations."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pawl.runtime.records.agents import Owner
from pawl.runtime.records.approvals import Verdict
from pawl.runtime.records.errors import AgentBusy
from pawl.runtime.records.executions import StopIntent
from pawl.runtime.records.journal import Content, JournalKind
from pawl.runtime.simulation.samples import (
    a_receipt,
    a_request,
    a_tool,
    an_agent,
    an_entry,
    an_execution,
    answer_of,
)
from pawl.runtime.store.answers import Answer, Committed, Refused
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.port import Operation, Transaction
from pawl.runtime.store.sqlite import SqliteStore

AGENTS, EXECUTIONS, TOOLS, REQUESTS = ["a", "b"], ["e1", "e2", "e3"], ["t1", "t2"], ["r1", "r2"]
agents, executions, tools, requests = map(st.sampled_from, (AGENTS, EXECUTIONS, TOOLS, REQUESTS))
times = st.sampled_from([1.0, 2.0, 3.0])
small = st.integers(0, 3)
awaiting = st.sampled_from([None, "approval", "resolution"])
bodies = st.sampled_from(["", "hello", "ä"])
records = st.builds(
    lambda execution_id, agent_id, start, status, revision, request, at, deadline: an_execution(
        execution_id,
        agent_id,
        start_id=start,
        status=status,
        revision=revision,
        request=None if request is None else a_request(request, execution_id, agent_id, expires_at=at),
        created_at=at,
        deadline=deadline,
    ),
    executions,
    agents,
    st.sampled_from(["s1", "s2", "s3"]),
    st.sampled_from(["active", "suspended", "completed", "failed"]),
    small,
    st.none() | requests,
    times,
    st.none() | times,
)
entries = st.builds(
    lambda text, kind, execution_id: an_entry(text, kind, execution_id=execution_id),
    st.none() | bodies,
    st.sampled_from(JournalKind),
    executions,
)
rows = st.builds(
    lambda tool, execution_id, call, index: a_tool(tool, execution_id, llm_call_id=call, index=index),
    tools,
    executions,
    st.sampled_from(["c1", "c2"]),
    small,
)
receipts = st.builds(
    lambda tool, request, at, verdict: a_receipt(tool, request, at, verdict=verdict),
    tools,
    requests,
    times,
    st.sampled_from(Verdict),
)
owners = st.builds(lambda name, expires: Owner(name, "host", 1, 1.0, expires), agents, times)


def call(repository: str, method: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(st.just(repository), st.just(method), *arguments)


calls = st.one_of(
    call("agents", "insert", st.builds(an_agent, agents)),
    call("agents", "get", agents),
    call("agents", "save", st.builds(lambda a, o, f: an_agent(a, owner=o, fence=f), agents, st.none() | agents, small)),
    call("agents", "list", st.sampled_from(["", "a"]), small),
    call("agents", "delete", agents),
    call("owners", "put", owners),
    call("owners", "delete", agents),
    call("owners", "list"),
    call("contents", "put", st.builds(Content.of, bodies)),
    call("journal", "append", agents, small, st.lists(entries, max_size=2)),
    call("journal", "read", agents, small, small),
    call("journal", "transcript", agents, st.none() | executions, small),
    call("executions", "insert", records),
    call("executions", "save", records, small, awaiting),
    call("executions", "rest", executions, awaiting),
    call("executions", "of_start", agents, st.sampled_from(["s1", "s2", "s3"])),
    call("executions", "of_request", requests),
    call("executions", "find", st.sampled_from(["", "e", "e2", "x"]), small),
    call("executions", "list", st.none() | agents, st.booleans(), st.just("") | executions, small),
    call("executions", "adoptable", agents, times, small),
    call("tools", "put", st.lists(rows, max_size=2)),
    call("tools", "get", tools),
    call("tools", "of_execution", executions, st.sampled_from([None, "c1", "c2"])),
    call("decisions", "put", st.lists(receipts, max_size=2)),
    call("decisions", "of_request", requests),
    call("intents", "put", st.builds(StopIntent, executions, st.sampled_from(["x", "y"]), times)),
    call("intents", "get", executions),
)


BEGINNING: list[tuple[Any, ...]] = [
    *[("agents", "insert", an_agent(agent)) for agent in AGENTS],
    ("executions", "insert", an_execution("e1", "a", start_id="s1", request=a_request("r1", "e1"))),
    ("executions", "insert", an_execution("e2", "b", start_id="s1", status="completed")),
]


def operation(steps: list[tuple[Any, ...]]) -> Operation[list[Any]]:
    """All steps in one transaction; what each returned."""

    def run(tx: Transaction) -> list[Any]:
        return [getattr(getattr(tx, repository), method)(*arguments) for repository, method, *arguments in steps]

    return run


def told(answer: Answer[list[Any]]) -> Any:
    """What an answer says, without the wording of errors."""
    if isinstance(answer, Committed):
        return [list(value) if isinstance(value, (list, tuple)) else value for value in answer.value]
    assert isinstance(answer, Refused), answer
    busy = (
        (answer.error.execution_id, answer.error.status, answer.error.owner)
        if isinstance(answer.error, AgentBusy)
        else ()
    )
    return type(answer.error), busy


def everything(tx: Transaction) -> list[Any]:
    return [
        [tx.agents.list(), tx.owners.list(), tx.executions.list()],
        [(tx.journal.read(agent), tx.journal.transcript(agent)) for agent in AGENTS],
        [tx.executions.of_start(agent, start) for agent in AGENTS for start in ("s1", "s2", "s3")],
        [(tx.executions.of_request(request), tx.decisions.of_request(request)) for request in REQUESTS],
        [(tx.tools.of_execution(execution), tx.intents.get(execution)) for execution in EXECUTIONS],
        [tx.executions.adoptable("b", now) for now in (0.0, 1.0, 2.0, 3.0)],
    ]


@settings(max_examples=120, deadline=None)
@given(st.lists(st.lists(calls, min_size=1, max_size=3), max_size=25))
def test_both_adapters_answer_alike_and_end_alike(transactions: list[list[tuple[Any, ...]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        twins = (MemoryStore(inline=True), SqliteStore(Path(folder) / "a.db", "NORMAL", inline=True))
        for store in twins:
            store.open()
        try:
            for steps in [BEGINNING, *transactions]:
                first, second = (told(answer_of(store, operation(steps))) for store in twins)
                assert first == second, steps
            first, second = (repr(store.read(everything)) for store in twins)
            assert first == second
        finally:
            for store in twins:
                store.close()
