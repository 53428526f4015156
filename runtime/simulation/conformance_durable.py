"""The conformance suite of stores that last: several connections, readers beside writers, places that go wrong."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pawl.runtime.records.agents import Authority
from pawl.runtime.records.errors import (
    AgentBusy,
    CodecError,
    SchemaTooNew,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from pawl.runtime.records.frozen import replace
from pawl.runtime.simulation.conformance_base import Conformance, refusal, using
from pawl.runtime.simulation.hostile import TEXTS
from pawl.runtime.simulation.samples import (
    WAIT,
    a_content,
    an_agent,
    an_entry,
    an_execution,
    answer_of,
    done,
)
from pawl.runtime.store.answers import Answer, Committed, Refused, Superseded, Unavailable, Uncertain
from pawl.runtime.store.ownership import assert_fence, claim
from pawl.runtime.store.port import Store, Transaction
from pawl.runtime.store.unreadable import Surveyed, Unreadable


class SharedConformance(Conformance):
    """Part of `DurableConformance`. The methods before the tests say how this adapter's stores go wrong."""

    def why_not(self, folder: Path) -> str | None:
        """See `Conformance`; and what one connection has written, another one has to see."""
        wrong = super().why_not(folder)
        if wrong is not None:
            return wrong
        with self.opened(folder) as first, self.opened(folder) as second:
            done(first, lambda tx: tx.agents.insert(an_agent()))
            if second.read(lambda tx: tx.agents.get("a")) is not None:
                return None
        return (
            "two stores made for one folder do not share what they keep; keep it in `folder`, or, for a store in"
            " memory, join with durable=False (--pawl-store-in-memory)"
        )

    def make_newer(self, folder: Path) -> None:  # noqa: ARG002
        """Make the (closed) store look as if a newer Pawl had written it."""
        pytest.skip("this adapter does not say how its store gets newer")

    def make_older(self, folder: Path) -> None:  # noqa: ARG002
        """Make the (closed) store one of the schema before, with all that is in it."""
        pytest.skip("this adapter does not say how its store gets older")

    def damage(self, folder: Path) -> None:  # noqa: ARG002
        """Damage the (closed) store, all of it but what is looked at when it is opened."""
        pytest.skip("this adapter does not say how its store is damaged")

    def make_full(self, folder: Path) -> Store:  # noqa: ARG002
        """The store that is there, not opened, with room for some kilobytes more, and not for a megabyte."""
        pytest.skip("this adapter does not say how its store is full")

    def make_read_only(self, folder: Path) -> Store:  # noqa: ARG002
        """The store that is there, not opened, where nothing can be written."""
        pytest.skip("this adapter does not say how its store is read-only")

    def make_uncertain(self, folder: Path, landed: bool) -> Store:  # noqa: ARG002
        """The store that is there, open, whose next commit loses its reply: it is written where it has `landed`."""
        pytest.skip("this adapter does not say how a reply of its store is lost")

    def rewrite(self, folder: Path, text: str) -> None:  # noqa: ARG002
        """Put a text in the place of every record of an execution in the (closed) store."""
        pytest.skip("this adapter does not say how somebody rewrites its records")

    def remove(self, folder: Path) -> None:  # noqa: ARG002
        """Remove the store, open or not."""
        pytest.skip("this adapter does not say how its store goes")

    def bytes_of(self, folder: Path) -> bytes:
        """What of a closed store may not change while it is refused."""
        return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())

    @contextmanager
    def two(self, folder: Path) -> Iterator[tuple[Store, Store]]:
        """Two connections."""
        with self.opened(folder) as one, self.opened(folder) as other:
            yield one, other

    # --- what lasts ---

    def test_what_was_committed_is_there_after_closing(self, tmp_path: Path) -> None:
        """All of it."""
        with self.opened(tmp_path) as store:
            done(store, _begin)
            before = store.read(_all)
        with self.opened(tmp_path) as store:
            assert store.read(_all) == before
            assert done(store, _all) == before

    # --- two connections ---

    def test_what_one_connection_commits_the_other_sees(self, tmp_path: Path) -> None:
        """When it reads and when it writes, whatever it knew before."""
        with self.two(tmp_path) as (one, other):
            for number in range(5):
                writer, reader = (one, other) if number % 2 else (other, one)
                root = an_agent("a", answers=number)
                done(
                    writer,
                    using(lambda tx, root: tx.agents.save(root) if root.answers else tx.agents.insert(root), root),
                )
                assert reader.read(lambda tx: tx.agents.get("a")) == root
                assert done(reader, lambda tx: tx.agents.get("a")) == root

    def test_what_is_refused_in_one_connection_the_other_never_sees(self, tmp_path: Path) -> None:
        """Not even half of it."""
        with self.two(tmp_path) as (one, other):

            def half(tx: Transaction) -> None:
                _begin(tx)
                raise AgentBusy("e", "active")

            assert isinstance(answer_of(one, half), Refused)
            assert other.read(_all) == ([], [], [])

    def test_a_revision_is_taken_by_one_of_two(self, tmp_path: Path) -> None:
        """Of two connections that saw the same one."""
        with self.two(tmp_path) as (one, other):
            done(one, _begin)
            saved = [done(store, using(_save, token)) for store, token in ((one, "of one"), (other, "of the other"))]
            assert saved == [True, False]
            record = other.read(lambda tx: tx.executions.get("e"))
            assert record is not None
            assert (record.revision, record.token) == (1, "of one")

    def test_one_open_execution_an_agent_over_all_connections(self, tmp_path: Path) -> None:
        """The other is told which."""
        with self.two(tmp_path) as (one, other):
            done(one, _begin)
            busy = refusal(other, lambda tx: tx.executions.insert(an_execution("e2")), AgentBusy)
            assert busy.execution_id == "e"

    def test_a_journal_has_one_end_over_all_connections(self, tmp_path: Path) -> None:
        """Each appends where it stands now."""
        with self.two(tmp_path) as (one, other):
            done(one, _begin)
            done(one, lambda tx: tx.journal.append("a", 1, [an_entry("one")]))
            refusal(other, lambda tx: tx.journal.append("a", 1, [an_entry("other")]), StoreCorrupt)
            done(other, lambda tx: tx.journal.append("a", 2, [an_entry("other")]))
            assert done(one, lambda tx: tx.journal.position("a")) == 3
            assert [record.body for record in one.read(lambda tx: tx.journal.read("a", 1))] == ["one", "other"]

    def test_who_was_taken_over_is_told_so(self, tmp_path: Path) -> None:
        """At its next write, in its own connection."""
        with self.two(tmp_path) as (one, other):
            done(one, _begin)
            first = done(one, claim("a", "one", 10.0, lambda _: False))
            second = done(other, claim("a", "other", 10.0, lambda _: False))
            assert second.fence == first.fence + 1
            answer = answer_of(one, lambda tx: assert_fence(tx, "a", Authority("one", first.fence)))
            assert answer == Superseded("other")

    def test_writers_in_two_connections_lose_nothing(self, tmp_path: Path) -> None:
        """Of many that are submitted at once."""
        with self.two(tmp_path) as (one, other):
            done(one, _begin)
            answers: list[Answer[int]] = []
            ready = threading.Semaphore(0)

            def received(answer: Answer[int]) -> None:
                answers.append(answer)
                ready.release()

            for _ in range(50):
                for store in (one, other):
                    store.submit(_count, received)
            for _ in range(100):
                assert ready.acquire(timeout=WAIT), "the store gave no answer"
            assert sorted(answer.value for answer in answers if isinstance(answer, Committed)) == list(range(1, 101))

    # --- readers and writers ---

    def test_a_reader_keeps_no_writer_waiting_and_sees_one_moment(self, tmp_path: Path) -> None:
        """However long it takes."""
        with self.two(tmp_path) as (one, other):
            done(one, _begin)
            looking, written = threading.Event(), threading.Event()

            def slowly(tx: Transaction) -> tuple[Any, Any]:
                before = _all(tx)
                looking.set()
                assert written.wait(WAIT), "a reader kept a writer waiting"
                return before, _all(tx)

            for reader in (one, other):
                looking.clear()
                written.clear()
                seen = _Thread(partial(reader.read, slowly))
                assert looking.wait(WAIT)
                done(one, _count)
                written.set()
                before, after = seen.result()
                assert before == after

    def test_a_writer_keeps_no_reader_waiting(self, tmp_path: Path) -> None:
        """However long it takes; what it has not committed is not seen."""
        with self.two(tmp_path) as (one, other):
            done(one, _begin)
            before = one.read(_all)
            writing, go_on = threading.Event(), threading.Event()

            def slowly(tx: Transaction) -> None:
                _count(tx)
                writing.set()
                assert go_on.wait(WAIT)

            thread = _Thread(partial(done, one, slowly))
            try:
                assert writing.wait(WAIT)
                assert other.read(_all) == before
            finally:
                go_on.set()
            thread.result()
            assert other.read(_all) != before

    # --- places that go wrong ---

    def test_a_newer_store_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        """Byte for byte."""
        with self.opened(tmp_path) as store:
            done(store, _begin)
        self.make_newer(tmp_path)
        before = self.bytes_of(tmp_path)
        with pytest.raises(SchemaTooNew):
            self.make_store(tmp_path).open()
        assert self.bytes_of(tmp_path) == before

    def test_an_older_store_is_brought_up_to_date_with_all_that_is_in_it(self, tmp_path: Path) -> None:
        """Once; and it can be written then."""
        with self.opened(tmp_path) as store:
            done(store, _begin)
            before = store.read(_all)
        self.make_older(tmp_path)
        for _ in range(2):
            with self.opened(tmp_path) as store:
                assert store.read(_all) == before
        with self.opened(tmp_path) as store:
            assert done(store, _count) == 1
            assert list(store.read(lambda tx: tx.upkeep.problems())) == []

    def test_a_damaged_store_says_so(self, tmp_path: Path) -> None:
        """It is corrupt, not empty; nothing is made up."""
        with self.opened(tmp_path) as store:
            done(store, _begin)
        self.damage(tmp_path)
        store = self.make_store(tmp_path)
        try:
            with pytest.raises(StoreCorrupt):
                _opened_and_read(store)
            answer = answer_of(store, _count)
            assert isinstance(answer, Refused | Unavailable)
            assert isinstance(answer.error, StoreError)
        finally:
            store.close()

    def test_a_full_store_is_unavailable_until_there_is_room(self, tmp_path: Path) -> None:
        """What did not fit has left nothing behind, and the rest can be read and written."""
        with self.opened(tmp_path) as store:
            done(store, _begin)
        store = self.make_full(tmp_path)
        store.open()
        try:
            before = store.read(_all)

            def large(tx: Transaction) -> None:
                _count(tx)
                tx.contents.put(a_content("x" * 1_000_000))

            answer = answer_of(store, large)
            assert isinstance(answer, Unavailable)
            assert isinstance(answer.error, StoreUnavailable)
            assert store.read(_all) == before
            assert done(store, _count) == 1
        finally:
            store.close()

    def test_a_store_that_cannot_be_written_says_so(self, tmp_path: Path) -> None:
        """When it is opened, or at the first write."""
        with self.opened(tmp_path) as store:
            done(store, _begin)
        store = self.make_read_only(tmp_path)
        try:
            try:
                store.open()
            except StoreReadOnly:
                return
            answer = answer_of(store, _count)
            assert isinstance(answer, Refused)
            assert isinstance(answer.error, StoreReadOnly)
        finally:
            store.close()

    @pytest.mark.parametrize("landed", [True, False])
    def test_a_commit_whose_reply_is_lost_is_uncertain(self, tmp_path: Path, landed: bool) -> None:
        """Who reads then sees whether it was written, and that does not change any more."""
        with self.opened(tmp_path) as store:
            done(store, _begin)
        store = self.make_uncertain(tmp_path, landed)
        try:
            assert isinstance(answer_of(store, _count), Uncertain)
            found = done(store, lambda tx: tx.agents.get("a"))
            assert found is not None
            assert found.answers == landed
            assert done(store, _count) == landed + 1
        finally:
            store.close()
        with self.opened(tmp_path) as store:
            assert done(store, _count) == landed + 2

    def test_a_record_that_somebody_has_rewritten_is_not_read(self, tmp_path: Path) -> None:
        """Nor taken for work, but told in its place; nothing is imported for it, and everything else goes on."""
        with self.opened(tmp_path) as store:
            done(store, _begin)
            known = set(sys.modules)
        for counted, text in enumerate(filter(_is_unicode, TEXTS), 1):
            self.rewrite(tmp_path, text)
            with self.opened(tmp_path) as store:
                with pytest.raises(CodecError):
                    store.read(lambda tx: tx.executions.get("e"))
                with pytest.raises(CodecError):
                    store.read(lambda tx: tx.executions.list())
                told = store.read(_adoptable_or_listed)
                assert [type(one) for one in told] == [Unreadable] * 2
                assert [(one.execution_id, one.agent_id, one.created_at) for one in told] == [("e", "a", 10.0)] * 2
                assert done(store, _count) == counted
            assert set(sys.modules) == known

    def test_a_store_that_has_gone_is_not_made_anew(self, tmp_path: Path) -> None:
        """An empty one in its place would be a lie."""
        with self.opened(tmp_path) as store:
            done(store, _begin)
            self.remove(tmp_path)
            answer = answer_of(store, _count)
            assert isinstance(answer, Unavailable | Refused)
            assert isinstance(answer.error, StoreError)
            with pytest.raises(StoreError):
                store.read(_all)
            assert list(tmp_path.iterdir()) == []


class _Thread:
    """A call on another thread, with its result."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._results: list[Any] = []
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, args=(call,))
        self._thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self._results.append(call())
        except BaseException as error:
            self._errors.append(error)

    def result(self) -> Any:
        """What it returned; raises what it raised."""
        self._thread.join(WAIT)
        if self._errors:
            raise self._errors[0]
        return self._results[0]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _opened_and_read(store: Store) -> None:
    store.open()
    store.read(_all)


def _begin(tx: Transaction) -> None:
    tx.agents.insert(an_agent())
    tx.executions.insert(an_execution())
    tx.journal.append("a", 0, [an_entry("first")])


def _adoptable_or_listed(tx: Transaction) -> list[Surveyed]:
    return [*tx.executions.adoptable("me", 10.0), *(found for found, _ in tx.executions.survey())]


def _all(tx: Transaction) -> tuple[Any, ...]:
    return list(tx.agents.list()), list(tx.executions.list()), list(tx.journal.read("a"))


def _count(tx: Transaction) -> int:
    root = tx.agents.get("a")
    assert root is not None
    tx.agents.save(replace(root, answers=root.answers + 1))
    return root.answers + 1


def _save(tx: Transaction, token: str) -> bool:
    return tx.executions.save(an_execution(revision=1, token=token), 0)
