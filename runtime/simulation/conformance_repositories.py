"""The conformance suite of the other repositories: agents, leases, contents, journal, tools, decisions, intents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pawl.runtime.records.agents import Owner
from pawl.runtime.records.approvals import Verdict
from pawl.runtime.records.errors import (
    AgentExists,
    AgentNotFound,
    AlreadyDecided,
    CodecError,
    ExecutionNotFound,
    IdConflict,
    InvalidArguments,
    StoreCorrupt,
    WrongAgent,
)
from pawl.runtime.records.executions import StopIntent
from pawl.runtime.records.journal import Content, JournalKind
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.simulation.conformance_base import Conformance, refusal, using
from pawl.runtime.simulation.samples import (
    a_receipt,
    a_request,
    a_tool,
    an_agent,
    an_entry,
    an_error,
    an_execution,
    done,
)
from pawl.runtime.store.port import Transaction


class RepositoriesConformance(Conformance):
    """Part of `StoreConformance`."""

    # --- agents and leases ---

    def test_an_agent_is_read_as_it_was_saved_last(self, tmp_path: Path) -> None:
        """By id; inserting it again, or saving what is not there, is refused."""
        changed = an_agent("a", owner="me", fence=3, revision=2, answers=4, status="closed")
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
            refusal(store, lambda tx: tx.agents.insert(an_agent()), AgentExists)
            done(store, lambda tx: tx.agents.save(changed))
            assert done(store, lambda tx: tx.agents.get("a")) == changed
            assert done(store, lambda tx: tx.agents.get("b")) is None
            refusal(store, lambda tx: tx.agents.save(an_agent("b")), AgentNotFound)

    def test_agents_are_listed_in_order_of_id(self, tmp_path: Path) -> None:
        """Page by page."""
        with self.opened(tmp_path) as store:
            for agent_id in ("c", "a", "ä", "b"):
                done(store, using(lambda tx, agent_id: tx.agents.insert(an_agent(agent_id)), agent_id))
            listed = [root.agent_id for root in done(store, lambda tx: tx.agents.list())]
            assert listed == ["a", "b", "c", "ä"]
            page = done(store, lambda tx: tx.agents.list("a", 2))
            assert [root.agent_id for root in page] == ["b", "c"]

    def test_deleting_an_agent_removes_all_that_is_its_own(self, tmp_path: Path) -> None:
        """And nothing of another; the id is free again."""
        with self.opened(tmp_path) as store:
            for agent_id in ("a", "b"):
                done(store, using(_inhabit, agent_id))
            kept = done(store, lambda tx: _found(tx, "b"))
            done(store, lambda tx: tx.agents.delete("a"))
            done(store, lambda tx: tx.agents.delete("none"))
            assert done(store, lambda tx: _found(tx, "a")) == (None, None, None, [], [], [], None, [])
            assert done(store, lambda tx: _found(tx, "b")) == kept
            done(store, lambda tx: _inhabit(tx, "a"))

    def test_a_lease_is_read_as_it_was_put_last(self, tmp_path: Path) -> None:
        """Until it is deleted."""
        with self.opened(tmp_path) as store:
            for expires in (10.0, 20.5):
                owner = Owner("me", "host", 7, 123.25, expires)
                done(store, using(lambda tx, owner: tx.owners.put(owner), owner))
                assert done(store, lambda tx: tx.owners.get("me")) == owner
            done(store, lambda tx: tx.owners.put(Owner("a", "host", 8, 0.0, 1.0)))
            assert [owner.owner_id for owner in done(store, lambda tx: tx.owners.list())] == ["a", "me"]
            done(store, lambda tx: tx.owners.delete("me"))
            done(store, lambda tx: tx.owners.delete("me"))
            assert done(store, lambda tx: tx.owners.get("me")) is None

    # --- contents and journal ---

    def test_a_body_is_read_by_its_digest(self, tmp_path: Path) -> None:
        """Whatever text it is."""
        unusual = ["nul \x00 inside", "schön \u2028 \U0001f980", "scho\u0308n", " ends with space ", "a\r\nb\rc\n"]
        bodies = ["", "hello", *unusual, "x" * 1_000_000]
        with self.opened(tmp_path) as store:
            for body in bodies * 2:
                done(store, using(lambda tx, body: tx.contents.put(Content.of(body)), body))
            for body in bodies:
                name = Content.of(body).digest
                assert done(store, using(lambda tx, name: tx.contents.get(name), name)) == body

    def test_a_body_that_is_missing_or_wrong_is_not_read(self, tmp_path: Path) -> None:
        """And what is no digest is refused."""
        wrong = Content(Content.of("right").digest, "wrong")
        with self.opened(tmp_path) as store:
            refusal(store, lambda tx: tx.contents.get(wrong.digest), StoreCorrupt)
            done(store, lambda tx: tx.contents.put(wrong))
            refusal(store, lambda tx: tx.contents.get(wrong.digest), StoreCorrupt)
            for name in ("", "sha256:", "sha256:zz", "md5:" + "0" * 64, "0" * 64):
                content = Content(name, "text")
                refusal(store, using(lambda tx, content: tx.contents.put(content), content), InvalidArguments)

    def test_the_journal_is_read_as_it_was_appended(self, tmp_path: Path) -> None:
        """In contiguous positions from 1, bodies included, from anywhere."""
        meta = {"calls": [{"id": "t", "n": 1.5, "deep": {"ä": None}}]}
        entries = [
            an_entry("hello", JournalKind.INPUT_RECEIVED),
            an_entry(None, JournalKind.LLM_CALL_RECORDED, meta=meta),
            an_entry("hello", JournalKind.ASSISTANT_MESSAGE, meta=meta),
        ]
        with self.opened(tmp_path) as store:
            done(store, lambda tx: _start(tx, "a", "e"))
            done(store, lambda tx: tx.journal.append("a", 0, entries[:1]))
            done(store, lambda tx: tx.journal.append("a", 1, entries[1:]))
            done(store, lambda tx: tx.journal.append("a", 3, []))
            records = done(store, lambda tx: tx.journal.read("a"))
            assert [(r.position, r.kind, r.execution_id, r.at, r.body, r.meta) for r in records] == [
                (place, e.kind, "e", e.at, e.content.body if e.content else None, e.meta)
                for place, e in enumerate(entries, 1)
            ]
            assert done(store, lambda tx: tx.journal.read("a", 1, 1)) == records[1:2]
            assert done(store, lambda tx: tx.journal.read("a", 3)) == []
            assert done(store, lambda tx: tx.journal.read("none")) == []

    def test_the_journal_has_no_gap_and_no_fork(self, tmp_path: Path) -> None:
        """A position is written once, after the one before it."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: _start(tx, "a", "e"))
            done(store, lambda tx: tx.journal.append("a", 0, [an_entry(), an_entry()]))
            for position in (0, 1, 3):
                refusal(
                    store, using(lambda tx, at: tx.journal.append("a", at, [an_entry("x")]), position), StoreCorrupt
                )
            assert len(done(store, lambda tx: tx.journal.read("a"))) == 2

    def test_a_journal_record_belongs_to_an_agent_and_an_execution(self, tmp_path: Path) -> None:
        """And its meta is JSON."""
        stranger, unfit = an_entry(execution_id="none"), an_entry(meta={"a": (1,)})
        with self.opened(tmp_path) as store:
            done(store, lambda tx: _start(tx, "a", "e"))
            refusal(store, lambda tx: tx.journal.append("none", 0, [an_entry()]), AgentNotFound)
            refusal(store, lambda tx: tx.journal.append("a", 0, [stranger]), ExecutionNotFound)
            done(store, lambda tx: _start(tx, "b", "of-b"))
            refusal(store, lambda tx: tx.journal.append("a", 0, [an_entry(execution_id="of-b")]), WrongAgent)
            refusal(store, lambda tx: tx.journal.append("a", 0, [unfit]), CodecError)

    def test_a_run_sees_the_messages_of_runs_that_ended_well_and_its_own(self, tmp_path: Path) -> None:
        """No other kinds of records, and no other runs."""
        seen = {"completed", "rejected"}
        statuses = ["completed", "failed", "rejected", "cancelled", "blocked", "active"]
        with self.opened(tmp_path) as store:
            for position, status in enumerate(statuses):
                done(store, using(_run_with_messages, position, status))
            for own in (None, "failed", "active"):
                records = done(store, using(lambda tx, own: tx.journal.transcript("a", own), own))
                expected = [status for status in statuses if status in seen or status == own for _ in range(3)]
                assert [record.execution_id for record in records] == expected
            later = done(store, lambda tx: tx.journal.transcript("a", None, 4))
            assert [record.execution_id for record in later] == ["rejected"] * 3
            assert [record.body for record in later[:3]] == ["user", "assistant", "tool"]
            assert done(store, lambda tx: tx.journal.transcript("none")) == []

    # --- tools, decisions, intents ---

    def test_tool_rows_keep_the_order_of_their_creation(self, tmp_path: Path) -> None:
        """Then of their index; of all model answers, or of one."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: _start(tx, "a", "e"))
            first = [a_tool("z", index=0), a_tool("b", index=1)]
            second = [a_tool("a", llm_call_id="call-2"), a_tool("y", llm_call_id="call-2", index=1)]
            done(store, lambda tx: tx.tools.put(first[::-1]))
            done(store, lambda tx: tx.tools.put(second))
            changed = a_tool("z", status=ToolStatus.FAILED, error=an_error(), attempt=2, token="t", duration=0.25)
            done(store, lambda tx: tx.tools.put([changed]))
            assert done(store, lambda tx: tx.tools.of_execution("e")) == [changed, first[1], *second]
            assert done(store, lambda tx: tx.tools.of_execution("e", "call-2")) == second
            assert done(store, lambda tx: tx.tools.of_execution("e", "none")) == []
            assert done(store, lambda tx: tx.tools.of_execution("none")) == []
            assert done(store, lambda tx: tx.tools.get("z")) == changed
            assert done(store, lambda tx: tx.tools.get("none")) is None
            refusal(store, lambda tx: tx.tools.put([a_tool(execution_id="none")]), ExecutionNotFound)
            refusal(store, lambda tx: tx.tools.put([a_tool("z", llm_call_id="call-2")]), IdConflict)

    def test_an_item_is_decided_once(self, tmp_path: Path) -> None:
        """The same receipt again is nothing; another one is refused with how it was decided."""
        first, second = a_receipt("t1", at=12.0, edit={"cents": 5}), a_receipt("t2", at=11.0)
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.decisions.put([first]))
            done(store, lambda tx: tx.decisions.put([first, second]))
            other = a_receipt("t1", at=13.0, verdict=Verdict.REJECTED)
            fresh = a_receipt("t3")
            error = refusal(store, lambda tx: tx.decisions.put([fresh, other]), AlreadyDecided)
            assert (error.tool_call_id, error.decision) == ("t1", "approved")
            assert done(store, lambda tx: tx.decisions.of_request("request")) == [second, first]
            done(store, lambda tx: tx.decisions.put([a_receipt("t1", "request-2")]))
            assert done(store, lambda tx: tx.decisions.of_request("none")) == []

    def test_the_first_stop_intent_stays(self, tmp_path: Path) -> None:
        """Whoever comes later is told of it."""
        first, later = StopIntent("e", "cancel_requested", 1.0), StopIntent("e", "deadline_exceeded", 2.0)
        with self.opened(tmp_path) as store:
            assert done(store, lambda tx: tx.intents.get("e")) is None
            assert done(store, lambda tx: tx.intents.put(first)) == first
            assert done(store, lambda tx: tx.intents.put(later)) == first
            assert done(store, lambda tx: tx.intents.get("e")) == first


def _start(tx: Transaction, agent_id: str, execution_id: str, **changes: Any) -> None:
    if tx.agents.get(agent_id) is None:
        tx.agents.insert(an_agent(agent_id))
    tx.executions.insert(an_execution(execution_id, agent_id, **changes))


def _run_with_messages(tx: Transaction, number: int, status: str) -> None:
    _start(tx, "a", status, status=status, start_id=status)
    kinds = [
        (JournalKind.EXTERNAL_MESSAGE, "user"),
        (JournalKind.TOOL_RESULT, "result"),
        (JournalKind.ASSISTANT_MESSAGE, "assistant"),
        (JournalKind.TOOL_MESSAGE, "tool"),
    ]
    entries = [an_entry(text, kind, execution_id=status) for kind, text in kinds]
    tx.journal.append("a", 4 * number, entries)


def _inhabit(tx: Transaction, agent_id: str) -> None:
    execution, request = f"e-{agent_id}", f"r-{agent_id}"
    _start(tx, agent_id, execution, request=a_request(request))
    tx.journal.append(agent_id, 0, [an_entry(execution_id=execution)])
    tx.tools.put([a_tool(f"tool-{agent_id}", execution)])
    tx.decisions.put([a_receipt("t1", request)])
    tx.intents.put(StopIntent(execution, "cancel_requested", 1.0))


def _found(tx: Transaction, agent_id: str) -> tuple[Any, ...]:
    execution, request = f"e-{agent_id}", f"r-{agent_id}"
    return (
        tx.agents.get(agent_id),
        tx.executions.get(execution),
        tx.executions.of_start(agent_id, f"start-{execution}"),
        list(tx.journal.read(agent_id)),
        list(tx.tools.of_execution(execution)),
        list(tx.decisions.of_request(request)),
        tx.intents.get(execution),
        [record.execution_id for record, _ in tx.executions.list(agent_id)],
    )
