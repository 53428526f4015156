"""The store in memory keeps every promise of the port, on a thread and inline."""

from __future__ import annotations

from pathlib import Path

from pawl.runtime.simulation.conformance import StoreConformance
from pawl.runtime.simulation.samples import an_agent
from pawl.runtime.store.answers import Answer, Committed
from pawl.runtime.store.memory import MemoryStore


class TestMemoryStore(StoreConformance):
    def make_store(self, folder: Path) -> MemoryStore:
        return MemoryStore()


class TestInlineMemoryStore(StoreConformance):
    def make_store(self, folder: Path) -> MemoryStore:
        return MemoryStore(inline=True)


def test_an_inline_store_answers_before_submit_returns() -> None:
    store = MemoryStore(inline=True)
    store.open()
    answers: list[Answer[None]] = []
    store.submit(lambda tx: tx.agents.insert(an_agent()), answers.append)
    assert answers == [Committed(None)]


def test_an_inline_store_serves_what_an_answer_submits_after_that_answer() -> None:
    store = MemoryStore(inline=True)
    store.open()
    order: list[str] = []

    def first(_: Answer[None]) -> None:
        store.submit(lambda tx: None, lambda _: order.append("second"))
        order.append("first has returned")

    store.submit(lambda tx: None, first)
    assert order == ["first has returned", "second"]
