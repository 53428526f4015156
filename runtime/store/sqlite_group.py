"""Group commit: waiting operations run in one transaction, each undone alone if it fails, all answered by one sync.

1. Operations run one after another without savepoints, since one that fails is rare: it is rolled back with its whole
   group, which then runs again *carefully*, each operation but the first in `sqlite_utils.Database.atomic`.
2. What SQLite rolls back as a whole (a full disk, an I/O error inside a statement) is known unwritten. The operation
   that met the error is answered; those that had run before it run again without it, in a new transaction.
3. Nobody is told anything that rests on an uncommitted sibling: answers go out after COMMIT. If COMMIT fails, an
   operation that had been refused is Unavailable (nothing of it is written, and what refused it may be gone).
4. After a COMMIT whose outcome is not known, the pages that it wrote may stand at the end of the log with a valid
   commit mark, unpublished; recovery after a crash would take them. So the connection is closed, and before anything
   else runs, read-backs included, a new one *seals* the log: it commits a row of its own, which overwrites those pages
   unless they have been taken, and then tries to move the whole log into the database file (for logs whose sync
   failed). From then on what a read-back sees stays so. Until the seal is on disk, every operation is Unavailable.

An operation in a group of 64 takes the store's thread 45 µs, a third of it the log and its sync; savepoints, and asking
again for rows that are known (`sqlite_rows`), would add 25.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from pawl.runtime.records.errors import StoreUnavailable
from pawl.runtime.store.answers import Answer, Committed, Refused, Unavailable, Uncertain
from pawl.runtime.store.port import Operation
from pawl.runtime.store.sqlite_connect import Place
from pawl.runtime.store.sqlite_errors import of_commit, of_operation
from pawl.runtime.store.sqlite_transaction import SqliteTransaction
from pawl.runtime.store.worker import Job, Take, reply

if TYPE_CHECKING:
    from sqlite_utils.db import Database

GROUP: Final = 256
"""How many operations one COMMIT takes at most."""

ROLLBACKS: Final = 3
"""How often the members of a group run again after SQLite rolled the group back, before they are told to come later."""

CHECKPOINT_EVERY: Final = 256
"""How many operations are committed between two checkpoints of the log, which run after the answers are out."""

_log: Final = logging.getLogger("pawl.store")


class GroupWriter:
    """The one connection of a store that writes."""

    def __init__(self, place: Place, connection: sqlite3.Connection) -> None:
        self._place = place
        self._connection: sqlite3.Connection | None = connection
        self._identity = place.identity()
        self._transaction = SqliteTransaction(connection)
        self._savepoints: Database | None = None
        self._version = -1
        self._in_doubt = False
        self._since_checkpoint = 0

    def serve(self, first: Job, take: Take) -> None:
        """Run `first` and what else is waiting, commit, answer. Never raises."""
        _Group(self, first, take).run()

    def end(self) -> None:
        """Close; whoever closes the file last moves the log into it."""
        self._checkpoint("PASSIVE")
        self._drop()

    # --- what a group asks of the connection ---

    @property
    def open(self) -> bool:
        """Whether a transaction is open."""
        return self._connection is not None and self._connection.in_transaction

    def begin(self) -> None:
        """Take the write lock, on a new connection if there is none. Raises what SQLite and `Place` raise."""
        if self._connection is not None and self._identity != self._place.identity():
            # Somebody deleted it, or put a backup in its place. What is written into the old one now is never read
            # again, and in the new one others may own what is owned here: the fence has to be asked there.
            self._drop()
        if self._connection is None:
            self._identity = self._place.identity()
            self._connection = self._place.writer()
            self._transaction = SqliteTransaction(self._connection)
        if self._in_doubt:
            self._seal(self._connection)
        self._connection.execute("BEGIN IMMEDIATE")
        self._remember(self._connection)

    def attempt(self, operation: Operation[Any]) -> Answer[Any]:
        """Run an operation. After anything but Committed the transaction may hold half of it: roll it back."""
        try:
            return Committed(operation(self._transaction))
        except BaseException as error:
            return of_operation(error)

    def attempt_carefully(self, operation: Operation[Any]) -> Answer[Any]:
        """Run an operation in a savepoint of its own.

        After anything but Committed nothing of it is left; `open` tells whether the siblings are still there.
        """
        own: BaseException | None = None
        try:
            with self._database().atomic():
                try:
                    return Committed(operation(self._transaction))
                except BaseException as error:
                    own = error
                    raise
        except BaseException as error:
            self._transaction.renew()
            if error is not own:
                # The savepoint itself failed and may still hold half of the operation: give up the whole transaction.
                self.rollback()
            return of_operation(error)

    def commit(self) -> Unavailable | Uncertain | None:
        """COMMIT; None when it is on disk."""
        assert self._connection is not None
        try:
            self._connection.execute("COMMIT")
        except BaseException as error:
            answer = of_commit(error, self.open)
            _log.warning("COMMIT failed, %s: %s", type(answer).__name__.lower(), error)
            if self.open:
                self.rollback()
            else:
                self._drop()
                self._in_doubt = True
            return answer
        return None

    def rollback(self) -> None:
        """End the transaction without a trace; closing the connection does it when ROLLBACK fails."""
        self._transaction.renew()
        if self._connection is not None and self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                self._drop()

    def tidy(self, committed: int) -> None:
        """Checkpoint now and then, while nobody waits for an answer."""
        self._since_checkpoint += committed
        if self._since_checkpoint >= CHECKPOINT_EVERY:
            self._checkpoint("PASSIVE")

    # --- inside ---

    def _remember(self, connection: sqlite3.Connection) -> None:
        """Keep what is known of the rows if nobody else has committed since this connection last held the lock."""
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._transaction.renew()
        else:
            self._transaction.renew_if_many()

    def _database(self) -> Database:
        """sqlite-utils' view of the connection, made when a group runs carefully for the first time."""
        if self._savepoints is None:
            from sqlite_utils.db import Database  # noqa: PLC0415  # slow to import, and seldom needed

            assert self._connection is not None
            self._savepoints = Database(self._connection, recursive_triggers=False, execute_plugins=False)
        return self._savepoints

    def _seal(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE seal SET count = count + 1")
            connection.execute("COMMIT")
        except BaseException:
            self._drop()
            raise
        self._in_doubt = False
        self._checkpoint("TRUNCATE")

    def _checkpoint(self, mode: str) -> None:
        self._since_checkpoint = 0
        if self._connection is not None:
            with suppress(sqlite3.Error):  # busy, or no room in the database file: the log keeps what it has
                self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()

    def _drop(self) -> None:
        """Close the connection; `begin` makes a new one."""
        connection, self._connection, self._savepoints = self._connection, None, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


class _Group:
    """The operations of one COMMIT, from the first one taken to the last answer."""

    def __init__(self, writer: GroupWriter, first: Job, take: Take) -> None:
        self._writer, self._take = writer, take
        self._waiting: deque[Job] = deque([first])
        self._done: list[tuple[Job, Answer[Any]]] = []
        self._rollbacks = 0
        self._careful = False

    def run(self) -> None:
        """Run, commit, answer every member."""
        try:
            self._run_members()
            failure = self._writer.commit() if self._done else None
        except BaseException as error:
            self._give_up(error)
            return
        for job, answer in self._done:
            if failure is None:
                reply(job, answer)
            else:
                reply(job, failure if isinstance(answer, Committed) else Unavailable(failure.error))
        self._writer.tidy(len(self._done))

    def _run_members(self) -> None:
        while self._waiting or self._take_one():
            if not self._writer.open:
                self._writer.begin()
            job = self._waiting.popleft()
            if self._careful and self._done:
                answer = self._writer.attempt_carefully(job[0])
                settled = self._writer.open
            else:
                answer = self._writer.attempt(job[0])
                settled = self._writer.open and isinstance(answer, Committed)
            if settled:
                self._done.append((job, answer))
            elif self._writer.open and self._done:
                self._run_again_carefully(job)
            else:
                self._writer.rollback()
                self._run_again_without(job, answer)

    def _take_one(self) -> bool:
        job = self._take() if len(self._done) < GROUP else None
        if job is not None:
            self._waiting.append(job)
        return job is not None

    def _run_again_carefully(self, job: Job) -> None:
        """An operation has failed among others: its half is undone with the work of the others, and all of them run
        again in savepoints. Nobody has heard of anything yet.
        """
        self._writer.rollback()
        self._careful = True
        self._waiting.appendleft(job)
        self._waiting.extendleft(job for job, _ in reversed(self._done))
        self._done.clear()

    def _run_again_without(self, job: Job, answer: Answer[Any]) -> None:
        reply(job, answer)
        if not self._done:
            return
        self._waiting.extendleft(job for job, _ in reversed(self._done))
        self._done.clear()
        self._rollbacks += 1
        if self._rollbacks == ROLLBACKS:
            error = answer.error if isinstance(answer, (Refused, Unavailable)) else StoreUnavailable("rolled back")
            while self._waiting:
                reply(self._waiting.popleft(), Unavailable(error))

    def _give_up(self, error: BaseException) -> None:
        """The transaction can not begin: whoever waits hears it now, rather than after a busy timeout of its own."""
        self._writer.rollback()
        answer = of_operation(error)
        self._waiting.extendleft(job for job, _ in reversed(self._done))
        self._done.clear()
        while self._waiting or self._take_one():
            reply(self._waiting.popleft(), answer)
