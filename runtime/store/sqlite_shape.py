"""Whether tables, indexes and their like are as `sqlite_schema` makes them, and the rows that belong to no agent."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

Ask = Callable[[str], list[Any]]
"""Every row of a query."""

_SCHEMA: Final = "SELECT name, type, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
_DONE: Final = "_sqlite_migrations"  # sqlite-utils makes it, and words it as it likes


def misshapen(ask: Ask) -> Iterator[str]:
    """What of a file is not as this Pawl makes it, in words. Raises sqlite3.Error."""
    made, done = _made()
    there = {name: (kind, sql) for name, kind, sql in ask(_SCHEMA)}
    for name in sorted(made.keys() | there.keys()):
        if name not in there:
            yield f"the {made[name][0]} {name} is missing"
        elif name not in made:
            yield f"the {there[name][0]} {name} is none of Pawl's"
        elif name != _DONE and there[name] != made[name]:
            yield f"the {there[name][0]} {name} is not as it was made"
    if _DONE in there:
        yield from _migrated(ask, done)
    if "seal" in there:
        rows = ask("SELECT id, typeof(count), count FROM seal")
        if [(row, kind) for row, kind, _ in rows] != [(1, "integer")] or rows[0][2] < 0:
            yield "the table seal has not its one row, with a count"
    if "sweeps" in there and ask("SELECT count(*) FROM sweeps")[0][0] > 1:
        yield "the table sweeps has more than one row"


def _migrated(ask: Ask, done: set[str]) -> Iterator[str]:
    try:
        rows = ask(f"SELECT name FROM {_DONE} WHERE migration_set = 'pawl'")
    except sqlite3.OperationalError as error:
        yield f"the table {_DONE} is not as it was made ({error})"
        return
    names = sorted(str(name) for (name,) in rows)
    if names != sorted(done):
        yield f"the table {_DONE} has {', '.join(names) or 'nothing'} instead of {', '.join(sorted(done))}"


@cache
def _made() -> tuple[dict[str, tuple[str, str]], set[str]]:
    """The schema and the migrations of a new file."""
    # Here, where a store is looked over: sqlite-utils takes longer to import than most commands take.
    from pawl.runtime.store.sqlite_schema import migrate, migrations  # noqa: PLC0415

    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(connection)
        made = {name: (kind, sql) for name, kind, sql in connection.execute(_SCHEMA)}
        rows = connection.execute(f"SELECT name FROM {_DONE} WHERE migration_set = ?", (migrations.name,))
        return made, {name for (name,) in rows}
    finally:
        connection.close()
