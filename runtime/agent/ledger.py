"""The conversation as units that a context policy may leave out, with running totals of their tokens.

A unit is an exchange (everything of one earlier run that the transcript shows), the input of the current run, or,
inside the current run, one answer of the model with everything up to the next one: its calls and all their results
together, or the correction that it got. What is in one unit is seen or left out together, so that every request stays
valid for a provider.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

import attrs

from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.records.messages import Message

Count = Callable[[Message], int]


@attrs.frozen
class Stretch:
    """Where a unit is: messages [start, end) of the transcript, journal positions first to last."""

    start: int
    end: int
    first: int
    last: int


class Ledger:
    """An immutable view of lists that are only ever appended to, as in Transcript: growing the newest view is as cheap
    as what is added.

    `request` is the number of the unit that is the current run's input, `position` the journal position up to which
    it is kept.
    """

    __slots__ = ("_length", "_stretches", "_totals", "position", "request")

    def __init__(self) -> None:
        self._stretches: list[Stretch] = []
        self._totals: list[int] = [0]
        self._length = 0
        self.request, self.position = -1, 0

    def __len__(self) -> int:
        return self._length

    @property
    def messages(self) -> int:
        """How many messages of the transcript are in it."""
        return self._stretches[self._length - 1].end if self._length else 0

    @property
    def total(self) -> int:
        """Tokens of all units."""
        return self._totals[self._length]

    def stretch(self, number: int) -> Stretch:
        """Where unit `number` is."""
        if not 0 <= number < self._length:
            raise IndexError(number)
        return self._stretches[number]

    def tokens(self, number: int) -> int:
        """Tokens of unit `number`."""
        return self._totals[number + 1] - self._totals[number]

    def needed(self, number: int) -> bool:
        """Whether unit `number` never leaves: the current input, and the newest answer, that the model goes on from."""
        return number == self.request or number == self._length - 1

    def grown(self, stretch: Stretch, tokens: int, *, request: bool = False) -> Ledger:
        """With one unit more."""
        newest = len(self._stretches) == self._length
        view = Ledger()
        view._stretches = self._stretches if newest else self._stretches[: self._length]
        view._totals = self._totals if newest else self._totals[: self._length + 1]
        view._stretches.append(stretch)
        view._totals.append(view._totals[-1] + tokens)
        view._length = self._length + 1
        view.request = self._length if request else self.request
        view.position = stretch.last
        return view

    def reaching(self, position: int) -> Ledger:
        """The same units, for a journal that ends at `position`."""
        view = Ledger()
        view._stretches, view._totals, view._length = self._stretches, self._totals, self._length
        view.request, view.position = self.request, position
        return view

    def oldest_out(self, room: int) -> tuple[range, range] | None:
        """How many units have to leave, the oldest first, until the others have at most `room` tokens: those before
        the current input, and those behind it. None when even what never leaves has more. Costs a binary search.
        """
        totals, request, end = self._totals, self.request, self._length
        over = totals[end] - room
        left = bisect_left(totals, over, 0, request + 1)
        if left <= request:
            return range(left), range(0)
        over += totals[request + 1] - totals[request]  # the input stays, in the middle of what leaves
        left = bisect_left(totals, over, request + 1, max(end, request + 1))
        if left >= end or request + 1 >= end:
            return None
        return range(request), range(request + 1, left)


def ledger_of(records: Sequence[JournalRecord], execution_id: str, count: Count, messages: Sequence[Message]) -> Ledger:
    """The units of a transcript: message records, and the messages that they are, one for one."""
    ledger, start = Ledger(), 0
    for end in range(1, len(records) + 1):
        if end < len(records) and not _begins(records[end], records[end - 1], execution_id):
            continue
        tokens = sum(count(messages[place]) for place in range(start, end))
        stretch = Stretch(start, end, records[start].position, records[end - 1].position)
        current = records[start].execution_id == execution_id and records[start].kind is JournalKind.EXTERNAL_MESSAGE
        ledger = ledger.grown(stretch, tokens, request=current)
        start = end
    return ledger


def _begins(record: JournalRecord, before: JournalRecord, execution_id: str) -> bool:
    """Whether a message record is the first of a unit."""
    if record.execution_id != before.execution_id:
        return True
    return record.execution_id == execution_id and record.kind is JournalKind.ASSISTANT_MESSAGE


def continued(ledger: Ledger, messages: Sequence[Message], position: int, count: Count) -> Ledger:
    """With what one step of the current run has added: an answer, and what follows from it."""
    start, end = ledger.messages, len(messages)
    if end == start:
        return ledger.reaching(position)
    tokens = sum(count(messages[place]) for place in range(start, end))
    return ledger.grown(Stretch(start, end, ledger.position + 1, position), tokens)
