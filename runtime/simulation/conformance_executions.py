"""The conformance suite of execution records: one open run an agent, revisions, rests, and what can be adopted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pawl.runtime.records.agents import Owner
from pawl.runtime.records.errors import AgentBusy, AgentNotFound, ExecutionNotFound, IdConflict
from pawl.runtime.records.frozen import replace
from pawl.runtime.simulation.conformance_base import Conformance, refusal, using
from pawl.runtime.simulation.samples import a_full_execution, a_request, an_agent, an_execution, done
from pawl.runtime.store.port import Store


class ExecutionsConformance(Conformance):
    """Part of `StoreConformance`."""

    def test_a_record_is_read_as_it_was_written(self, tmp_path: Path) -> None:
        """With and without its optional parts."""
        with self.opened(tmp_path) as store:
            _agents(store, "a", "b")
            for record in (an_execution("plain", "a"), a_full_execution("full", "b")):
                done(store, using(lambda tx, record: tx.executions.insert(record), record))
                assert done(store, using(lambda tx, record: tx.executions.get(record.execution_id), record)) == record
            assert done(store, lambda tx: tx.executions.get("none")) is None

    def test_an_agent_has_one_open_execution(self, tmp_path: Path) -> None:
        """The error says which; once that has ended there may be another."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent(owner="me")))
            done(store, lambda tx: tx.executions.insert(an_execution("e1")))
            busy = refusal(store, lambda tx: tx.executions.insert(an_execution("e2")), AgentBusy)
            assert (busy.execution_id, busy.status, busy.owner) == ("e1", "preparing", "me")
            ended = an_execution("e1", status="failed", revision=1)
            assert done(store, lambda tx: tx.executions.save(ended, 0))
            done(store, lambda tx: tx.executions.insert(an_execution("e2")))
            again = replace(ended, status="active", revision=2)
            assert refusal(store, lambda tx: tx.executions.save(again, 1), AgentBusy).execution_id == "e2"
            assert done(store, lambda tx: tx.executions.get("e1")) == ended

    def test_a_status_that_is_not_known_counts_as_open(self, tmp_path: Path) -> None:
        """Fail closed."""
        with self.opened(tmp_path) as store:
            _agents(store, "a")
            done(store, lambda tx: tx.executions.insert(an_execution("e1", status="dreaming")))
            assert refusal(store, lambda tx: tx.executions.insert(an_execution("e2")), AgentBusy).status == "dreaming"

    def test_an_id_is_used_once(self, tmp_path: Path) -> None:
        """Execution ids everywhere, start ids by agent."""
        with self.opened(tmp_path) as store:
            _agents(store, "a", "b")
            ended = an_execution("e1", status="completed")
            done(store, lambda tx: tx.executions.insert(ended))
            refusal(store, lambda tx: tx.executions.insert(an_execution("e1", "b")), IdConflict)
            refusal(store, lambda tx: tx.executions.insert(an_execution("e2", start_id="start-e1")), IdConflict)
            done(store, lambda tx: tx.executions.insert(an_execution("e2", "b", start_id="start-e1")))
            assert done(store, lambda tx: tx.executions.of_start("a", "start-e1")) == ended
            assert done(store, lambda tx: tx.executions.of_start("a", "start-e2")) is None
            assert done(store, lambda tx: tx.executions.of_start("none", "start-e1")) is None

    def test_an_execution_needs_its_agent(self, tmp_path: Path) -> None:
        """Which is inserted first."""
        with self.opened(tmp_path) as store:
            refusal(store, lambda tx: tx.executions.insert(an_execution()), AgentNotFound)

    def test_a_record_is_saved_at_its_expected_revision_only(self, tmp_path: Path) -> None:
        """Otherwise nothing changes, and the operation is told."""
        with self.opened(tmp_path) as store:
            _agents(store, "a")
            done(store, lambda tx: tx.executions.insert(an_execution()))
            first = an_execution(revision=1, token="token-1", phase="calling_llm")
            assert done(store, lambda tx: tx.executions.save(first, 0)) is True
            late = an_execution(revision=1, token="late", status="suspended")
            assert done(store, lambda tx: tx.executions.save(late, 0)) is False
            assert done(store, lambda tx: tx.executions.save(an_execution("none"), 0)) is False
            assert done(store, lambda tx: tx.executions.get("e")) == first

    def test_an_execution_keeps_its_agent_its_start_and_its_birth(self, tmp_path: Path) -> None:
        """Whatever else a save changes."""
        with self.opened(tmp_path) as store:
            _agents(store, "a", "b")
            done(store, lambda tx: tx.executions.insert(an_execution()))
            changes: list[dict[str, Any]] = [
                {"agent_id": "b"},
                {"agent_id": "none"},
                {"start_id": "x"},
                {"created_at": 11.0},
            ]
            for change in changes:
                record = replace(an_execution(revision=1), **change)
                refusal(store, using(lambda tx, record: tx.executions.save(record, 0), record), IdConflict)
            assert done(store, lambda tx: tx.executions.list()) == [(an_execution(), None)]

    def test_a_request_finds_the_execution_that_has_it_now(self, tmp_path: Path) -> None:
        """Not the one that had it."""
        with self.opened(tmp_path) as store:
            _agents(store, "a")
            done(store, lambda tx: tx.executions.insert(an_execution()))
            for revision, request in enumerate(("r1", "r2", "r1", None), 1):
                record = an_execution(revision=revision, request=a_request(request) if request else None)
                assert done(store, using(lambda tx, record: tx.executions.save(record, record.revision - 1), record))
                for name in ("r1", "r2", "r3"):
                    found = done(store, using(lambda tx, name: tx.executions.of_request(name), name))
                    assert found == (record if name == request else None)

    def test_a_rest_is_noted_and_ends_with_the_next_save(self, tmp_path: Path) -> None:
        """Without a change of the record."""
        with self.opened(tmp_path) as store:
            _agents(store, "a")
            record = an_execution()
            done(store, lambda tx: tx.executions.insert(record))
            assert done(store, lambda tx: tx.executions.list()) == [(record, None)]
            done(store, lambda tx: tx.executions.rest("e", "resolution"))
            assert done(store, lambda tx: tx.executions.list()) == [(record, "resolution")]
            after = replace(record, revision=1)
            assert done(store, lambda tx: tx.executions.save(after, 0, "approval"))
            assert done(store, lambda tx: tx.executions.list()) == [(after, "approval")]
            assert done(store, lambda tx: tx.executions.save(replace(after, revision=2), 1))
            assert done(store, lambda tx: tx.executions.list()) == [(replace(after, revision=2), None)]
            refusal(store, lambda tx: tx.executions.rest("none", None), ExecutionNotFound)

    def test_ids_are_found_by_prefix(self, tmp_path: Path) -> None:
        """In order, no more than asked for; the prefix is no pattern."""
        ids = ["ab", "abc", "abd", "b%", "b_", "ä"]
        with self.opened(tmp_path) as store:
            for execution_id in ids:
                _ended(store, execution_id, execution_id, 1.0)
            for prefix, found in (("ab", ids[:3]), ("b_", ["b_"]), ("b", ["b%", "b_"]), ("ä", ["ä"]), ("x", [])):
                assert done(store, using(lambda tx, prefix: tx.executions.find(prefix), prefix)) == found
            assert done(store, lambda tx: tx.executions.find("", 2)) == ids[:2]

    def test_records_are_listed_in_order_of_creation(self, tmp_path: Path) -> None:
        """Page by page, all or of one agent, all or the open ones."""
        with self.opened(tmp_path) as store:
            for execution_id, agent_id, at in (("z", "a", 1.0), ("c", "a", 3.0), ("b", "b", 2.0), ("a", "b", 2.0)):
                _ended(store, execution_id, agent_id, at)
            for agent_id in ("a", "b"):
                record = an_execution(f"open-{agent_id}", agent_id, created_at=9.0)
                done(store, using(lambda tx, record: tx.executions.insert(record), record))
            order = ["z", "a", "b", "c", "open-a", "open-b"]
            assert _listed(store) == order
            assert _listed(store, limit=2) == order[:2]
            assert _listed(store, after="a", limit=3) == order[2:5]
            assert _listed(store, agent_id="a") == ["z", "c", "open-a"]
            assert _listed(store, agent_id="a", after="z", limit=1) == ["c"]
            assert _listed(store, open_only=True) == ["open-a", "open-b"]
            assert _listed(store, agent_id="b", open_only=True) == ["open-b"]
            assert _listed(store, agent_id="none") == []
            assert _listed(store, after="open-b") == []
            refusal(store, lambda tx: tx.executions.list(after="none"), ExecutionNotFound)
            refusal(store, lambda tx: tx.executions.survey(after="none"), ExecutionNotFound)

    def test_what_nobody_drives_can_be_adopted(self, tmp_path: Path) -> None:
        """Of no owner, of one without a lease, of one whose lease ran out; not what is mine, alive, or has ended."""
        with self.opened(tmp_path) as store:
            for owner_id, expires in (("me", 0.0), ("alive", 100.1), ("late", 100.0)):
                lease = Owner(owner_id, "host", 1, 1.0, expires)
                done(store, using(lambda tx, lease: tx.owners.put(lease), lease))
            for number, owner in enumerate((None, "me", "alive", "late", "gone")):
                done(store, using(lambda tx, owner: tx.agents.insert(an_agent(f"of-{owner}", owner=owner)), owner))
                record = an_execution(f"e-{owner}", f"of-{owner}", created_at=10.0 - number)
                done(store, using(lambda tx, record: tx.executions.insert(record), record))
            _ended(store, "ended", "of-nobody", 1.0)
            assert _adoptable(store, 100.0) == ["e-gone", "e-late", "e-None"]
            assert _adoptable(store, 99.9) == ["e-gone", "e-None"]
            assert _adoptable(store, 100.0, limit=1) == ["e-gone"]
            assert _adoptable(store, 100.0, after="e-gone") == ["e-late", "e-None"]
            assert _adoptable(store, 100.0, after="e-None") == []
            refusal(store, lambda tx: tx.executions.adoptable("me", 100.0, after="none"), ExecutionNotFound)

    def test_what_waits_can_be_adopted_when_its_time_has_come(self, tmp_path: Path) -> None:
        """That of the run, or while it waits for approval, that of the request."""
        with self.opened(tmp_path) as store:
            for name, deadline, expires in (("never", None, None), ("run", 50.0, 90.0), ("request", 90.0, 50.0)):
                record = an_execution(name, name, deadline=deadline, request=a_request(name, expires_at=expires))
                done(store, using(lambda tx, record: tx.agents.insert(an_agent(record.agent_id)), record))
                done(store, using(lambda tx, record: tx.executions.insert(record), record))
                done(store, using(lambda tx, record: tx.executions.rest(record.execution_id, "approval"), record))
            assert _adoptable(store, 49.9) == []
            assert _adoptable(store, 50.0) == ["request", "run"]
            for name in ("never", "run", "request"):
                done(store, using(lambda tx, name: tx.executions.rest(name, "resolution"), name))
            assert _adoptable(store, 50.0) == ["run"]
            done(store, lambda tx: tx.executions.rest("never", None))
            assert _adoptable(store, 0.0) == ["never"]


def _agents(store: Store, *agent_ids: str) -> None:
    for agent_id in agent_ids:
        done(store, using(lambda tx, agent_id: tx.agents.insert(an_agent(agent_id)), agent_id))


def _ended(store: Store, execution_id: str, agent_id: str, at: float) -> None:
    if done(store, lambda tx: tx.agents.get(agent_id)) is None:
        _agents(store, agent_id)
    done(store, lambda tx: tx.executions.insert(an_execution(execution_id, agent_id, created_at=at, status="failed")))


def _listed(
    store: Store, agent_id: str | None = None, open_only: bool = False, after: str = "", limit: int = 100
) -> list[str]:
    found = done(store, lambda tx: tx.executions.list(agent_id, open_only, after, limit))
    assert done(store, lambda tx: tx.executions.survey(agent_id, open_only, after, limit)) == found
    return [record.execution_id for record, _ in found]


def _adoptable(store: Store, now: float, limit: int = 100, after: str = "") -> list[str]:
    found = done(store, lambda tx: tx.executions.adoptable("me", now, limit, after))
    return [record.execution_id for record in found]
