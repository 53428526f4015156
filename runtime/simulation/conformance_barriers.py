"""The conformance suite of barriers: admission, commits and outcomes of tools on this adapter, and their tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from pawl.runtime.barriers.admission import Admission, Admitted, AlreadyStarted
from pawl.runtime.barriers.answers import Found
from pawl.runtime.barriers.commit import Commit
from pawl.runtime.barriers.tool_outcome import ToolCommit
from pawl.runtime.records.agents import Authority, Owner
from pawl.runtime.records.errors import AgentBusy, AgentClosed, IdConflict, StaleRevision
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalKind
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.simulation.conformance_base import Conformance, refusal
from pawl.runtime.simulation.samples import (
    a_receipt,
    a_tool,
    an_agent,
    an_entry,
    an_execution,
    answer_of,
    done,
)
from pawl.runtime.store.answers import Committed, Superseded
from pawl.runtime.store.ownership import claim
from pawl.runtime.store.port import Store, Transaction

NOW = 100.0


class BarriersConformance(Conformance):
    """Part of `StoreConformance`."""

    # --- admission ---

    def test_an_admission_claims_inserts_and_begins_the_journal_at_once(self, tmp_path: Path) -> None:
        """All repositories in one transaction; the answer says where things stand."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
            admitted = done(store, _admission().run)
            assert (admitted.root.owner, admitted.root.fence, admitted.position) == ("me", 1, 1)
            assert done(store, lambda tx: tx.agents.get("a")) == admitted.root
            record = done(store, lambda tx: tx.executions.get("e"))
            assert record is not None
            assert record.first_position == 1
            assert [entry.body for entry in done(store, lambda tx: tx.journal.read("a"))] == ["hello"]
            assert done(store, lambda tx: tx.contents.get(record.input)) == "hello"

    def test_a_start_is_admitted_once(self, tmp_path: Path) -> None:
        """The same one again is told of, another one under its id conflicts, the next one has to wait."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
            done(store, _admission().run)
            before = _everything(store)
            again = refusal(store, _admission("e2", start_id="start-e").run, AlreadyStarted)
            assert again.record.execution_id == "e"
            refusal(store, _admission("e3", start_id="start-e", text="other").run, IdConflict)
            assert refusal(store, _admission("e4").run, AgentBusy).execution_id == "e"
            assert _everything(store) == before

    def test_an_agent_that_is_closed_or_held_is_not_admitted_to(self, tmp_path: Path) -> None:
        """And nothing of the start is written."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.owners.put(Owner("other", "host", 7, 1.0, NOW + 1)))
            for name, changes in (("held", {"owner": "other"}), ("shut", {"status": "closed"})):
                root = an_agent(name, **changes)
                done(store, _inserting(root))
                refusal(store, _admission(f"e-{name}", name).run, AgentClosed if name == "shut" else AgentBusy)
                assert done(store, _execution(f"e-{name}")) is None

    def test_an_admission_is_read_back_by_its_token(self, tmp_path: Path) -> None:
        """Unwritten, committed, or somebody else's."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
            command = _admission()
            assert done(store, command.read_back).found is Found.UNWRITTEN
            admitted = done(store, command.run)
            reading = done(store, command.read_back)
            assert (reading.found, reading.value) == (Found.COMMITTED, Admitted(admitted.root, 1))
            assert done(store, command.renewed("another").read_back).found is Found.CONFLICT

    # --- commits ---

    def test_a_commit_writes_everything_or_nothing(self, tmp_path: Path) -> None:
        """Record, journal, bodies, tool rows, receipts, agent: where the last of it is refused, none of it is there."""
        with self.opened(tmp_path) as store:
            _begun(store)
            before = _everything(store)
            done(store, lambda tx: tx.decisions.put([a_receipt("t1", at=1.0)]))
            bad = attrs.evolve(_commit(), receipts=(a_receipt("t2"), a_receipt("t1", at=2.0)))
            assert not isinstance(answer_of(store, bad.run), Committed)
            assert _everything(store) == before
            written = done(store, _commit().run)
            assert (written.position, written.root.owner) == (2, "me")
            record, rows = done(store, _execution("e")), done(store, lambda tx: tx.tools.of_execution("e"))
            assert record is not None
            assert (record.revision, record.token) == (1, "token-1")
            assert [row.status for row in rows] == [ToolStatus.PENDING]
            assert done(store, lambda tx: tx.contents.get(Content.of("kept").digest)) == "kept"

    def test_a_commit_is_read_back_by_its_token(self, tmp_path: Path) -> None:
        """Two writes of the same content are told apart."""
        with self.opened(tmp_path) as store:
            _begun(store)
            command = _commit()
            assert done(store, command.read_back).found is Found.UNWRITTEN
            done(store, command.run)
            assert done(store, command.read_back).found is Found.COMMITTED
            assert done(store, command.renewed("another").read_back).found is Found.CONFLICT
            refusal(store, command.renewed("another").run, StaleRevision)

    def test_a_commit_among_others_fails_alone(self, tmp_path: Path) -> None:
        """Its siblings in the same group are committed."""
        with self.opened(tmp_path) as store:
            _begun(store)
            answers: list[Any] = []
            store.submit(_commit().renewed("first").run, answers.append)
            store.submit(_commit().renewed("second").run, answers.append)
            store.submit(_outcome().run, answers.append)
            done(store, lambda tx: tx.journal.position("a"))
            assert [type(answer).__name__ for answer in answers] == ["Committed", "Refused", "Committed"]
            record, row = done(store, _execution("e")), done(store, lambda tx: tx.tools.get("tool-1"))
            assert record is not None
            assert row is not None
            assert (record.token, row.status) == ("first", ToolStatus.COMPLETED)

    def test_a_release_and_its_read_back_agree(self, tmp_path: Path) -> None:
        """Behind it nobody owns the agent, and the token is there."""
        with self.opened(tmp_path) as store:
            _begun(store)
            command = attrs.evolve(_commit(), release=True, bump=True)
            written = done(store, command.run)
            assert (written.root.owner, written.root.revision) == (None, 2)
            assert done(store, command.read_back).found is Found.COMMITTED

    def test_an_outcome_of_a_tool_touches_its_own_row_only(self, tmp_path: Path) -> None:
        """No revision of the execution; its token tells it apart."""
        with self.opened(tmp_path) as store:
            _begun(store)
            done(store, _commit().run)
            before = done(store, _execution("e"))
            command = _outcome()
            assert done(store, command.read_back).found is Found.UNWRITTEN
            done(store, command.run)
            assert done(store, command.read_back).found is Found.COMMITTED
            assert done(store, command.renewed("another").read_back).found is Found.CONFLICT
            assert done(store, _execution("e")) == before

    def test_whoever_was_taken_over_writes_and_reads_back_nothing(self, tmp_path: Path) -> None:
        """The answer names the new owner."""
        with self.opened(tmp_path) as store:
            _begun(store)
            done(store, lambda tx: tx.tools.put([a_tool(attempt=1)]))
            done(store, claim("a", "other", NOW, lambda _: True))
            before = _everything(store)
            for command in (_commit(), _outcome()):
                assert answer_of(store, command.run) == Superseded("other")
                assert answer_of(store, command.read_back) == Superseded("other")
            assert _everything(store) == before


def _admission(
    execution_id: str = "e", agent_id: str = "a", *, start_id: str | None = None, text: str = "hello"
) -> Admission:
    body = Content.of(text)
    record = an_execution(execution_id, agent_id, input=body.digest, start_id=start_id or f"start-{execution_id}")
    entry = an_entry(text, JournalKind.INPUT_RECEIVED, execution_id=execution_id)
    return Admission("me", NOW, lambda _: False, record, body, None, entry)


def _begun(store: Store) -> None:
    done(store, lambda tx: tx.agents.insert(an_agent()))
    done(store, _admission().run)


def _commit() -> Commit:
    record = replace(_admission().record, first_position=1, revision=1, token="token-1", status="active")
    entry = an_entry("so", JournalKind.ASSISTANT_MESSAGE)
    kept = (Content.of("kept"),)
    authority, before = Authority("me", 1), (0, "token-0")
    return Commit("tool_dispatch", authority, record, before, 1, (entry,), kept, (a_tool(attempt=1),))


def _outcome() -> ToolCommit:
    body = Content.of("done")
    row = a_tool(attempt=1, status=ToolStatus.COMPLETED, token="outcome-1", output=body.digest)
    return ToolCommit("a", Authority("me", 1), row, None, body)


def _inserting(root: Any) -> Any:
    return lambda tx: tx.agents.insert(root)


def _execution(execution_id: str) -> Any:
    return lambda tx: tx.executions.get(execution_id)


def _everything(store: Store) -> Any:
    def read(tx: Transaction) -> Any:
        return (
            list(tx.agents.list()),
            list(tx.executions.list()),
            list(tx.journal.read("a")),
            list(tx.tools.of_execution("e")),
            tx.upkeep.counts()["contents"],
        )

    return store.read(read)
