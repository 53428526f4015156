"""Finding and removing bodies that nothing refers to, while others write.

Who refers to a body is not kept, since that would cost every write. So a sweep begins with a row in `sweeps`: while it
stands, whoever stores a body that is there already notes it in `stored_again`. Then the sweep looks for the bodies that
nothing refers to on a snapshot of its own. A reference that is made behind that snapshot was made by storing the body,
in the same transaction: a body that is in neither can go, in transactions as small as one likes.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from pawl.runtime.records.errors import StoreCorrupt
from pawl.runtime.store.sqlite_rows import Rows
from pawl.runtime.store.upkeep import Cleared

_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")
_OF_DIGEST: Final = "SELECT id FROM contents WHERE digest = ?"
# Who refers to another cannot be told.
_BODIES: Final = "SELECT id FROM contents WHERE typeof(digest) = 'blob' AND id >= 0"
_MOST: Final = 2**32


class Sweep:
    """The part of the back door that knows bodies."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def begin_sweep(self, sweep: str) -> None:
        """From now on the store notes which bodies are stored again."""
        self._do("DELETE FROM sweeps")
        self._do("DELETE FROM stored_again")
        self._do("INSERT INTO sweeps (sweep) VALUES (?)", sweep)
        self._rows.forget()  # a body that is remembered would be stored again without a look

    def unused(
        self, forgotten: Mapping[str, int] | None = None, executions: Collection[str] = frozenset()
    ) -> Sequence[int]:
        """The row numbers of bodies that nothing refers to. What looks like a digest is a reference, wherever it is."""
        last = self._one("SELECT max(id) FROM contents")
        if last > _MOST:
            raise StoreCorrupt(f"a body has the row number {last}, and no store has had so many; restore a backup")
        used = bytearray(last + 1)
        upto = {self._rows.known_agent(agent_id): position for agent_id, position in (forgotten or {}).items()}
        for agent, position, row in self._rows.execute(
            "SELECT agent, position, content FROM journal WHERE content IS NOT NULL"
        ):
            if 0 <= row < len(used) and not (upto and position <= upto.get(agent, 0)):
                used[row] = 1
        gone = {self._rows.execution(name)[0] for name in executions}
        for query in ("SELECT id, id, record FROM executions", "SELECT id, execution, record FROM tools"):
            for name in self._mentioned(query, gone):
                found = self._rows.execute(_OF_DIGEST, (bytes.fromhex(name),)).fetchone()
                if found is not None and found[0] >= 0:
                    used[found[0]] = 1
        return array("q", (row for (row,) in self._rows.execute(_BODIES) if not used[row]))

    def _mentioned(self, query: str, gone: Collection[int]) -> Iterable[str]:
        last = 0
        while page := self._rows.all(f"{query} WHERE id > ? ORDER BY id LIMIT 1000", (last,)):
            last = page[-1][0]
            for _, execution, record in page:
                if execution not in gone:
                    yield from _DIGEST.findall(record)

    def weigh_contents(self, places: Sequence[Any]) -> Cleared:
        """What a sweep would remove."""
        size = sum(self._one("SELECT length(CAST(body AS BLOB)) FROM contents WHERE id = ?", row) for row in places)
        return Cleared(contents=len(places), bytes=size)

    def sweep(self, sweep: str, places: Sequence[Any]) -> Cleared:
        """Remove those of the bodies that were not stored again."""
        if self._one("SELECT count(*) FROM sweeps WHERE sweep = ?", sweep) != 1:
            return Cleared()
        removed = freed = 0
        for row in places:
            if self._one("SELECT count(*) FROM stored_again WHERE content = ?", row):
                continue
            freed += self._one("SELECT length(CAST(body AS BLOB)) FROM contents WHERE id = ?", row)
            removed += self._do("DELETE FROM contents WHERE id = ?", row)
        self._rows.forget()
        return Cleared(contents=removed, bytes=freed)

    def end_sweep(self, sweep: str) -> None:
        """Note nothing any more."""
        if self._do("DELETE FROM sweeps WHERE sweep = ?", sweep):
            self._do("DELETE FROM stored_again")

    def _one(self, query: str, *values: Any) -> int:
        found = self._rows.execute(query, values).fetchone()
        return int(found[0] or 0) if found is not None else 0

    def _do(self, statement: str, *values: Any) -> int:
        return self._rows.execute(statement, values).rowcount
