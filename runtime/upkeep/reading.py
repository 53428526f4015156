"""Decoding rows that may be damaged: what does not decode becomes a finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pawl.runtime.records.codec import decode
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.strict_json import decode_json
from pawl.runtime.store.upkeep import Stored
from pawl.runtime.upkeep.findings import Finding

T = TypeVar("T")


class Reader:
    """Collects what is found, of one agent, and of one execution while `execution_id` is set."""

    def __init__(self, agent_id: str = "") -> None:
        self.agent_id = agent_id
        self.execution_id = ""
        self.findings: list[Finding] = []

    def find(self, rule: str, what: str, table: str, row: str = "") -> None:
        """Something is wrong."""
        self.findings.append(Finding(rule, what, table, row, self.agent_id, self.execution_id))

    def hold(self, holds: bool, rule: str, what: str, table: str, row: str = "") -> None:
        """Something is wrong unless `holds`."""
        if not holds:
            self.find(rule, what, table, row)

    def decode(self, stored: Stored, record: type[T], table: str) -> T | None:
        """The record of a row, None when it does not decode."""
        try:
            return decode(stored.body.decode(), record)
        except (UnicodeDecodeError, CodecError) as error:
            self.find("undecodable", str(error), table, stored.key)
            return None

    def meta(self, stored: Stored) -> dict[str, Any] | None:
        """The meta of a journal record, None when it does not decode."""
        if not stored.body:
            return {}
        try:
            value = decode_json(stored.body.decode(), "meta")
        except (UnicodeDecodeError, CodecError) as error:
            self.find("undecodable", str(error), "journal", stored.key)
            return None
        if isinstance(value, dict):
            return value
        self.find("undecodable", f"meta: expected an object, found {value!r:.60}", "journal", stored.key)
        return None

    def same(self, table: str, row: str, name: str, kept: Any, said: Any) -> None:
        """A column agrees with its record."""
        if kept != said:
            self.find("column", f"{name} is {kept!r} beside the record, which says {said!r}", table, row)

    def columns(self, stored: Stored, table: str, said: Mapping[str, Any]) -> None:
        """All columns that the adapter keeps agree with the record."""
        for name, value in said.items():
            if name in stored.columns:
                self.same(table, stored.key, name, stored.columns[name], value)
