"""`pawl fsck`: a store looked over, on a connection that cannot write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from pawl.runtime.records.errors import SchemaTooNew, StoreCorrupt
from pawl.runtime.store.sqlite_look import SqliteLook
from pawl.runtime.upkeep.check import check_store
from pawl.runtime.upkeep.findings import Finding
from pawl.tools.cli.output import as_json, err, leave, out
from pawl.tools.cli.progress import Bar, bar
from pawl.tools.cli.stores import looked_at
from pawl.tools.cli.words import count, printable

_THINGS: Final = {
    "agents": "agent",
    "executions": "execution",
    "journal": "journal record",
    "contents": "content",
}
"""The tables that say how large a store is, and what one row of each is called."""


def fsck(db: str, json: bool) -> None:
    """Tell every finding; exit code 1 when there is one."""
    place = looked_at(db)
    found: list[Finding] = []
    rows: dict[str, int] = {}
    with bar("rows") as moving:
        for finding in _findings(place, moving, rows):
            found.append(finding)
            if not json:
                out(printable(str(finding)), "red")
    if json:
        data = [attrs.asdict(finding) for finding in found]
        as_json({"store": str(place), "looked_at": rows, "findings": data})
    elif found:
        err(f"{count(len(found), 'finding')} in {place}; nothing was changed")
    else:
        err(f"{place}: all is well; looked at {_looked_at(rows)}", "green")
    if found:
        leave(1)


def _looked_at(rows: dict[str, int]) -> str:
    return ", ".join(count(rows[table], thing) for table, thing in _THINGS.items())


def _findings(place: Path, moving: Bar, rows: dict[str, int]) -> Iterator[Finding]:
    """Each one, and into `rows` how many rows of each table there are."""
    look = SqliteLook(place)
    try:
        look.open()
    except (SchemaTooNew, StoreCorrupt) as error:
        yield Finding("schema" if isinstance(error, SchemaTooNew) else "file", str(error), "file")
        return
    try:
        yield from check_store(look, moving, rows)
    finally:
        look.close()
