"""Every value of a store is changed in every way, one at a time: what is not found is listed here, with the reason."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
import pytest

from pawl.runtime.records.journal import JournalKind
from pawl.runtime.store.port import Operation
from pawl.runtime.store.sqlite_errors import translated
from pawl.runtime.store.sqlite_transaction import SqliteTransaction
from pawl.runtime.upkeep.check import check_store
from upkeep.town import agents

T = TypeVar("T")

ONLY_HERE: Final = "nothing else on record says it"
ENDED: Final = "nobody asks for it any more once the run has ended"
PEOPLE: Final = "only people read it"
ROW: Final = "a number of the row, which nothing else has"
CLOCK: Final = "clocks may be set while agents run, so times are compared where they are the same one only"

UNSEEN_COLUMNS: Final[dict[str, str]] = {
    "contents: id": ROW,
    "decisions: id": ROW,
    "tools: id": ROW,
    "seal: count": "it is raised to overwrite the log, and read by nobody",
    "executions: awaiting": "without it, whoever looks next adopts the run and lets it rest again",
    "journal: at": CLOCK,
    "journal: meta": "nothing, or an empty object, where the kind has no meta",
    "journal: content": f"{ONLY_HERE}, where it is what somebody wrote to the model, or the model in between",
}

UNSEEN: Final[dict[str, str]] = {
    "agents: created_at": CLOCK,
    "agents: fence": f"{ONLY_HERE}; too high or too low by some, an owner is fenced, and nobody else is let in",
    "agents: revision": f"{ONLY_HERE}; each reset and each closing raises it as well",
    "agents: since": f"{ONLY_HERE}, where it is between two runs",
    "agents: version": ONLY_HERE,
    "owners: host": ONLY_HERE,
    "owners: pid": f"{ONLY_HERE}; a lease protects nobody's data",
    "owners: started": ONLY_HERE,
    "executions (ended): batch_call_id": f"{ENDED}, where it is of no batch, or none",
    "executions (ended): context": ENDED,
    "executions (ended): deadline": ENDED,
    "executions (ended): decisions": f"{ENDED}; each is on its receipt and in the journal",
    "executions (ended): decisions.#": f"{ENDED}; each is on its receipt and in the journal",
    "executions (ended): definition_version": ENDED,
    "executions (ended): manifest.extra": ENDED,
    "executions (ended): manifest.position": ENDED,
    "executions (ended): run_model": ENDED,
    "executions (ended): time_left": ENDED,
    "executions (ended): token": ENDED,
    "executions (open): definition_version": f"{ONLY_HERE}; who has no such version leaves the run alone",
    "executions (open): llm_call_id": f"{ONLY_HERE}, until the call is on record",
    "executions (open): manifest.position": "it is that of a call that was answered",
    "executions (open): request.items.#.reason": PEOPLE,
    "executions (open): time_left": ONLY_HERE,
    "executions (open): token": f"{ONLY_HERE}; who knows another one stops as recovery_required",
    "executions (open): updated_at": CLOCK,
    "tools: arguments": f"{ONLY_HERE}, where nobody is asked about them: what the model wrote is compared",
    "tools: message": PEOPLE,
    "tools: redacted": f"{ONLY_HERE}, as long as something is kept from people",
    "tools: redacted.#": ONLY_HERE,
    "tools: token": f"{ONLY_HERE}; who knows another one asks what became of the call",
    "intents: at": CLOCK,
    "journal (assistant_message): calls.#.shown": PEOPLE,
    "journal (llm_call_recorded): error": PEOPLE,
    "journal (llm_call_recorded): error.message": PEOPLE,
    "journal (llm_call_recorded): error.type": PEOPLE,
    "journal (llm_call_recorded): llm_call_id": f"{ONLY_HERE}, of a call without an answer",
    "journal (llm_call_recorded): model": PEOPLE,
}

RECORDS: Final = {"agents": "id", "owners": "owner_id", "executions": "id", "tools": "id", "decisions": "id",
                  "intents": "execution_id"}  # fmt: skip
KEYS: Final = {"journal": "agent, position", "requests": "request_id", "seal": "id", "contents": "id", **RECORDS}
VALUES: Final = (None, -1, 0, 1, 2**62, float("inf"), "", "x", b"", b"\xff", "{}", "1" * 5000, *JournalKind)


@attrs.frozen
class Town:
    """The part of the file that belongs to one agent."""

    connection: sqlite3.Connection

    def read(self, operation: Operation[T]) -> T:
        """As a store does it."""
        try:
            return operation(SqliteTransaction(self.connection))
        except sqlite3.Error as error:
            raise translated(error) from error

    def seen(self, statement: str, values: Sequence[Any]) -> bool | None:
        """Whether anything is found where that was done; None where SQLite refuses it."""
        self.connection.execute("SAVEPOINT one")
        try:
            self.connection.execute(statement, values)
            return next(check_store(self), None) is not None  # type: ignore[arg-type]
        except (sqlite3.IntegrityError, OverflowError):
            return None
        finally:
            self.connection.execute("ROLLBACK TO one")
            self.connection.execute("RELEASE one")


def town_of(path: Path, agent: str) -> Town:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    with sqlite3.connect(path) as whole:
        whole.backup(connection)
    whole.close()
    mine = "IN (SELECT id FROM executions)"
    for statement in (
        f"DELETE FROM agents WHERE agent_id <> '{agent}'",
        "DELETE FROM executions WHERE agent NOT IN (SELECT id FROM agents)",
        "DELETE FROM journal WHERE agent NOT IN (SELECT id FROM agents)",
        f"DELETE FROM tools WHERE execution NOT {mine}",
        f"DELETE FROM requests WHERE execution NOT {mine}",
        "DELETE FROM decisions WHERE request_id NOT IN (SELECT request_id FROM requests)",
        "DELETE FROM intents WHERE execution_id NOT IN (SELECT execution_id FROM executions)",
    ):
        connection.execute(statement)
    town = Town(connection)
    assert list(check_store(town)) == []  # type: ignore[arg-type]
    return town


@pytest.fixture(scope="module")
def towns(whole: Path) -> Iterator[list[Town]]:
    made = [town_of(whole, agent.name) for agent in agents()]
    yield made
    for town in made:
        town.connection.close()


# --- columns ----------------------------------------------------------------------------------------------------------


def columns(town: Town, table: str, met: set[Any]) -> Iterator[str]:
    """The columns of which a change was not found."""
    keys = KEYS[table]
    where = " AND ".join(f"{name} IS ?" for name in keys.split(", "))
    names = [name for _, name, *_ in town.connection.execute(f"PRAGMA table_info({table})")]
    rows = town.connection.execute(f"SELECT {keys}, {', '.join(names)} FROM {table}").fetchall()
    for row in rows:
        key, said = row[: -len(names)], dict(zip(names, row[-len(names) :], strict=True))
        for name, old in said.items():
            kind = said["status"] if table == "executions" else said.get("kind", "")
            for value in VALUES:
                shape = (table, name, kind, value)
                if value == old or shape in met:
                    continue
                met.add(shape)
                if town.seen(f"UPDATE {table} SET {name} = ? WHERE {where}", (value, *key)) is False:
                    yield f"{table}: {name}"


# --- records ----------------------------------------------------------------------------------------------------------

GONE: Final = object()


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a JSON document."""
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from paths(item, (*at, name))


def found(value: Any, path: Sequence[Any]) -> Any:
    for name in path:
        value = value[name]
    return value


def put(document: Any, path: Sequence[Any], value: Any) -> str:
    """The document with another value there."""
    if not path:
        return json.dumps(value)
    changed = copy.deepcopy(document)
    inner = found(changed, path[:-1])
    if value is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(changed)


def others(old: Any) -> Iterator[Any]:
    """Other values, of the same type and of other ones."""
    yield from (GONE, None, [], {}, "x", "", -1, 0, 2.5, True)
    if isinstance(old, str):
        yield old + "x"
    elif isinstance(old, int | float):
        yield from (old + 1, old - 1, 1e308)
    elif isinstance(old, list):
        yield from (old + old[:1], old[::-1], old[1:])
    elif isinstance(old, dict):
        yield {**old, "more": 1}


def same(old: Any, new: Any) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new))
    return bool(old == new) and (type(old) is type(new) or numbers)


def records(town: Town, table: str, met: set[Any]) -> Iterator[str]:
    """The values in records of which a change was not found."""
    column, keys = ("meta", "agent, position") if table == "journal" else ("record", RECORDS[table])
    where = " AND ".join(f"{name} IS ?" for name in keys.split(", "))
    what = {"journal": "kind", "executions": "iif(open, 'open', 'ended')"}.get(table, "''")
    query = f"SELECT {keys}, {what}, {column} FROM {table} WHERE {column} IS NOT NULL"
    for *key, kind, text in town.connection.execute(query).fetchall():
        document = json.loads(text)
        for path in paths(document):
            old = found(document, path)
            name = ".".join("#" if isinstance(part, int) else part for part in path if part != "data")
            for value in others(old):
                shape = (table, kind, name, type(old), value if value is GONE else repr(value))
                if same(old, value) or (value is GONE and not path) or shape in met:
                    continue
                met.add(shape)
                changed = put(document, path, value)
                if town.seen(f"UPDATE {table} SET {column} = ? WHERE {where}", (changed, *key)) is False:
                    name = "arguments" if name.startswith("arguments.") else name
                    yield f"{table}{f' ({kind})' if kind else ''}: {name}"


def unseen(towns: Sequence[Town], table: str, changes: Any) -> set[str]:
    met: set[Any] = set()
    return {name for town in towns for name in changes(town, table, met)}


def listed(names: dict[str, str], table: str) -> set[str]:
    return {name for name in names if name.partition(":")[0].partition(" ")[0] == table}


@pytest.mark.parametrize("table", KEYS)
def test_another_value_in_a_column_is_found(towns: list[Town], table: str) -> None:
    assert unseen(towns, table, columns) == listed(UNSEEN_COLUMNS, table)


@pytest.mark.parametrize("table", [*RECORDS, "journal"])
def test_another_value_in_a_record_is_found(towns: list[Town], table: str) -> None:
    assert unseen(towns, table, records) == listed(UNSEEN, table)


# --- rows -------------------------------------------------------------------------------------------------------------

BETWEEN: Final[dict[type, Any]] = {str: "between", bytes: b"between", int: 2**40, float: 0.5}
"""A value that no row has, while two of them are exchanged."""

SAME_ANYWAY: Final[dict[str, str]] = {
    "journal: content": f"{ONLY_HERE}, where it is what somebody wrote to the model, or the model in between",
}


def swapped(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    """The columns of which two rows were exchanged, and nothing was found."""
    keys = KEYS[table].split(", ")
    where = " AND ".join(f"{name} IS ?" for name in keys)
    names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
    rows = connection.execute(f"SELECT {', '.join(keys)}, {', '.join(names)} FROM {table}").fetchall()
    town = Town(connection)
    for place, one in enumerate(rows):
        for two in rows[place + 1 : place + 9]:
            for at, name in enumerate(names, len(keys)):
                if name in keys or one[at] == two[at]:
                    continue
                connection.execute("SAVEPOINT swap")
                try:
                    change = f"UPDATE {table} SET {name} = ? WHERE {where}"
                    connection.execute(change, (BETWEEN.get(type(one[at])), *one[: len(keys)]))
                    connection.execute(change, (one[at], *two[: len(keys)]))
                    if town.seen(change, (two[at], *one[: len(keys)])) is False:
                        yield f"{table}: {name}"
                except sqlite3.IntegrityError:
                    pass
                finally:
                    connection.execute("ROLLBACK TO swap")
                    connection.execute("RELEASE swap")


@pytest.mark.parametrize("table", [table for table in KEYS if table != "seal"])
def test_two_values_that_are_exchanged_are_found(whole: Path, table: str) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    with sqlite3.connect(whole) as file:
        file.backup(connection)
    file.close()
    assert set(swapped(connection, table)) == listed(SAME_ANYWAY, table)
    connection.close()
