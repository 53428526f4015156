"""Whom events are told: listeners, and the consumers of streams."""

from __future__ import annotations

from pawl.runtime.execution.heart import Live
from pawl.runtime.execution.listeners import Listeners
from pawl.runtime.execution.streams import Streams
from pawl.runtime.records.events import Event, durable_events
from pawl.runtime.records.journal import JournalEntry, JournalKind


class Audience:
    """Tells each event to both, listeners first. On the loop."""

    def __init__(self, listeners: Listeners, streams: Streams) -> None:
        self._listeners, self._streams = listeners, streams

    def tell(self, event: Event | None) -> None:
        """One event, where there is one."""
        if event is not None:
            self._listeners.tell(event)
            self._streams.tell((event,))

    def announce(self, live: Live, position: int, journal: tuple[JournalEntry, ...]) -> None:
        """Each durable event with the position of its record as cursor; that of a rest is told at the rest."""
        agent_id, execution_id = live.invocation.agent_id, live.execution_id
        if not (self._listeners.any or self._streams.watched(execution_id)):
            return
        for place, entry in enumerate(journal, position + 1):
            if entry.kind is JournalKind.APPROVAL_REQUIRED:
                continue
            body = entry.content.body if entry.content is not None else None
            events = durable_events(entry.kind, agent_id, execution_id, place, body, entry.meta)
            for event in events:
                self._listeners.tell(event)
            self._streams.tell(events)

    def rest(self, live: Live, event: Event) -> None:
        """The execution has come to a rest: consumers read its event off the record where it has one."""
        self._listeners.tell(event)
        self._streams.sync(live.execution_id, live.invocation.position, event)
