"""What is wrong with a store, and where."""

from __future__ import annotations

from typing import Final

import attrs

RULES: Final = {
    "file": "the file is damaged, or its tables or indexes are not as this version of Pawl makes them",
    "schema": "the tables are those of another version of Pawl",
    "unreadable": "rows of a table cannot be read",
    "undecodable": "a record is not what the strict codec writes",
    "column": "a column beside a record says something else than the record",
    "stray": "a row belongs to nothing",
    "body": "a body is not what its digest names",
    "missing-body": "a body that something refers to is not there",
    "agent": "an agent's root does not fit what is stored of it",
    "owner": "a lease or an ownership makes no sense",
    "open": "an agent has more than one open execution",
    "status": "status, phase and what is awaited do not go together",
    "machine": "an execution is of no machine that there is",
    "first-position": "an execution does not begin where it says",
    "journal-gap": "positions of a journal are not contiguous",
    "journal-stretch": "the records of an execution are not one stretch of its agent's journal",
    "journal-record": "a journal record is not one of its kind, does not follow from those before it, or is of no "
    "execution of its agent",
    "terminal": "an ended execution has not exactly one terminal record, at its end, that agrees with it",
    "usage": "the usage on record is not the sum of the recorded calls",
    "answers": "a count of answers or calls is not that of the recorded ones",
    "batch": "tool rows and the batch that they belong to differ",
    "key": "a derived id or key is not what it is derived to",
    "tool": "the status of a tool row does not go with the rest of it",
    "manifest": "a manifest names what is not there",
    "request": "an approval request does not fit the calls that it asks about",
    "decision": "decisions, their receipts and the journal differ",
    "intent": "a stop intent is not that of its execution",
}
"""What can be found, by name."""


@attrs.frozen
class Finding:
    """One thing that is wrong: a name of RULES, `what` in words, and where: table and row, agent and execution as far
    as they are known.
    """

    rule: str
    what: str
    table: str
    row: str = ""
    agent_id: str = ""
    execution_id: str = ""

    @property
    def place(self) -> str:
        """Where, in one line."""
        parts = (("agent", self.agent_id), ("execution", self.execution_id), (self.table, self.row))
        return ", ".join(f"{name} {value}".strip() for name, value in parts if value or name == self.table)

    def __str__(self) -> str:
        return ": ".join(dict.fromkeys((self.rule, self.place, self.what)))
