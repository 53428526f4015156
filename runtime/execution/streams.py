"""Live events for consumers: a bounded buffer each, filled on the loop, which nothing of a run ever waits for.

A consumer that is slow loses tokens, and is told how many. Events of the journal are not lost: a buffer that cannot
hold them keeps the position up to which they are to be read instead. Nobody has to say goodbye: buffers are held
weakly here, and are gone with their consumer.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence

import attrs

from pawl.runtime.records.events import Event, EventKind

BUFFER = 1000
"""Events that wait for one consumer, unless it says otherwise."""

ENDINGS = frozenset({EventKind.DONE, EventKind.ERROR, EventKind.TIMEOUT, EventKind.CANCELLED})
"""The events of an ended run: each is the last one."""


@attrs.frozen
class Sync:
    """Read the journal up to position `upto`, then go on with what follows here. `rest` is the event of a rest that
    the execution came to there.
    """

    upto: int
    rest: Event | None = None


@attrs.define
class _Gap:
    """So many tokens are missing here."""

    count: int


class Buffer:
    """What waits for one consumer, in order. `through_rests` false: nothing is kept behind the event of a rest."""

    def __init__(self, limit: int, *, tokens: bool = True, through_rests: bool = False) -> None:
        self._limit, self._through = limit, through_rests
        self._items: deque[tuple[Event, ...] | Sync | _Gap] = deque()
        self._held = 0
        self._behind: Sync | None = None
        self._over = False
        self.tokens = tokens
        self.dropped = 0
        self.wake = _nobody
        self.missed: Callable[[int], None] = _uncounted
        self.error: Exception | None = None

    def __len__(self) -> int:
        return self._held

    @property
    def waiting(self) -> bool:
        """Whether there is anything to take."""
        return bool(self._items) or self._behind is not None

    @property
    def wants_tokens(self) -> bool:
        """Whether tokens are kept that are told now."""
        return self.tokens and not self._over

    def tell(self, events: tuple[Event, ...]) -> None:
        """One event that is on no record, or all that one record is."""
        if self._over or (events[0].kind is EventKind.TOKEN and not self.tokens):
            return
        cursor = events[0].cursor
        if cursor is None:
            self._ephemeral(events)
        else:
            self._durable(events, cursor)
        self._over = events[-1].kind in ENDINGS
        self.wake()

    def sync(self, upto: int, rest: Event | None = None) -> None:
        """What is on record up to there was not told, or comes to a rest there."""
        if self._over:
            return
        if self._behind is not None:
            self._behind = Sync(max(upto, self._behind.upto), rest or self._behind.rest)
        else:
            self._items.append(Sync(upto, rest))
        self._over = rest is not None and not self._through
        self.wake()

    def fail(self, error: Exception) -> None:
        """Nothing more will come here."""
        self.error = error
        self.wake()

    def take(self) -> tuple[tuple[Event, ...] | Sync | None, int]:
        """The oldest of what waits, None when nothing does; and how many tokens are missing before it."""
        gap = 0
        while self._items:
            item = self._items.popleft()
            if isinstance(item, _Gap):
                gap += item.count
                continue
            if isinstance(item, tuple):
                self._held -= len(item)
            return item, gap
        behind, self._behind = self._behind, None
        return behind, gap

    def _ephemeral(self, events: tuple[Event, ...]) -> None:
        if self._behind is None and self._held < self._limit:
            self._add(events)
        else:
            self._miss(len(events))

    def _durable(self, events: tuple[Event, ...], cursor: int) -> None:
        if self._behind is None and self._held + len(events) > self._limit:
            self._forget_tokens()
        if self._behind is None and self._held + len(events) > self._limit:
            self._behind = Sync(cursor)
        elif self._behind is not None:
            self._behind = attrs.evolve(self._behind, upto=max(cursor, self._behind.upto))
        else:
            self._add(events)

    def _add(self, events: tuple[Event, ...]) -> None:
        self._items.append(events)
        self._held += len(events)

    def _miss(self, count: int) -> None:
        self.dropped += count
        self.missed(count)
        self._gap(count)

    def _gap(self, count: int) -> None:
        if self._items and isinstance(self._items[-1], _Gap):
            self._items[-1].count += count
        else:
            self._items.append(_Gap(count))

    def _forget_tokens(self) -> None:
        """Make room: what is on no record goes first. Each gap stays where it is."""
        waiting, self._items, self._held = self._items, deque(), 0
        for item in waiting:
            if isinstance(item, _Gap):
                self._gap(item.count)
            elif isinstance(item, tuple) and item[0].cursor is None:
                self._miss(len(item))
            elif isinstance(item, tuple):
                self._add(item)
            else:
                self._items.append(item)


def _nobody() -> None:
    """Whom a buffer wakes that nobody waits at."""


def _uncounted(_: int) -> None:
    """Whom a buffer tells what was missed, before it is attached."""


class Streams:
    """The consumers of one runtime, by execution. All but `attach` and the end of a consumer happens on the loop."""

    def __init__(self) -> None:
        self._buffers: dict[str, dict[int, weakref.ref[Buffer]]] = {}
        self._sweep_at = 16
        self._error: Exception | None = None
        self.attached = self.dropped = 0

    def attach(self, execution_id: str, buffer: Buffer) -> None:
        """Begin to fill a buffer. It is detached with `detach`, or when nobody holds it any more."""
        if len(self._buffers) >= self._sweep_at:
            self._sweep()
        buffers, key = self._buffers.setdefault(execution_id, {}), id(buffer)

        def gone(_: object) -> None:  # in any thread: what is empty is swept later, on the loop
            buffers.pop(key, None)

        buffers[key] = weakref.ref(buffer, gone)
        buffer.missed = self._missed
        self.attached += 1
        if self._error is not None:
            buffer.fail(self._error)

    def detach(self, execution_id: str, buffer: Buffer) -> None:
        """Fill it no more; detaching again does nothing."""
        buffers = self._buffers.get(execution_id)
        if buffers is not None:
            buffers.pop(id(buffer), None)
            if not buffers:
                del self._buffers[execution_id]

    def _missed(self, count: int) -> None:
        self.dropped += count

    def _sweep(self) -> None:
        for name in [name for name, buffers in self._buffers.items() if not buffers]:
            del self._buffers[name]
        self._sweep_at = 2 * len(self._buffers) + 16

    def __len__(self) -> int:
        return sum(map(len, self._buffers.values()))

    def watched(self, execution_id: str) -> bool:
        """Whether anybody follows this execution."""
        return bool(self._buffers.get(execution_id))

    def wants_tokens(self, execution_id: str) -> bool:
        """Whether anybody who follows it wants its tokens."""
        return any(buffer.wants_tokens for buffer in self._of(execution_id))

    def tell(self, events: Sequence[Event]) -> None:
        """Something that just happened: one event, or all that one record is."""
        for buffer in self._of(events[0].execution_id) if events else ():
            buffer.tell(tuple(events))

    def sync(self, execution_id: str, upto: int, rest: Event | None = None) -> None:
        """The execution is at position `upto` of its journal, and maybe at a rest there."""
        for buffer in self._of(execution_id):
            buffer.sync(upto, rest)

    def moved(self, execution_id: str) -> None:
        """It is not run here any more, or was closed: whoever waits is to look again."""
        for buffer in self._of(execution_id):
            buffer.wake()

    def close(self, error: Exception) -> None:
        """Nothing more comes here, neither for who follows nor for who would."""
        self._error = error
        for execution_id in tuple(self._buffers):
            for buffer in self._of(execution_id):
                buffer.fail(error)

    def _of(self, execution_id: str) -> list[Buffer]:
        known = self._buffers.get(execution_id)
        if not known:
            return []
        return [buffer for buffer in (ref() for ref in tuple(known.values())) if buffer is not None]
