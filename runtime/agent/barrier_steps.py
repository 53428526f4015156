"""The guards and actions of the barrier protocol, the same for every machine that waits behind one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

import attrs

from pawl.runtime.agent.effects import Command, Emit, ReadBack, Submit
from pawl.runtime.agent.payloads import Stop
from pawl.runtime.barriers.answers import BarrierAnswer, operation_id
from pawl.runtime.fsm.step import Raise
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.frozen import replace

Effects = tuple[object, ...]
_FIRST_BACKOFF = 0.05
_LAST_BACKOFF = 5.0


@attrs.frozen
class OpenBarrier:
    """A barrier that is being passed: its command as last submitted, and how often it was tried."""

    command: Command
    tries: int = 0
    reading: bool = False
    announced: bool = False


@attrs.frozen(slots=False)
class BarrierSteps:
    """The part of a context that a barrier needs.

    `session` is this incarnation's identity and `counter` makes names within it; `now` is the time of the message
    that is being handled (unix seconds). `unanswered` names the submissions and read-backs without an answer.
    """

    session: str
    execution_id: str
    agent_id: str
    now: float = 0.0
    counter: int = 0
    barrier: OpenBarrier | None = None
    refusal: Exception | None = None
    unanswered: frozenset[str] = frozenset()
    stop: Stop | None = None

    def fresh(self, what: str) -> tuple[Self, str]:
        """A name that nothing else has, in any process: the incarnation's own, counted."""
        return replace(self, counter=self.counter + 1), f"{what}-{self.session}-{self.counter}"

    # guards -------------------------------------------------------------------------------------------------

    def stop_noted(self, payload: object) -> bool:
        """Somebody asked for a stop while the barrier was being passed."""
        return self.stop is not None

    def answer_lost(self, payload: object) -> bool:
        """Nothing of this barrier is outstanding, so that no answer will come."""
        if self.barrier is None:
            return True
        return operation_id(self.barrier.command.token, self.barrier.reading) not in self.unanswered

    def refusal_repairable(self, payload: BarrierAnswer) -> bool:
        """The refusal is about what was to be written, so that something else can be written instead, once."""
        return isinstance(payload.error, ValueError | TypeError | CodecError) and not self.repaired

    @property
    def repaired(self) -> bool:
        """Whether a refused record was already replaced by a failure."""
        raise NotImplementedError

    # actions ------------------------------------------------------------------------------------------------

    def submit_barrier(self, payload: object) -> tuple[Self, Effects]:
        """Hand the prepared command to the store; one that could not be prepared is refused, never raised."""
        if self.barrier is None:
            error = self.refusal or RuntimeError("no command was prepared")
            return self, (Raise("refused", BarrierAnswer("", False, error=error)),)
        command = self.barrier.command
        waiting = self.unanswered | {operation_id(command.token, False)}
        barrier = attrs.evolve(self.barrier, reading=False) if self.barrier.reading else self.barrier
        return replace(self, barrier=barrier, unanswered=waiting), (Submit(command),)

    def read_back(self, payload: object) -> tuple[Self, Effects]:
        """Look for the commit token."""
        assert self.barrier is not None
        command = self.barrier.command
        waiting = self.unanswered | {operation_id(command.token, True)}
        barrier = attrs.evolve(self.barrier, reading=True, tries=self.barrier.tries + 1)
        return replace(self, barrier=barrier, unanswered=waiting), (ReadBack(command),)

    def renew_token(self, payload: object) -> tuple[Self, Effects]:
        """The same command again: what went before is known unwritten, so it gets a new commit token."""
        assert self.barrier is not None
        context, token = self.fresh("commit")
        command = self.barrier.command.renewed(token)  # I5
        barrier = attrs.evolve(self.barrier, command=command, tries=self.barrier.tries + 1)
        return replace(context, barrier=barrier), ()

    def abandon_barrier(self, payload: object) -> tuple[Self, Effects]:
        """Nothing of it is on disk, or nobody may say so: it is not submitted again."""
        return replace(self, barrier=None), ()

    def note_refusal(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """Keep why it was refused."""
        return replace(self, barrier=None, refusal=payload.error), ()

    def note_unavailable(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """Say once that the store cannot be written now."""
        assert self.barrier is not None
        if self.barrier.announced:
            return self, ()
        data = {"barrier": self.barrier.command.barrier, "error": str(payload.error)}
        event = Event(EventKind.STORE_UNAVAILABLE, self.execution_id, self.agent_id, data)
        return replace(self, barrier=attrs.evolve(self.barrier, announced=True)), (Emit(event),)

    # delays -------------------------------------------------------------------------------------------------

    def barrier_backoff(self) -> float:
        """Seconds until the same command is tried again: doubling, with a ceiling."""
        tries = self.barrier.tries if self.barrier is not None else 0
        doubled: float = _FIRST_BACKOFF * 2.0 ** min(tries, 10)
        return min(_LAST_BACKOFF, doubled)


Prepare = Callable[[Any, Any], tuple[Any, Effects]]


def refusing(prepare: Prepare) -> Prepare:
    """A `prepare_…` action that cannot raise: what cannot be put into a command is refused by the barrier itself."""

    @functools.wraps(prepare)
    def prepared(self: BarrierSteps, payload: object) -> tuple[BarrierSteps, Effects]:
        try:
            return prepare(self if self.refusal is None else replace(self, refusal=None), payload)
        except Exception as error:
            return replace(self, barrier=None, refusal=error), ()

    return prepared
