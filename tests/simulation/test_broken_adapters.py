"""Ways in which a store adapter can be broken, and the test of the conformance suite that catches each."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from pawl.runtime.records.errors import PawlError, StoreError, StoreUnavailable
from pawl.runtime.simulation.conformance import store_conformance
from pawl.runtime.store import memory_tables
from pawl.runtime.store.answers import Answer, Committed, Refused, Superseded, Unavailable, Uncertain
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.memory_tables import MemoryTransaction
from pawl.runtime.store.memory_upkeep import MemoryUpkeep

Break = Callable[[pytest.MonkeyPatch], None]

_Executions, _Journal, _Agents = memory_tables._Executions, memory_tables._Journal, memory_tables._Agents
_Tools, _Decisions, _Intents = memory_tables._Tools, memory_tables._Decisions, memory_tables._Intents
_Owners, _Contents = memory_tables._Owners, memory_tables._Contents


def instead(kind: Any, name: str, make: Callable[[Any], Any]) -> Break:
    """A method is another one, made of the right one."""
    return lambda patch: patch.setattr(kind, name, make(getattr(kind, name)))


def told(change: Callable[[Answer[Any]], Answer[Any]]) -> Break:
    """Another answer is given."""
    return instead(MemoryStore, "_run", lambda run: lambda self, operation: change(run(self, operation)))


def kept(*tables: str) -> Break:
    """What a refused operation wrote into these tables stays."""

    def make(undo: Any) -> Any:
        def some(self: MemoryTransaction) -> None:
            kept = [getattr(self._tables, table) for table in tables]
            left = [row for row in self._tables.undo if not any(row[0] is table for table in kept)]
            self._tables.undo[:] = left
            undo(self)

        return some

    return instead(MemoryTransaction, "undo", make)


def no_rollback(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryTransaction, "undo", MemoryTransaction.keep)


def read_as(change: Callable[[Any], Any]) -> Break:
    """Records are read as something else."""

    def brk(patch: pytest.MonkeyPatch) -> None:
        decode = memory_tables.decode
        patch.setattr(memory_tables, "decode", lambda text, kind=None: change(decode(text, kind)))

    return brk


def _numbers(record: Any, change: Callable[[Any], Any]) -> Any:
    fields = {name: change(value) for name, value in _fields(record).items() if type(value) in (int, float)}
    return attrs.evolve(record, **fields) if fields and attrs.has(type(record)) else record


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in attrs.fields(type(record))}


def _any_revision(save: Any) -> Any:
    def saved(self: Any, record: Any, expected: int, awaiting: Any = None) -> bool:
        before = self.get(record.execution_id)
        return bool(save(self, record, before.revision if before is not None else expected, awaiting))

    return saved


def _old_fence(save: Any) -> Any:
    def saved(self: Any, root: Any) -> None:
        before = self.get(root.agent_id)
        save(self, attrs.evolve(root, fence=before.fence) if before is not None else root)

    return saved


def _wherever(append: Any) -> Any:
    return lambda self, agent_id, position, entries: append(self, agent_id, self.position(agent_id), entries)


def _many_open(write: Any) -> Any:
    def written(self: Any, record: Any, awaiting: Any) -> None:
        self._tables.open_of.pop(record.agent_id, None)
        write(self, record, awaiting)

    return written


def _reversed(name: str) -> Callable[[Any], Any]:
    return lambda method: lambda self, *where, **more: list(reversed(method(self, *where, **more)))


def _reading_writes(read: Any) -> Any:
    def wrote(self: MemoryStore, operation: Any) -> Any:
        value = operation(self._transaction)
        self._transaction.keep()
        return value

    return wrote


def _overwrites(table: str, key: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def make(put: Any) -> Any:
        def forced(self: Any, given: Any) -> Any:
            for one in given if isinstance(given, list | tuple) else (given,):
                getattr(self._tables, table).pop(key(one), None)
            return put(self, given)

        return forced

    return make


def _lower_watermark(forget: Any) -> Any:
    def lower(self: Any, agent_id: str, upto: int, *more: Any) -> Any:
        said = forget(self, agent_id, upto, *more)
        self._tables.put(self._tables.heads, agent_id, self._tables.heads[agent_id] - upto)
        return said

    return lower


def _every_body(self: Any, *_: Any) -> Any:
    return list(self._tables.contents)


def _any_agent(self: Any, agent_id: str, position: int, entries: Any) -> None:
    for place, entry in enumerate(entries, position + 1):
        self._tables.put(
            self._tables.journal, (agent_id, place), (entry.kind.value, entry.execution_id, entry.at, None, "{}")
        )
    self._tables.put(self._tables.heads, agent_id, position + len(entries))


class _NeverRaised(Exception):
    pass


def _answering_twice(serve: Any) -> Any:
    def twice(self: MemoryStore, job: Any, take: Any) -> None:
        serve(self, (job[0], lambda said: (job[1](said), job[1](said))), take)

    return twice


def _silent(serve: Any) -> Any:
    def silent(self: MemoryStore, job: Any, take: Any) -> None:
        serve(self, (job[0], lambda said: None if isinstance(said, Refused) else job[1](said)), take)

    return silent


def _anew(open_: Any) -> Any:
    def anew(self: MemoryStore) -> None:
        self._transaction = MemoryTransaction()
        open_(self)

    return anew


BREAKS: dict[str, tuple[Break, str]] = {
    "drops the fence": (instead(_Agents, "save", _old_fence), "a_commit_among_others_fails_alone"),
    "ignores the expected revision": (
        instead(_Executions, "save", _any_revision),
        "a_record_is_saved_at_its_expected_revision_only",
    ),
    "never rolls back": (no_rollback, "a_commit_writes_everything_or_nothing"),
    "rolls back all but the journal": (
        kept("journal", "heads"),
        "a_fenced_operation_is_superseded_and_leaves_nothing_behind",
    ),
    "rolls back all but the rows of tools": (kept("tools", "tools_of"), "a_commit_writes_everything_or_nothing"),
    "rolls back all but bodies": (kept("contents"), "a_commit_writes_everything_or_nothing"),
    "rolls back all but the agent": (kept("agents"), "a_fenced_operation_is_superseded_and_leaves_nothing_behind"),
    "says unavailable where it refuses": (
        told(lambda said: Unavailable(StoreUnavailable("?")) if isinstance(said, Refused) else said),
        "a_body_that_is_missing_or_wrong_is_not_read",
    ),
    "says refused where it is unavailable": (
        told(lambda said: Refused(StoreError("?")) if isinstance(said, Unavailable) else said),
        "an_operation_that_says_unavailable_is_answered_unavailable",
    ),
    "says refused where somebody else owns the agent": (
        told(lambda said: Refused(PawlError("?")) if isinstance(said, Superseded) else said),
        "a_fenced_operation_is_superseded_and_leaves_nothing_behind",
    ),
    "says uncertain where it committed": (
        told(lambda said: Uncertain(StoreError("?")) if isinstance(said, Committed) else said),
        "a_body_is_read_by_its_digest",
    ),
    "says committed where it refuses": (
        told(lambda said: Committed(None) if isinstance(said, Refused) else said),
        "a_body_that_is_missing_or_wrong_is_not_read",
    ),
    "forgets what an operation returned": (
        told(lambda said: Committed(None) if isinstance(said, Committed) else said),
        "a_body_is_read_by_its_digest",
    ),
    "appends wherever the journal ends": (instead(_Journal, "append", _wherever), "the_journal_has_no_gap_and_no_fork"),
    "reads one record too many": (
        instead(
            _Journal,
            "read",
            lambda read: lambda self, agent, after=0, limit=1000: read(self, agent, max(0, after - 1), limit),
        ),
        "the_journal_is_read_as_it_was_appended",
    ),
    "ignores how many are wanted": (
        instead(_Journal, "read", lambda read: lambda self, agent, after=0, limit=1000: read(self, agent, after)),
        "the_journal_is_read_as_it_was_appended",
    ),
    "shows a run what failed runs said": (
        lambda patch: patch.setattr(memory_tables, "VISIBLE", _Everything()),
        "a_run_sees_the_messages_of_runs_that_ended_well_and_its_own",
    ),
    "takes two open executions": (
        instead(_Executions, "_write", _many_open),
        "a_status_that_is_not_known_counts_as_open",
    ),
    "takes an unknown status for an ended one": (
        lambda patch: patch.setattr(
            memory_tables, "is_open", lambda record: str(record.status) in ("active", "suspended", "preparing")
        ),
        "a_status_that_is_not_known_counts_as_open",
    ),
    "takes a start id twice": (
        instead(_Executions, "insert", _overwrites("starts", lambda one: (one.agent_id, one.start_id))),
        "an_id_is_used_once",
    ),
    "takes an execution id twice": (
        instead(_Executions, "insert", _overwrites("executions", lambda one: one.execution_id)),
        "an_id_is_used_once",
    ),
    "keeps a rest after the next save": (
        instead(
            _Executions,
            "save",
            lambda save: (
                lambda self, record, expected, awaiting=None: save(
                    self, record, expected, awaiting or self._tables.executions[record.execution_id][1]
                )
            ),
        ),
        "a_record_is_saved_at_its_expected_revision_only",
    ),
    "lets a live owner's work be adopted": (
        instead(_Executions, "_free", lambda _: lambda *_: True),
        "what_nobody_drives_can_be_adopted",
    ),
    "lets a dead owner's work lie": (
        instead(
            _Executions, "_free", lambda free: lambda self, agent_id, owner_id, now: free(self, agent_id, owner_id, 0.0)
        ),
        "what_nobody_drives_can_be_adopted",
    ),
    "lists in no order": (instead(_Executions, "list", _reversed("list")), "records_are_listed_in_order_of_creation"),
    "finds what contains the words": (
        instead(
            _Executions,
            "find",
            lambda _: (
                lambda self, prefix, limit=20: sorted(key for key in self._tables.executions if prefix in key)[:limit]
            ),
        ),
        "ids_are_found_by_prefix",
    ),
    "turns the rows of tools around": (
        instead(_Tools, "of_execution", _reversed("of_execution")),
        "tool_rows_keep_the_order_of_their_creation",
    ),
    "decides an item again": (
        instead(_Decisions, "put", _overwrites("decisions", lambda one: (one.request_id, one.decision.tool_call_id))),
        "a_commit_writes_everything_or_nothing",
    ),
    "takes the last stop intent": (
        instead(_Intents, "put", _overwrites("intents", lambda one: one.execution_id)),
        "the_first_stop_intent_stays",
    ),
    "never renews a lease": (
        instead(_Owners, "put", lambda put: lambda self, owner: None if self.get(owner.owner_id) else put(self, owner)),
        "a_lease_is_read_as_it_was_put_last",
    ),
    "reads a body that is not what was written": (
        lambda patch: (
            patch.setattr(memory_tables, "digest_of", lambda body: "")
            or patch.setattr(_Contents, "get", lambda self, digest: self._tables.contents.get(digest))
        ),
        "a_body_that_is_missing_or_wrong_is_not_read",
    ),
    "lets a read write": (instead(MemoryStore, "read", _reading_writes), "a_closed_store_answers_unavailable"),
    "truncates numbers": (
        read_as(lambda record: _numbers(record, lambda one: one if isinstance(one, float) else one & 0x7FFFFFFF)),
        "numbers_beyond_what_a_database_holds_are_refused_or_come_back",
    ),
    "rounds times": (
        read_as(lambda record: _numbers(record, lambda one: float(int(one)) if isinstance(one, float) else one)),
        "a_lease_is_read_as_it_was_put_last",
    ),
    "forgets the commit token": (
        read_as(lambda record: attrs.evolve(record, token="") if hasattr(record, "token") else record),
        "a_commit_among_others_fails_alone",
    ),
    "forgets a deleted agent's journal": (
        instead(
            _Agents, "delete", lambda _: lambda self, agent_id: self._tables.drop(self._tables.agents, (agent_id,))
        ),
        "deleting_an_agent_removes_all_that_is_its_own",
    ),
    "begins a journal again that was cleared out": (
        instead(MemoryUpkeep, "forget", _lower_watermark),
        "what_is_forgotten_is_gone_and_the_journal_goes_on",
    ),
    "sweeps bodies that are referred to": (
        instead(MemoryUpkeep, "unused", lambda _: _every_body),
        "a_sweep_takes_bodies_that_nothing_refers_to",
    ),
    "finds no work behind a page": (
        instead(
            _Executions,
            "adoptable",
            lambda page: lambda self, owner, now, limit=100, after="": [] if after else page(self, owner, now, limit),
        ),
        "what_nobody_drives_can_be_adopted",
    ),
    "finds the same work on every page": (
        instead(
            _Executions,
            "adoptable",
            lambda page: lambda self, owner, now, limit=100, after="": page(self, owner, now, limit),
        ),
        "what_nobody_drives_can_be_adopted",
    ),
    "counts rests that are not due": (
        lambda patch: patch.setattr(memory_tables, "due_at", lambda record, awaiting: 0.0 if awaiting else None),
        "what_waits_can_be_adopted_when_its_time_has_come",
    ),
    "misses rests that are due": (
        lambda patch: patch.setattr(memory_tables, "due_at", lambda record, awaiting: None),
        "what_waits_can_be_adopted_when_its_time_has_come",
    ),
    "takes a run away from its agent": (
        lambda patch: patch.setattr(memory_tables, "_identity", lambda record: ()),
        "an_execution_keeps_its_agent_its_start_and_its_birth",
    ),
    "mixes the calls of two answers": (
        instead(_Tools, "of_execution", lambda of: lambda self, execution_id, llm_call_id=None: of(self, execution_id)),
        "tool_rows_keep_the_order_of_their_creation",
    ),
    "takes any agent's records into a journal": (
        lambda patch: (
            patch.setattr(memory_tables, "WrongAgent", _NeverRaised) or patch.setattr(_Journal, "append", _any_agent)
        ),
        "a_journal_record_belongs_to_an_agent_and_an_execution",
    ),
    "reads a transcript from its beginning": (
        instead(
            _Journal,
            "transcript",
            lambda read: lambda self, agent_id, execution_id=None, after=0: read(self, agent_id, execution_id),
        ),
        "a_run_sees_the_messages_of_runs_that_ended_well_and_its_own",
    ),
    "knows agents in any case": (
        instead(_Agents, "get", lambda get: lambda self, agent_id: get(self, agent_id.lower())),
        "ids_may_be_any_text",
    ),
    "cuts ids at a NUL": (
        instead(_Agents, "get", lambda get: lambda self, agent_id: get(self, agent_id.partition("\0")[0])),
        "ids_may_be_any_text",
    ),
    "normalises text": (
        instead(_Contents, "get", lambda get: lambda self, digest: unicodedata.normalize("NFC", get(self, digest))),
        "a_body_is_read_by_its_digest",
    ),
    "replaces what is no Unicode": (
        lambda patch: patch.setattr(memory_tables, "check_unicode", lambda *_: None),
        "text_that_is_not_unicode_is_refused",
    ),
    "makes floats of large numbers": (
        lambda patch: patch.setattr(
            memory_tables,
            "decode_json",
            lambda text: json.loads(text, parse_int=lambda one: float(one) if len(one) > 15 else int(one)),
        ),
        "whatever_is_json_comes_back_as_it_was",
    ),
    "makes whole numbers of floats": (
        lambda patch: patch.setattr(
            memory_tables,
            "decode_json",
            lambda text: json.loads(
                text, parse_float=lambda one: int(float(one)) if float(one).is_integer() else float(one)
            ),
        ),
        "whatever_is_json_comes_back_as_it_was",
    ),
    "drops empty results": (
        instead(_Contents, "get", lambda get: lambda self, digest: get(self, digest) or None),
        "a_body_is_read_by_its_digest",
    ),
    "forgets where a run begins": (
        read_as(lambda record: attrs.evolve(record, first_position=0) if hasattr(record, "first_position") else record),
        "an_admission_claims_inserts_and_begins_the_journal_at_once",
    ),
    "lists every agent on each page": (
        instead(
            _Agents,
            "list",
            lambda page: lambda self, after="", limit=100: page(self, "", limit),
        ),
        "agents_are_listed_in_order_of_id",
    ),
    "keeps leases that are ended": (
        instead(_Owners, "delete", lambda _: lambda *_: None),
        "a_lease_is_read_as_it_was_put_last",
    ),
    "gives two answers": (instead(MemoryStore, "_serve", _answering_twice), "a_commit_among_others_fails_alone"),
    "gives no answer where it refuses": (
        instead(MemoryStore, "_serve", _silent),
        "a_body_that_is_missing_or_wrong_is_not_read",
    ),
    "answers closed stores with a refusal": (
        instead(MemoryStore, "_not_open", lambda _: lambda self: StoreError("closed")),
        "a_closed_store_answers_unavailable",
    ),
    "opens again after it was closed": (
        instead(MemoryStore, "close", lambda _: lambda self: None),
        "a_closed_store_answers_unavailable",
    ),
    "forgets everything when it is opened again": (instead(MemoryStore, "open", _anew), "opening_again_is_nothing"),
    "keeps the oldest request": (
        instead(
            _Executions,
            "of_request",
            lambda _: lambda self, request_id: self.get(self._tables.requests.get(request_id, "")),
        ),
        "a_request_finds_the_execution_that_has_it_now",
    ),
    "takes bodies under a wrong digest": (
        lambda patch: patch.setattr(memory_tables, "digest_key", lambda one: None),
        "a_body_that_is_missing_or_wrong_is_not_read",
    ),
}


class _Everything:
    def __contains__(self, _: object) -> bool:
        return True


class TestSound(store_conformance(lambda folder: MemoryStore(inline=True), durable=False)):  # type: ignore[misc]
    """The suite holds where nothing is broken."""


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_adapter_is_caught(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brk, caught_by = BREAKS[how]
    suite: Any = store_conformance(lambda folder: MemoryStore(inline=True), durable=False)()
    brk(monkeypatch)

    with pytest.raises((AssertionError, pytest.fail.Exception, PawlError)):
        getattr(suite, f"test_{caught_by}")(tmp_path)


def test_there_are_many_ways_to_be_broken() -> None:
    assert len(BREAKS) >= 60
