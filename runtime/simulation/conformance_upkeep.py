"""The conformance suite of the back door: rows as they are kept, what is forgotten, sweeps, copies put in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pawl.runtime.records.codec import encode
from pawl.runtime.records.errors import StoreCorrupt
from pawl.runtime.records.executions import ExecutionRecord, StopIntent
from pawl.runtime.records.journal import Content, JournalKind
from pawl.runtime.simulation.conformance_base import Conformance, refusal, using
from pawl.runtime.simulation.samples import a_receipt, a_request, a_tool, an_agent, an_entry, an_execution, done
from pawl.runtime.store.port import Store, Transaction
from pawl.runtime.store.upkeep import Cleared, Stray, Table

TABLES: Final[tuple[Table, ...]] = ("agents", "owners", "contents", "requests", "decisions", "intents")


class UpkeepConformance(Conformance):
    """Part of `StoreConformance`."""

    def test_an_empty_store_has_no_rows_and_no_problems(self, tmp_path: Path) -> None:
        """In any table."""
        with self.opened(tmp_path) as store:
            assert set(store.read(lambda tx: tx.upkeep.counts()).values()) == {0}
            assert list(store.read(lambda tx: tx.upkeep.problems())) == []
            assert list(store.read(lambda tx: tx.upkeep.strays())) == []
            for table in TABLES:
                assert list(store.read(using(lambda tx, table: tx.upkeep.rows(table), table))) == []

    def test_rows_are_given_as_they_are_kept(self, tmp_path: Path) -> None:
        """With what they belong to, page by page."""
        with self.opened(tmp_path) as store:
            for name in ("a", "b", "c"):
                done(store, using(_inhabit, name))
            for table in TABLES[3:]:
                keys = [row.key for row in store.read(using(lambda tx, table: tx.upkeep.rows(table), table))]
                paged: list[str] = []
                after = None
                while page := store.read(using(lambda tx, table, at: tx.upkeep.rows(table, at, 2), table, after)):
                    paged += [row.key for row in page]
                    after = page[-1].place
                assert paged == keys
                assert len(keys) == 3
            (row,) = store.read(lambda tx: tx.upkeep.executions("a"))
            assert (row.key, row.body.decode()) == ("e-a1", encode(_record("a", 1)))
            (tool,) = store.read(lambda tx: tx.upkeep.tools("e-a1"))
            assert tool.body.decode() == encode(a_tool("tool-a1", "e-a1"))
            entries = store.read(lambda tx: tx.upkeep.journal("a"))
            assert [(entry.key, entry.columns["execution_id"]) for entry in entries] == [("1", "e-a1"), ("2", "e-a1")]
            assert entries[0].columns["digest"] == Content.of("hello a1").digest
            root = store.read(lambda tx: tx.upkeep.agent("a"))
            assert root is not None
            assert root.body.decode() == encode(an_agent("a"))
            assert store.read(lambda tx: tx.upkeep.agent("none")) is None
            assert store.read(lambda tx: tx.upkeep.request_of("r-a1")) == "e-a1"

    def test_what_belongs_to_nothing_is_told(self, tmp_path: Path) -> None:
        """A receipt of no request, an intent of no execution."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.decisions.put([a_receipt("t1", "none")]))
            done(store, lambda tx: tx.intents.put(StopIntent("nobody", "cancel", 1.0)))
            assert set(store.read(lambda tx: tx.upkeep.strays())) == {
                Stray("decisions", "none t1", "request"),
                Stray("intents", "nobody", "execution"),
            }

    def test_what_is_forgotten_is_gone_and_the_journal_goes_on(self, tmp_path: Path) -> None:
        """From where it stood; what is weighed is what goes."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: _inhabit(tx, "a", 1))
            done(store, lambda tx: _inhabit(tx, "a", 2))
            arguments = ("a", 2, ["e-a1"], ["r-a1"])
            weighed = store.read(lambda tx: tx.upkeep.weigh(*arguments, False))
            assert done(store, lambda tx: tx.upkeep.forget(*arguments)) == weighed
            assert weighed == Cleared(0, 1, 2, 1, 1, bytes=weighed.bytes)
            assert done(store, lambda tx: tx.executions.get("e-a1")) is None
            assert done(store, lambda tx: tx.tools.get("tool-a1")) is None
            assert done(store, lambda tx: tx.intents.get("e-a1")) is None
            assert done(store, lambda tx: tx.decisions.of_request("r-a1")) == []
            assert [record.position for record in done(store, lambda tx: tx.journal.read("a"))] == [3, 4]
            assert [record.position for record in done(store, lambda tx: tx.journal.read("a", 3))] == [4]
            assert [record.position for record in done(store, lambda tx: tx.journal.transcript("a"))] == [3]
            done(store, lambda tx: tx.journal.append("a", 4, [an_entry(execution_id="e-a2")]))
            assert done(store, lambda tx: tx.journal.position("a")) == 5
            done(store, lambda tx: tx.executions.insert(_record("a", 1)))  # its ids are free again

    def test_an_agent_is_forgotten_when_nothing_of_it_is_left(self, tmp_path: Path) -> None:
        """And not before."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: _inhabit(tx, "a"))
            assert done(store, lambda tx: tx.upkeep.forget_agent("a")) == Cleared()
            done(store, lambda tx: tx.upkeep.forget("a", 2, ["e-a1"], ["r-a1"]))
            assert done(store, lambda tx: tx.upkeep.forget_agent("a")).agents == 1
            assert done(store, lambda tx: tx.upkeep.forget_agent("a")) == Cleared()
            assert done(store, lambda tx: tx.agents.list()) == []
            done(store, lambda tx: _inhabit(tx, "a"))

    def test_a_sweep_takes_bodies_that_nothing_refers_to(self, tmp_path: Path) -> None:
        """In journal, records and tool rows; not what is stored again while it goes on."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: _inhabit(tx, "a"))
            lonely, again = Content.of("lonely"), Content.of("again")
            for content in (lonely, again):
                done(store, using(lambda tx, content: tx.contents.put(content), content))
            done(store, lambda tx: tx.upkeep.begin_sweep("s"))
            unused = store.read(lambda tx: tx.upkeep.unused())
            assert store.read(lambda tx: tx.upkeep.weigh_contents(unused)) == Cleared(contents=2, bytes=11)
            done(store, lambda tx: tx.contents.put(again))
            assert done(store, lambda tx: tx.upkeep.sweep("s", unused)) == Cleared(contents=1, bytes=6)
            assert done(store, lambda tx: tx.upkeep.sweep("s", unused)) == Cleared()
            assert _there(store, again)
            assert not _there(store, lonely)
            done(store, lambda tx: tx.upkeep.end_sweep("s"))
            assert done(store, lambda tx: tx.upkeep.sweep("s", unused)) == Cleared()
            gone = store.read(lambda tx: tx.upkeep.unused({"a": 2}, ["e-a1"]))
            assert len(gone) == len(unused) - 1 + store.read(lambda tx: tx.upkeep.counts())["contents"] - 1

    def test_a_journal_may_begin_where_a_copy_of_it_does(self, tmp_path: Path) -> None:
        """Where there is none."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
            done(store, lambda tx: tx.executions.insert(an_execution(first_position=7)))
            done(store, lambda tx: tx.upkeep.place_journal("a", 7, [an_entry("one"), an_entry("two")]))
            assert [record.position for record in done(store, lambda tx: tx.journal.read("a"))] == [7, 8]
            refusal(store, lambda tx: tx.upkeep.place_journal("a", 1, [an_entry()]), StoreCorrupt)
            done(store, lambda tx: tx.journal.append("a", 8, [an_entry("three")]))
            done(store, lambda tx: tx.upkeep.place_request("r", "e"))
            assert done(store, lambda tx: tx.upkeep.request_of("r")) == "e"


def _record(agent_id: str, number: int) -> ExecutionRecord:
    name = f"e-{agent_id}{number}"
    request = a_request(f"r-{agent_id}{number}", name, agent_id)
    text = Content.of(f"hello {agent_id}{number}").digest
    return an_execution(name, agent_id, status="completed", request=request, first_position=2 * number - 1, input=text)


def _inhabit(tx: Transaction, agent_id: str, number: int = 1) -> None:
    name, request = f"{agent_id}{number}", f"r-{agent_id}{number}"
    if tx.agents.get(agent_id) is None:
        tx.agents.insert(an_agent(agent_id))
    tx.executions.insert(_record(agent_id, number))
    entries = [
        an_entry(f"hello {name}", execution_id=f"e-{name}"),
        an_entry("r", JournalKind.TOOL_RESULT, execution_id=f"e-{name}"),
    ]
    tx.journal.append(agent_id, tx.journal.position(agent_id), entries)
    tx.tools.put([a_tool(f"tool-{name}", f"e-{name}")])
    tx.decisions.put([a_receipt("t1", request)])
    tx.intents.put(StopIntent(f"e-{name}", "cancel", 1.0))


def _there(store: Store, content: Content) -> bool:
    return store.read(lambda tx: tx.upkeep.has_content(content.digest))
