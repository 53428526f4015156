"""`pawl fsck`: a store looked over, on a connection that cannot write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import attrs

from pawl.runtime.records.errors import SchemaTooNew, StoreCorrupt
from pawl.runtime.store.sqlite_look import SqliteLook
from pawl.runtime.upkeep.check import check_store
from pawl.runtime.upkeep.findings import Finding
from pawl.tools.cli.output import as_json, err, leave, out
from pawl.tools.cli.progress import Bar, bar
from pawl.tools.cli.stores import looked_at
from pawl.tools.cli.words import count, printable


def fsck(db: str, json: bool) -> None:
    """Tell every finding; exit code 1 when there is one."""
    place = looked_at(db)
    found: list[Finding] = []
    with bar("rows") as moving:
        for finding in _findings(place, moving):
            found.append(finding)
            if not json:
                out(printable(str(finding)), "red")
    if json:
        as_json({"store": str(place), "findings": [attrs.asdict(finding) for finding in found]})
    elif found:
        err(f"{count(len(found), 'finding')} in {place}; nothing was changed")
    else:
        err(f"{place}: all is well", "green")
    if found:
        leave(1)


def _findings(place: Path, moving: Bar) -> Iterator[Finding]:
    look = SqliteLook(place)
    try:
        look.open()
    except (SchemaTooNew, StoreCorrupt) as error:
        yield Finding("schema" if isinstance(error, SchemaTooNew) else "file", str(error), "file")
        return
    try:
        yield from check_store(look, moving)
    finally:
        look.close()
