"""The conformance suite of the strict codec, and of what an adapter makes of values that a record cannot hold."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

from pawl.runtime.records.agents import Owner
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.codec import RECORDS, decode, encode
from pawl.runtime.records.errors import CodecError
from pawl.runtime.simulation.conformance_base import Conformance, refusal, using
from pawl.runtime.simulation.hostile import FITTING, TEXTS, VALUES, changes
from pawl.runtime.simulation.samples import (
    a_full_execution,
    a_receipt,
    a_tool,
    an_agent,
    an_entry,
    an_execution,
    done,
)
from pawl.runtime.store.port import Transaction


class CodecConformance(Conformance):
    """Part of `StoreConformance`."""

    def test_a_text_that_is_no_record_is_not_read(self) -> None:
        """Of no kind; it is refused with the codec's error, and with no other."""
        for record in RECORDS:
            for text in TEXTS:
                assert _raised(text, record) == "CodecError", (record, text[:80])

    def test_no_small_change_of_a_record_is_taken_for_something_else(self) -> None:
        """It is refused, or it is a record that says just what its text says. (A sample; Pawl's own tests take all.)"""
        whole = (an_agent(), Owner("me", "host", 7, 1.5, 2.5), a_full_execution(), a_tool(), a_receipt(edit={"a": 1}))
        for value in whole:
            text = encode(value)
            for changed in islice(changes(text), 0, None, 19):
                assert refused_or_itself(changed, type(value)), changed

    def test_values_that_are_no_json_are_refused_wherever_they_stand(self, tmp_path: Path) -> None:
        """And nothing of them is there."""
        with self.opened(tmp_path) as store:
            done(store, _start)
            for value in VALUES:
                refusal(store, using(_put_tool, {"a": value}), CodecError)
                refusal(store, using(_put_receipt, {"a": value}), CodecError)
                refusal(store, using(_append, {"a": value}), CodecError)
            assert done(store, lambda tx: tx.tools.of_execution("e")) == []
            assert done(store, lambda tx: tx.decisions.of_request("request")) == []
            assert done(store, lambda tx: tx.journal.read("a")) == []

    def test_whatever_is_json_comes_back_as_it_was(self, tmp_path: Path) -> None:
        """In arguments, in decisions and in the journal."""
        with self.opened(tmp_path) as store:
            done(store, _start)
            for place, value in enumerate(FITTING):
                arguments = {"value": value, "ä": [value]}
                done(store, using(_put_tool, arguments))
                (row,) = done(store, lambda tx: tx.tools.of_execution("e"))
                assert row == a_tool(arguments=arguments)
                done(store, using(_append, arguments))
                (entry,) = done(store, using(lambda tx, at: tx.journal.read("a", at, 1), place))
                assert canonical(entry.meta) == canonical(arguments)

    def test_ids_may_be_any_text(self, tmp_path: Path) -> None:
        """They are names and nothing else: no pattern, no path, no statement."""
        names = [
            " ",
            "'",
            '"',
            "%",
            "_",
            "a/../b",
            "'; DROP TABLE agents; --",
            "\x00",
            "\u202e",
            "x" * 10_000,
            "ß",
            "SS",
        ]
        with self.opened(tmp_path) as store:
            for name in names:
                done(store, using(_start, name, f"e{name}"))
            for name in names:
                record = done(store, using(lambda tx, of: tx.executions.get(of), f"e{name}"))
                assert record is not None
                assert record.agent_id == name
                root = done(store, using(lambda tx, of: tx.agents.get(of), name))
                assert root == an_agent(name)
            assert len(done(store, lambda tx: tx.agents.list())) == len(names)

    def test_numbers_beyond_what_a_database_holds_are_refused_or_come_back(self, tmp_path: Path) -> None:
        """Never as another number."""
        with self.opened(tmp_path) as store:
            for at, number in enumerate((2**31, 2**53 + 1, 2**63, 2**64, 10**30)):
                root = an_agent(f"a{at}", answers=number)
                done(store, using(lambda tx, root: tx.agents.insert(root), root))
                assert done(store, using(lambda tx, name: tx.agents.get(name), root.agent_id)) == root


def refused_or_itself(text: str, record: type[Any]) -> bool:
    """Whether a text is refused by the codec, or read as what it says, its types included."""
    try:
        value = decode(text, record)
    except CodecError:
        return True
    said, read = json.loads(text), json.loads(encode(value))
    return repr(_exact(said)) == repr(_exact(read))


def _raised(text: str, record: type[Any]) -> str:
    try:
        decode(text, record)
    except Exception as error:
        return type(error).__name__
    return "nothing"


def _exact(value: Any) -> Any:
    """With every whole number as it may be read for a float."""
    if isinstance(value, dict):
        return {name: _exact(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _start(tx: Transaction, agent_id: str = "a", execution_id: str = "e") -> None:
    tx.agents.insert(an_agent(agent_id))
    tx.executions.insert(an_execution(execution_id, agent_id))


def _put_tool(tx: Transaction, arguments: dict[str, Any]) -> None:
    tx.tools.put([a_tool(arguments=arguments)])


def _put_receipt(tx: Transaction, edit: dict[str, Any]) -> None:
    tx.decisions.put([a_receipt(edit=edit)])


def _append(tx: Transaction, meta: dict[str, Any]) -> None:
    tx.journal.append("a", tx.journal.position("a"), [an_entry(None, meta=meta)])
