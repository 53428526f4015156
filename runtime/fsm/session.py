"""`Session`: one live run of a machine, the mutable shell around `advance` for machines of your own.

    session = Session(MACHINE, context)
    step = session.start()              # carry out step.effects
    step = session.send("submitted", form)

A session is used by one thread. It holds timers as absolute deadlines on the clock it was given and starts nothing
by itself: the host asks `due()` and calls `fire_due()`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import count
from types import MappingProxyType
from typing import Any, Generic, cast
from weakref import ref

from pawl.runtime.fsm import step as engine
from pawl.runtime.fsm.errors import (
    AlreadyStarted,
    AutomaticLoop,
    InvalidAction,
    InvalidGuard,
    MachineError,
    NotStarted,
    SessionBusy,
    SessionEnded,
    StepFailed,
)
from pawl.runtime.fsm.snapshot import Deadline, SavedDeadline, Snapshot
from pawl.runtime.fsm.step import Arm, C, Disarm, Explanation, Step
from pawl.runtime.fsm.table import E, Kind, Machine, S, Taken

Clock = Callable[[], float]
"""Seconds since any fixed moment. Snapshots outlive a process, so use one that does too, as `time.time` does."""

_NO_DEADLINES: Mapping[str, Deadline] = MappingProxyType({})
_AT_REST = (Kind.WAIT, Kind.FINAL, Kind.HALT)
_incarnations = count(1)


class _Life(StrEnum):
    NEW = "new"
    LIVE = "live"
    BUSY = "busy"
    AT_REST = "at rest"
    FAILED = "failed"
    CLOSED = "closed"


class Session(Generic[S, E, C]):
    """One run of `machine` over `context`, from its start, or from a snapshot, to rest.

    Attributes: `machine`; `state`; `context`, replaced by what actions return; `seq`, the number of steps that took a
    row since the machine was started, kept by snapshots; `incarnation`, a number that no other session of this process
    has; `failure`, what ended the session in error, or None.
    """

    __slots__ = (
        "__weakref__", "_clock", "_deadlines", "_inbox", "_life",
        "context", "failure", "incarnation", "machine", "seq", "state",
    )  # fmt: skip

    def __init__(self, machine: Machine[S, E], context: C, *, clock: Clock | None = None) -> None:
        if machine.timed and clock is None:
            timed = ", ".join(str(state) for state in machine.timed)
            raise TypeError(f"{machine.name} has timers (in {timed}): pass clock=, such as time.time")
        self.machine = machine
        self.context: C = context
        self.state: S = machine.initial
        self.seq = 0
        self.incarnation = next(_incarnations)
        self.failure: MachineError | None = None
        self._clock = clock
        self._life = _Life.NEW
        self._deadlines: dict[str, Deadline] | None = None
        self._inbox: deque[tuple[str, object]] | None = None

    @classmethod
    def restore(
        cls, machine: Machine[S, E], snapshot: Snapshot, context: C, *, clock: Clock | None = None
    ) -> Session[S, E, C]:
        """A new incarnation that goes on where `snapshot` was taken. No action runs and no automatic row is tried.

        Timers are armed again as their `resume` says. One that another version of the machine took is led to where the
        `migrations` of the spec say. Close the session that the snapshot was taken of when it is still alive. Raises
        SnapshotMismatch, UnknownState, MalformedSnapshot.
        """
        session = cls(machine, context, clock=clock)
        snapshot = snapshot.migrated(machine)
        session.state = snapshot.check(machine)
        session.seq = snapshot.seq
        session._life = _Life.AT_REST if machine.state[session.state].kind is Kind.FINAL else _Life.LIVE
        if snapshot.deadlines:
            now = session._now()
            session._deadlines = {
                saved.state: saved.resumed(machine.timed[saved.state].resume, now) for saved in snapshot.deadlines
            }
        return session

    def __repr__(self) -> str:
        if not hasattr(self, "_life"):
            return "<Session that could not be made>"  # a traceback, or a debugger, may show one
        return f"<Session {self.machine.name} #{self.incarnation} {self._life} in {self.state} after {self.seq} steps>"

    @property
    def alive(self) -> bool:
        """Whether it has been started and takes events: it is not at rest, not in error and not closed."""
        return self._life in (_Life.LIVE, _Life.BUSY)

    @property
    def deadlines(self) -> Mapping[str, Deadline]:
        """The armed timers, by the state that armed them."""
        return _NO_DEADLINES if self._deadlines is None else MappingProxyType(self._deadlines)

    def start(self, payload: object = None) -> Step[S, C]:
        """Enter the initial state. Once, before anything else. Raises as `send` does, and AlreadyStarted."""
        if self._life is not _Life.NEW:
            raise AlreadyStarted(self.machine.name, self.state)
        return self._apply(lambda: engine.start(self.machine, self.context, payload))

    def send(self, event: E | str, payload: object = None) -> Step[S, C]:
        """Take one event and go on to rest. The effects in the answer are for the caller to carry out, in order.

        Raises UnhandledEvent: the session is untouched. Raises StepFailed: it has ended in error, in the state it was
        in (a guard raised) or the one it was led to (an action raised). Raises InvalidAction, InvalidGuard,
        AutomaticLoop: it has ended in error, in the state it was in. Raises NotStarted, SessionBusy, SessionEnded.
        """
        if self._life is not _Life.LIVE:
            raise self._refusal(event)
        return self._apply(lambda: engine.advance(self.machine, self.state, self.context, event, payload))

    def can(self, event: E | str, payload: object = None) -> bool:
        """Whether a row would be taken now. Calls guards only; False when the session is not alive."""
        return self.alive and engine.can(self.machine, self.state, self.context, event, payload)

    def explain(self, event: E | str, payload: object = None) -> Explanation:
        """What each row of this state says about `event`, alive or not. Calls guards only."""
        return engine.explain(self.machine, self.state, self.context, event, payload)

    def allowed(self) -> tuple[str, ...]:
        """The events that have a row in this state; none when the session is not alive."""
        return engine.allowed(self.machine, self.state) if self.alive else ()

    def due(self, now: float | None = None) -> tuple[Deadline, ...]:
        """The timers whose deadline is not after `now` (default: the clock), earliest first."""
        if not self._deadlines:
            return ()
        moment = self._now() if now is None else now
        return tuple(
            sorted((timer for timer in self._deadlines.values() if timer.at <= moment), key=lambda due: due.at)
        )

    def fire_due(self, now: float | None = None) -> tuple[Step[S, C], ...]:
        """Send the event of every timer that is due, in the order of their deadlines; each fires once.

        A timer that one of these steps disarms does not fire, and one that it arms waits for the next call. Raises as
        `send` does.
        """
        steps = []
        for timer in self.due(now):
            if self.deadlines.get(timer.state) is timer:
                if self._life is not _Life.LIVE:
                    raise self._refusal(timer.event)
                self._without(timer.state)
                steps.append(self.send(timer.event))
        return tuple(steps)

    def sink(self) -> Sink:
        """A handle for those who bring results later; it is bound to this incarnation for good."""
        if self._inbox is None:
            self._inbox = deque()
        return Sink(self, self._inbox)

    def take(self) -> Step[S, C] | None:
        """Send the oldest event that was posted to a sink; None when nothing waits. Raises as `send` does."""
        if not self._inbox:
            return None
        if not self.alive:
            self._inbox.clear()
            return None
        event, payload = self._inbox.popleft()
        return self.send(event, payload)

    def snapshot(self) -> Snapshot:
        """Where the session stands, to restore later, also after it came to rest.

        Raises NotStarted, SessionBusy (an action is running), SessionEnded (in error: nothing says what was done).
        """
        if self._life in (_Life.NEW, _Life.BUSY, _Life.FAILED):
            raise self._refusal("snapshot")
        armed = tuple(self.deadlines.values())
        now = self._now() if armed else 0.0
        return Snapshot(
            machine=self.machine.name,
            version=self.machine.version,
            spec_hash=self.machine.spec_hash,
            state=str(self.state),
            deadlines=tuple(
                SavedDeadline(timer.state, timer.event, timer.at, timer.seconds, timer.at - now) for timer in armed
            ),
            seq=self.seq,
        )

    def close(self) -> None:
        """End this incarnation where it stands: its sinks are dead, its timers do not fire. Raises SessionBusy."""
        if self._life is _Life.BUSY:
            raise self._refusal("close")
        if self._life is not _Life.FAILED:
            self._life = _Life.CLOSED

    def _apply(self, run: Callable[[], Step[S, C]]) -> Step[S, C]:
        before, self._life = self._life, _Life.BUSY
        try:
            step = self._hold_timers(run())
        except StepFailed as error:
            self.state, self.context = self.machine.state[error.state].name, cast(C, error.context)
            self._life, self.failure, self._deadlines = _Life.FAILED, error, None
            raise
        except (AutomaticLoop, InvalidAction, InvalidGuard) as error:
            self._life, self.failure, self._deadlines = _Life.FAILED, error, None
            raise
        except BaseException:  # nothing was applied: the step did not happen
            self._life = before
            raise
        self.state, self.context = step.state, step.context
        self.seq += step.taken in (Taken.MOVED, Taken.STAYED)
        resting = step.taken is Taken.MOVED and self.machine.state[step.state].kind in _AT_REST
        self._life = _Life.AT_REST if resting else _Life.LIVE
        return step

    def _hold_timers(self, step: Step[S, C]) -> Step[S, C]:
        """Keep what the step asks of timers as deadlines; what is left is for the host."""
        if not self.machine.timed or not any(type(effect) in (Arm, Disarm) for effect in step.effects):
            return step
        now, timers, others = self._now(), dict(self._deadlines or {}), []
        for effect in step.effects:
            match effect:
                case Arm(state, event, seconds):
                    timers[state] = Deadline(state, event, now + seconds, seconds)
                case Disarm(state):
                    timers.pop(state, None)
                case _:
                    others.append(effect)
        self._deadlines = timers or None
        return step._replace(effects=tuple(others))

    def _without(self, state: str) -> None:
        self._deadlines = {key: timer for key, timer in self.deadlines.items() if key != state} or None

    def _now(self) -> float:
        assert self._clock is not None  # a machine with timers is refused without one
        return self._clock()

    def _refusal(self, event: str) -> MachineError:
        match self._life:
            case _Life.NEW:
                return NotStarted(self.machine.name)
            case _Life.BUSY:
                return SessionBusy(self.machine.name, self.state, event)
            case _Life.FAILED:
                reason = f"in error: {self.failure}"
            case _Life.CLOSED:
                reason = "it was closed"
            case _:
                kind = self.machine.state[self.state].kind
                reason = f"'{self.state}' is a {kind} state"
                if kind is not Kind.FINAL:
                    reason += "; to go on, restore a snapshot of it"
        return SessionEnded(self.machine.name, self.state, reason)


class Sink:
    """Where the results of outside work are posted, from any thread, for one incarnation of a session.

    Attributes: `incarnation`; `late`, how many posts came when it was dead.
    """

    __slots__ = ("_inbox", "_session", "incarnation", "late")

    def __init__(self, session: Session[Any, Any, Any], inbox: deque[tuple[str, object]]) -> None:
        self._session = ref(session)
        self._inbox = inbox
        self.incarnation = session.incarnation
        self.late = 0

    def post(self, event: str, payload: object = None) -> bool:
        """Put an event into the session's inbox, for `Session.take`; False when that session has ended."""
        session = self._session()
        if session is None or not session.alive:
            self.late += 1
            return False
        self._inbox.append((event, payload))
        return True
