"""The conformance suite of answers: what an operation is answered, in which order, and around opening and closing."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NoReturn

from pawl.runtime.records.errors import (
    AgentBusy,
    AgentExists,
    CodecError,
    RuntimeClosed,
    StoreError,
    StoreUnavailable,
)
from pawl.runtime.records.journal import Content
from pawl.runtime.simulation.conformance_base import Conformance, using
from pawl.runtime.simulation.samples import WAIT, an_agent, an_entry, an_execution, answer_of, done
from pawl.runtime.store.answers import Answer, Committed, Fenced, Refused, Superseded, Unavailable
from pawl.runtime.store.port import Store, Transaction


class AnswersConformance(Conformance):
    """Part of `StoreConformance`."""

    # --- answers ---

    def test_a_committed_operation_answers_what_it_returned(self, tmp_path: Path) -> None:
        """And what it wrote is there."""

        def operation(tx: Transaction) -> int:
            tx.agents.insert(an_agent())
            return 7

        with self.opened(tmp_path) as store:
            assert answer_of(store, operation) == Committed(7)
            assert done(store, lambda tx: tx.agents.get("a")) == an_agent()

    def test_a_refused_operation_leaves_nothing_behind(self, tmp_path: Path) -> None:
        """Of all that it had written before."""
        error = AgentExists("no")

        def half(tx: Transaction) -> None:
            _write_everywhere(tx)
            raise error

        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent("other")))
            answer = answer_of(store, half)
            assert isinstance(answer, Refused)
            assert answer.error is error
            _nothing_of(store, "a")
            assert done(store, lambda tx: tx.agents.get("other")) == an_agent("other")

    def test_an_operation_that_breaks_is_refused_and_leaves_nothing_behind(self, tmp_path: Path) -> None:
        """Any exception is known unwritten; it is handed on as it is."""

        def half(tx: Transaction) -> NoReturn:
            _write_everywhere(tx)
            raise ZeroDivisionError

        with self.opened(tmp_path) as store:
            answer = answer_of(store, half)
            assert isinstance(answer, Refused)
            assert isinstance(answer.error, ZeroDivisionError)
            _nothing_of(store, "a")

    def test_a_fenced_operation_is_superseded_and_leaves_nothing_behind(self, tmp_path: Path) -> None:
        """The owner is told."""

        def fenced(tx: Transaction) -> NoReturn:
            _write_everywhere(tx)
            raise Fenced("somebody")

        with self.opened(tmp_path) as store:
            assert answer_of(store, fenced) == Superseded("somebody")
            _nothing_of(store, "a")

    def test_an_operation_that_says_unavailable_is_answered_unavailable(self, tmp_path: Path) -> None:
        """It may be submitted again."""

        def unavailable(tx: Transaction) -> NoReturn:
            _write_everywhere(tx)
            raise StoreUnavailable("not now")

        with self.opened(tmp_path) as store:
            answer = answer_of(store, unavailable)
            assert isinstance(answer, Unavailable)
            assert isinstance(answer.error, StoreUnavailable)
            _nothing_of(store, "a")

    def test_text_that_is_not_unicode_is_refused(self, tmp_path: Path) -> None:
        """Wherever it stands."""
        lone = "\ud800"
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
            for operation in (
                lambda tx: tx.agents.insert(an_agent(lone)),
                lambda tx: tx.executions.insert(an_execution("e", status=lone)),
                lambda tx: tx.contents.put(Content("sha256:" + "0" * 64, lone)),
            ):
                answer = answer_of(store, operation)
                assert isinstance(answer, Refused), answer
                assert isinstance(answer.error, CodecError)

    # --- order ---

    def test_operations_run_in_the_order_of_submission(self, tmp_path: Path) -> None:
        """Each sees what the ones before it wrote, and is answered once."""
        with self.opened(tmp_path) as store:
            answers = _submitted(store, [_joining(number) for number in range(200)])
            assert [_value(answer) for answer in answers] == list(range(200))

    def test_a_refusal_among_many_touches_only_itself(self, tmp_path: Path) -> None:
        """Its siblings before and after are committed."""

        def refused(tx: Transaction) -> NoReturn:
            tx.agents.insert(an_agent("refused"))
            raise AgentBusy("e", "active")

        with self.opened(tmp_path) as store:
            answers = _submitted(store, [_joining(0), refused, _joining(1), refused, refused, _joining(2)])
            assert [isinstance(answer, Refused) for answer in answers] == [False, True, False, True, True, False]
            roots = done(store, lambda tx: tx.agents.list())
            assert [root.agent_id for root in roots] == ["agent-00000", "agent-00001", "agent-00002"]

    def test_an_answer_that_raises_costs_nobody_theirs(self, tmp_path: Path) -> None:
        """What it answered is committed all the same."""

        def raising(answer: Answer[Any]) -> NoReturn:
            raise ValueError(answer)

        with self.opened(tmp_path) as store:
            store.submit(_joining(0), raising)
            assert done(store, _joining(1)) == 1

    def test_an_answer_may_submit(self, tmp_path: Path) -> None:
        """The next operation is answered too."""
        answered = threading.Event()
        answers: list[Answer[int]] = []

        def again(answer: Answer[int]) -> None:
            answers.append(answer)
            if len(answers) < 50:
                store.submit(_joining(len(answers)), again)
            else:
                answered.set()

        with self.opened(tmp_path) as store:
            store.submit(_joining(0), again)
            assert answered.wait(WAIT)
            assert answers == [Committed(number) for number in range(50)]

    # --- reading ---

    def test_a_read_sees_what_is_committed(self, tmp_path: Path) -> None:
        """On the caller's thread."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
            assert store.read(lambda tx: (tx.agents.get("a"), threading.current_thread())) == (
                an_agent(),
                threading.current_thread(),
            )

    def test_a_read_refuses_to_write(self, tmp_path: Path) -> None:
        """And nothing is written."""
        with self.opened(tmp_path) as store:
            assert isinstance(_raised(lambda: store.read(lambda tx: tx.agents.insert(an_agent()))), StoreError)
            assert store.read(lambda tx: tx.agents.get("a")) is None

    def test_a_read_raises_what_its_operation_raises(self, tmp_path: Path) -> None:
        """And the next one works."""

        def broken(tx: Transaction) -> NoReturn:
            tx.agents.get("a")
            raise ZeroDivisionError

        with self.opened(tmp_path) as store:
            assert isinstance(_raised(lambda: store.read(broken)), ZeroDivisionError)
            assert store.read(lambda tx: tx.agents.list()) == []

    # --- opening, closing ---

    def test_opening_again_is_nothing(self, tmp_path: Path) -> None:
        """What is there stays."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
            store.open()
            assert done(store, lambda tx: tx.agents.get("a")) == an_agent()

    def test_closing_answers_what_was_submitted(self, tmp_path: Path) -> None:
        """All of it, before `close` returns."""
        store = self.make_store(tmp_path)
        store.open()
        answers: list[Answer[int]] = []
        for number in range(100):
            store.submit(_joining(number), answers.append)
        store.close()
        assert answers == [Committed(number) for number in range(100)]
        store.close()

    def test_a_closed_store_answers_unavailable(self, tmp_path: Path) -> None:
        """And reading or opening it raises."""
        store = self.make_store(tmp_path)
        store.open()
        store.close()
        answer = answer_of(store, _joining(0))
        assert isinstance(answer, Unavailable)
        assert isinstance(answer.error, RuntimeClosed)
        assert isinstance(_raised(lambda: store.read(_joining(0))), RuntimeClosed)
        assert isinstance(_raised(store.open), RuntimeClosed)

    def test_a_store_that_was_never_opened_answers_unavailable(self, tmp_path: Path) -> None:
        """And can be closed."""
        store = self.make_store(tmp_path)
        answer = answer_of(store, _joining(0))
        assert isinstance(answer, Unavailable)
        assert isinstance(answer.error, StoreUnavailable)
        store.close()

    def test_an_answer_may_close(self, tmp_path: Path) -> None:
        """Without waiting for itself."""
        store = self.make_store(tmp_path)
        store.open()
        closed = threading.Event()

        def close(_: Answer[int]) -> None:
            store.close()
            closed.set()

        store.submit(_joining(0), close)
        assert closed.wait(WAIT)
        store.close()

    def test_a_store_says_what_and_where_it_is(self, tmp_path: Path) -> None:
        """Before it is opened, too."""
        info = self.make_store(tmp_path).info
        assert info.adapter
        assert info.place
        assert info.schema >= 1


def _joining(number: int) -> Any:
    """An operation that adds one more agent, and returns how many there were."""

    def operation(tx: Transaction) -> int:
        before = len(tx.agents.list(limit=1000))
        tx.agents.insert(an_agent(f"agent-{number:05}"))
        return before

    return operation


def _write_everywhere(tx: Transaction) -> None:
    tx.agents.insert(an_agent())
    tx.executions.insert(an_execution())
    tx.journal.append("a", 0, [an_entry()])
    tx.contents.put(Content.of("half"))
    tx.agents.save(an_agent(revision=1))


def _nothing_of(store: Store, agent_id: str) -> None:
    assert done(store, lambda tx: tx.agents.get(agent_id)) is None
    assert done(store, lambda tx: tx.executions.get("e")) is None
    assert done(store, lambda tx: tx.journal.read(agent_id)) == []
    for body in ("half", "hello"):
        missing = answer_of(store, using(lambda tx, name: tx.contents.get(name), Content.of(body).digest))
        assert isinstance(missing, Refused), body
    done(store, _write_everywhere)
    done(store, lambda tx: tx.agents.delete(agent_id))


def _submitted(store: Store, operations: list[Any]) -> list[Answer[Any]]:
    """The answers, in the order of submission."""
    answers: dict[int, list[Answer[Any]]] = {number: [] for number in range(len(operations))}
    finished = threading.Semaphore(0)

    def receiver(number: int) -> Any:
        def receive(answer: Answer[Any]) -> None:
            answers[number].append(answer)
            finished.release()

        return receive

    for number, operation in enumerate(operations):
        store.submit(operation, receiver(number))
    for _ in operations:
        assert finished.acquire(timeout=WAIT), "the store gave no answer"
    assert all(len(given) == 1 for given in answers.values())
    return [given[0] for given in answers.values()]


def _value(answer: Answer[Any]) -> Any:
    assert isinstance(answer, Committed), answer
    return answer.value


def _raised(call: Any) -> BaseException | None:
    try:
        call()
    except Exception as error:
        return error
    return None
