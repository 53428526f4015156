"""Every kind of damage is found, said once, and where it is; what the runtime leaves behind is no finding."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from pawl.runtime.records.agents import Owner
from pawl.runtime.records.canonical import digest
from pawl.runtime.records.errors import SchemaTooNew, StoreCorrupt, StoreReadOnly, StoreUnavailable
from pawl.runtime.records.executions import StopIntent
from pawl.runtime.records.journal import Content
from pawl.runtime.simulation.samples import a_receipt, an_agent, an_execution, answer_of, done
from pawl.runtime.store.answers import Refused
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.store.sqlite_look import SqliteLook
from pawl.runtime.upkeep.check import check_store
from pawl.runtime.upkeep.findings import RULES, Finding
from upkeep.town import damaged, memory, town


def findings(path: Path) -> list[Finding]:
    look = SqliteLook(path)
    look.open()
    try:
        return list(check_store(look))
    finally:
        look.close()


def of(agent: str) -> str:
    return f"(SELECT id FROM agents WHERE agent_id = '{agent}')"


def executions(agent: str, change: str) -> str:
    return f"UPDATE executions SET {change} WHERE agent = {of(agent)}"


def record(agent: str, path: str, value: str, table: str = "executions") -> str:
    """The statement that changes one value in a record."""
    where = (
        f"agent = {of(agent)}"
        if table == "executions"
        else f"execution IN (SELECT id FROM executions WHERE agent = {of(agent)})"
    )
    return f"UPDATE {table} SET record = json_set(record, '$.data.{path}', {value}) WHERE {where}"


def journal(agent: str, kind: str, change: str) -> str:
    return f"UPDATE journal SET {change} WHERE agent = {of(agent)} AND kind = '{kind}'"


def test_what_the_runtime_leaves_is_no_finding(whole: Path) -> None:
    assert findings(whole) == []


def test_a_store_in_memory_is_looked_over_the_same_way() -> None:
    steps: list[tuple[int, int]] = []
    with town(memory()) as world:
        assert list(check_store(world.store, lambda done, total: steps.append((done, total)))) == []
        total = sum(world.store.read(lambda tx: tx.upkeep.counts()).values())
    assert steps[-1] == (total, total)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)


SHA = "sha256:" + "0" * 64

DAMAGES: dict[str, tuple[list[str], set[tuple[str, str]]]] = {
    "a record that is no JSON": ([executions("waits", "record = '{'")], {("undecodable", "waits")}),
    "a record that is no text": ([executions("waits", "record = x'ff'")], {("undecodable", "waits")}),
    "a record with a key too many": ([record("waits", "more", "1")], {("undecodable", "waits")}),
    "a root that is not there": (["DELETE FROM agents WHERE agent_id = 'done'"], {("stray", "")}),
    "a root of another name": ([
        "UPDATE agents SET record = json_set(record, '$.data.agent_id', 'me') WHERE agent_id = 'done'"
    ], {("column", "done")}),
    "an owner that the record does not know": (
        ["UPDATE agents SET owner = 'nobody' WHERE agent_id = 'done'"], {("column", "done")}
    ),
    "a fence of zero": ([
        "UPDATE agents SET record = json_set(record, '$.data.fence', 0) WHERE agent_id = 'done'"
    ], {("owner", "done")}),
    "a view behind the end": ([
        "UPDATE agents SET record = json_set(record, '$.data.since', 999) WHERE agent_id = 'done'"
    ], {("agent", "done")}),
    "fewer answers than are on record": ([
        "UPDATE agents SET record = json_set(record, '$.data.answers', 0) WHERE agent_id = 'done'"
    ], {("answers", "done")}),
    "a run of another definition": ([record("done", "definition", "'x'")], {("agent", "done")}),
    "a lease that says another end": (["UPDATE owners SET expires_at = 1"], {("column", "")}),
    "a lease of no process": (["UPDATE owners SET record = json_set(record, '$.data.pid', 0)"], {("owner", "")}),
    "a status beside the record": ([executions("done", "status = 'failed'")], {("column", "done")}),
    "a revision beside the record": ([executions("done", "revision = 77")], {("column", "done")}),
    "open beside the record": ([executions("done", "open = 1")], {("column", "done")}),
    "a due time of nothing": ([executions("waits", "due = 7.0")], {("column", "waits")}),
    "a status that is none": ([record("done", "status", "'dreaming'"),
                               executions("done", "status = 'dreaming', open = 1")],
                              {("status", "done"), ("terminal", "done")}),
    "a phase of another status": ([record("waits", "phase", "'calling_llm'")],
                                  {("status", "waits"), ("manifest", "waits")}),
    "an end with the phase of work": ([record("done", "phase", "'recovering'")], {("status", "done")}),
    "waiting for the wrong thing": ([executions("waits", "awaiting = 'resolution'")], {("status", "waits")}),
    "waiting for nothing lost": ([record("begun", "llm_call_id", "NULL"), record("begun", "phase", "'recovering'"),
                                  executions("begun", "awaiting = 'resolution'")],
                                 {("status", "begun"), ("answers", "begun")}),
    "suspended without a request": ([record("waits", "request", "NULL")], {("status", "waits")}),
    "a call under no id": ([record("begun", "llm_call_id", "NULL")], {("status", "begun"), ("answers", "begun")}),
    "a machine that is none": ([record("done", "machine", "'dream'")], {("machine", "done")}),
    "a spec that has no such hash": ([record("waits", "spec_hash", "'newest'")], {("machine", "waits")}),
    "an index that is gone": (["DROP INDEX executions_one_open"], {("file", "")}),
    "a table that is gone": (["DROP TABLE stored_again"], {("file", "")}),
    "a table of somebody": (["CREATE TABLE notes (text)"], {("file", "")}),
    "a trigger": (["CREATE TRIGGER t AFTER INSERT ON agents BEGIN DELETE FROM owners; END"], {("file", "")}),
    "a table with a column more": (["ALTER TABLE intents ADD COLUMN more TEXT"], {("file", "")}),
    "a seal that is gone": (["DELETE FROM seal"], {("file", "")}),
    "a migration that is not on record": (["DELETE FROM _sqlite_migrations WHERE name = 'm002_sweeps'"],
                                          {("file", "")}),
    "migrations that are not on record": (["DROP TABLE _sqlite_migrations"], {("file", "")}),
    "a position that is text": ([f"UPDATE journal SET position = '' WHERE agent = {of('begun')} AND position = 2"],
                                {("journal-gap", "begun"), ("manifest", "begun")}),
    "a position below the first": (
        [f"UPDATE journal SET position = -1 WHERE agent = {of('begun')} AND position = 2"],
        {("journal-gap", "begun"), ("manifest", "begun")},
    ),
    "a first position of another run": ([record("done", "first_position", "4")], {("first-position", "done")}),
    "another start id": ([record("done", "start_id", "'x'")], {("column", "done"), ("first-position", "done")}),
    "two open runs": (["DROP INDEX executions_one_open", record("failed", "status", "'active'"),
                       record("failed", "phase", "'recovering'"), executions("failed", "status = 'active', open = 1")],
                      {("open", "failed"), ("terminal", "failed"), ("status", "failed"), ("answers", "failed"),
                       ("file", "")}),
    "a run between the records of another": (
        [f"UPDATE journal SET execution = (SELECT max(id) FROM executions WHERE agent = {of('reset')}) "
         f"WHERE agent = {of('reset')} AND position = 3"],
        {("journal-stretch", "reset"), ("first-position", "reset"), ("answers", "reset"), ("terminal", "reset"),
         ("manifest", "reset"), ("batch", "reset")},
    ),
    "a gap": ([f"DELETE FROM journal WHERE agent = {of('waits')} AND position = 2"],
              {("journal-gap", "waits")}),
    "a beginning that is gone": ([f"DELETE FROM journal WHERE agent = {of('waits')} AND position = 1"],
                                 {("first-position", "waits")}),
    "a journal that is gone": ([f"DELETE FROM journal WHERE agent = {of('cancelled')}"],
                               {("first-position", "cancelled")}),
    "a record of nobody": ([f"UPDATE journal SET execution = 99999 WHERE agent = {of('waits')} AND position = 2"],
                           {("journal-record", "waits")}),
    "a record of a kind that is none": ([journal("waits", "external_message", "kind = 'dream'")],
                                        {("journal-record", "waits")}),
    "a meta that is no JSON": ([journal("done", "tool_result", "meta = 'x'")], {("undecodable", "done")}),
    "a meta of another kind": ([journal("waits", "approval_required", "meta = '{}'")],
                               {("journal-record", "waits"), }),
    "two ends": ([journal("done", "final_output", "kind = 'execution_completed', content = NULL, meta = (SELECT meta "
                          f"FROM journal WHERE agent = {of('done')} AND kind = 'execution_completed')")],
                 {("terminal", "done")}),
    "an end of another kind": ([journal("cancelled", "execution_cancelled", "kind = 'execution_failed'")],
                               {("terminal", "cancelled")}),
    "an end that is gone": ([f"DELETE FROM journal WHERE agent = {of('done')} AND kind = 'execution_completed'"],
                            {("terminal", "done")}),
    "an end with another error": ([journal("failed", "execution_failed", "meta = json_set(meta, '$.error.type', 'X')")],
                                  {("terminal", "failed")}),
    "work of an ended run": ([record("done", "llm_call_id", "'llm-9'")], {("terminal", "done"), ("answers", "done")}),
    "more tokens than were used": ([record("waits", "usage.input", "7")], {("usage", "waits")}),
    "an answer too many": ([record("begun", "iterations", "1")], {("answers", "begun")}),
    "a body that was changed": (["UPDATE contents SET body = body || '!' WHERE body = 'pay both'"], {("body", "")}),
    "a body that is no text": (["UPDATE contents SET body = CAST(x'ff' AS TEXT) WHERE body = 'pay both'"],
                               {("body", "")}),
    "a body of the journal that is gone": (["DELETE FROM contents WHERE body = 'rain in Ulm'"],
                                           {("missing-body", "done")}),
    "a context that is gone": (["DELETE FROM contents WHERE body LIKE '%acme%'"], {("missing-body", "done")}),
    "an instruction that is gone": (["DELETE FROM contents WHERE body = 'Be brief.'"], {("missing-body", "done")}),
    "a manifest of what is to come": ([record("done", "manifest.position", "999")], {("manifest", "done")}),
    "a manifest that leaves out too much": ([record("done", "manifest.excluded", "json('[[3,2]]')")],
                                            {("manifest", "done")}),
    "a row that is in no batch": ([record("waits", "batch", "json_array(json_extract(record, '$.data.batch[0]'))")],
                                  {("batch", "waits")}),
    "a batch without a row": (["DELETE FROM tools WHERE json_extract(record, '$.data.tool') = 'charge'"],
                              {("batch", "lost"), ("status", "lost")}),
    "a key that was made up": ([record("lost", "idempotency_key", "'key-1'", "tools")], {("key", "lost")}),
    "a call that nobody asked for": (
        [f"UPDATE journal SET meta = json_set(meta, '$.calls', json('[]')) WHERE agent = {of('lost')} "
         "AND kind = 'assistant_message'"],
        {("batch", "lost"), ("answers", "lost")},
    ),
    "a result that is gone": ([record("done", "output", f"'{SHA}'", "tools")],
                              {("missing-body", "done"), ("tool", "done")}),
    "a call that completed with nothing": ([record("lost", "status", "'completed'", "tools")],
                                           {("tool", "lost"), ("status", "lost")}),
    "a call that runs in an ended run": ([record("done", "status", "'pending'", "tools")], {("tool", "done")}),
    "a call that was never let go": ([record("lost", "attempt", "0", "tools")], {("tool", "lost")}),
    "arguments that nobody was asked about": (
        ["UPDATE tools SET record = json_set(record, '$.data.arguments.cents', 1000000) "
         "WHERE json_extract(record, '$.data.arguments.to') = 'Bob'"],
        {("request", "waits")},
    ),
    "a request of another run": ([record("waits", "request.execution_id", "'x'")], {("request", "waits")}),
    "a request that cannot be found": ([
        f"DELETE FROM requests WHERE execution IN (SELECT id FROM executions WHERE agent = {of('waits')})"
    ], {("request", "waits"), ("stray", ""), ("column", "")}),
    "a receipt that is gone": ([
        f"DELETE FROM decisions WHERE request_id = (SELECT json_extract(record, '$.data.request.id') FROM executions "
        f"WHERE agent = {of('waits')})"
    ], {("decision", "waits")}),
    "a receipt that says otherwise": ([
        "UPDATE decisions SET record = json_set(record, '$.data.decision.verdict', 'rejected') "
        f"WHERE request_id = (SELECT json_extract(record, '$.data.request.id') FROM executions "
        f"WHERE agent = {of('waits')})"
    ], {("decision", "waits")}),
    "a decision taken back": ([record("waits", "decisions", "json('[]')")], {("decision", "waits")}),
    "an intent of another run": (["UPDATE intents SET record = json_set(record, '$.data.execution_id', 'x')"],
                                 {("intent", "")}),
    "a tool row of another model call": (
        [f"UPDATE tools SET call = call + 1 WHERE execution IN (SELECT id FROM executions WHERE agent = {of('lost')})"],
        {("column", "lost")},
    ),
    "an agent under an id that is no text": (
        ["UPDATE agents SET agent_id = x'ff' WHERE agent_id = 'done'"], {("agent", "b'\\xff'")}
    ),
    "a digest that is text": (
        ["UPDATE contents SET digest = hex(digest) WHERE body = 'rain in Ulm'"],
        {("body", ""), ("missing-body", "done"), ("tool", "done")},
    ),
    "a digest that is a number": (
        ["UPDATE contents SET digest = 7 WHERE body = 'rain in Ulm'"],
        {("body", ""), ("missing-body", "done"), ("tool", "done")},
    ),
    "a body that is kept as a blob": (
        ["UPDATE contents SET body = CAST(body AS BLOB) WHERE body = 'rain in Ulm'"], {("body", "")}
    ),
    "an intent of no run": (["UPDATE intents SET execution_id = 'x'"], {("intent", ""), ("stray", "")}),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_where_it_is(file: Path, damage: str) -> None:
    statements, expected = DAMAGES[damage]
    damaged(file, *statements)
    found = findings(file)
    assert {(finding.rule, finding.agent_id) for finding in found} == expected, "\n".join(map(str, found))


def test_every_rule_has_its_damage() -> None:
    elsewhere = {"file", "unreadable", "schema"}
    assert {rule for _, expected in DAMAGES.values() for rule, _ in expected} | elsewhere == set(RULES)


def test_a_finding_says_where() -> None:
    finding = Finding("key", "its key is not derived right", "tools", "tool-1", "a", "e")
    assert str(finding) == "key: agent a, execution e, tools tool-1: its key is not derived right"


def test_findings_name_execution_and_row(file: Path) -> None:
    damaged(file, record("lost", "idempotency_key", "'key-1'", "tools"))
    (finding,) = findings(file)
    connection = sqlite3.connect(file)
    ((execution, row),) = connection.execute(
        "SELECT execution_id, tool_invocation_id FROM executions e JOIN tools ON execution = e.id "
        f"WHERE agent = {of('lost')}"
    )
    connection.close()
    assert (finding.execution_id, finding.table, finding.row) == (execution, "tools", row)


def test_a_damaged_page_is_found_and_the_rest_is_looked_at(file: Path) -> None:
    damaged(file, record("lost", "idempotency_key", "'key-1'", "tools"))
    connection = sqlite3.connect(file)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'intents'").fetchone()
    connection.close()
    content = bytearray(file.read_bytes())
    content[(page - 1) * 8192 : page * 8192] = b"\xff" * 8192
    file.write_bytes(content)
    found = {(finding.rule, finding.table) for finding in findings(file)}
    assert {("unreadable", "intents"), ("key", "tools"), ("file", "file")} <= found


def test_a_store_that_is_written_meanwhile_is_whole_at_every_look(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db", inline=True)
    with town(store) as world:
        look = SqliteLook(tmp_path / "a.db")
        look.open()
        found = check_store(look)
        process = world.ready()
        for number in range(3):
            process.do(process.runtime.run(world.agents[-1], f"more {number}", agent_id=f"new {number}"))
            assert next(found, None) is None
        look.close()


# --- looking ---


def test_looking_changes_nothing(file: Path) -> None:
    before = file.read_bytes()
    assert findings(file) == []
    assert file.read_bytes() == before


def test_a_look_refuses_to_write(file: Path) -> None:
    look = SqliteLook(file)
    look.open()
    answer = answer_of(look, lambda tx: tx.agents.insert(an_agent()))
    assert isinstance(answer, Refused)
    assert isinstance(answer.error, StoreReadOnly)
    with pytest.raises(StoreReadOnly):
        look.read(lambda tx: tx.agents.insert(an_agent()))
    look.close()


def test_what_a_crashed_process_left_in_the_log_is_looked_at(file: Path, tmp_path: Path) -> None:
    writer = sqlite3.connect(file)
    writer.execute("UPDATE owners SET record = json_set(record, '$.data.pid', 0)")
    writer.commit()
    crashed = tmp_path / "crashed.db"
    crashed.write_bytes(file.read_bytes())
    crashed.with_name("crashed.db-wal").write_bytes(file.with_name("a.db-wal").read_bytes())
    writer.close()
    assert {finding.rule for finding in findings(crashed)} == {"owner"}


def unwritable(file: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteLook:
    """A look at a file in a folder where no log can be made."""

    def connect(uri: str, timeout: float) -> sqlite3.Connection:
        if "immutable" not in uri:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)

    return SqliteLook(file, connect=connect)


def test_a_file_where_nobody_may_write_is_looked_at(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = unwritable(file, monkeypatch)
    look.open()
    assert list(check_store(look)) == []
    look.close()


def test_a_log_that_cannot_be_read_is_not_left_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.with_name("a.db-wal").write_bytes(b"x")
    with pytest.raises(StoreReadOnly, match="copy the file with its -wal"):
        unwritable(file, monkeypatch).open()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_looked_into(file: Path) -> None:
    file.chmod(stat.S_IRUSR)
    file.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert findings(file) == []
    finally:
        file.parent.chmod(stat.S_IRWXU)


def test_files_that_are_none_are_told(file: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no such file"):
        SqliteLook(tmp_path / "none.db").open()
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("all my notes\n" * 100)
    with pytest.raises(StoreCorrupt, match="not an SQLite database"):
        SqliteLook(tmp_path / "text.db").open()
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreUnavailable, match="it is empty, and no store"):
        SqliteLook(tmp_path / "empty.db").open()
    damaged(file, "PRAGMA user_version = 1")
    with pytest.raises(StoreUnavailable, match="it has schema 1, and is looked at with schema 2; `pawl ls` brings it"):
        SqliteLook(file).open()
    damaged(file, "PRAGMA user_version = 99")
    with pytest.raises(SchemaTooNew, match="upgrade Pawl"):
        SqliteLook(file).open()


# --- in memory ---


def test_damage_in_memory_is_found_too() -> None:
    store = MemoryStore(inline=True)
    store.open()

    def odd(tx: Any) -> None:
        tx.agents.insert(an_agent("a", fence=0))
        tx.executions.insert(an_execution("e", "a"))
        tx.contents.put(Content(digest("right"), "wrong"))
        tx.decisions.put([a_receipt()])
        tx.intents.put(StopIntent("none", "cancel", 1.0))
        tx.owners.put(Owner("me", "host", 0, 0.0, 1.0))

    done(store, odd)
    found = {(finding.rule, finding.table) for finding in check_store(store)}
    assert found == {
        ("agent", "agents"), ("first-position", "executions"), ("body", "contents"), ("stray", "decisions"),
        ("stray", "intents"),
        ("owner", "owners"), ("owner", "agents"), ("column", "decisions"),
    }  # fmt: skip
