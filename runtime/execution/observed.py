"""What is noticed of the runs of a process, counted and logged: nothing of it changes what they do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from pawl.runtime.agent.effects import AtRest, RetryPlanned
from pawl.runtime.execution.heart import Live
from pawl.runtime.execution.stats import Counters, count
from pawl.runtime.loop.log import about, place_of, raised
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.rests import Rest
from pawl.runtime.store.answers import Answer, Unavailable, Uncertain

_log = logging.getLogger("pawl.execution")


class Observer:
    """Counts into `counters`, and logs under `pawl.execution`. Called on the loop."""

    def __init__(self, counters: Counters) -> None:
        self.counters = counters

    def admitted(self, live: Live) -> None:
        """Its admission has committed."""
        self.counters.started += 1
        if _log.isEnabledFor(logging.INFO):
            self._say(logging.INFO, live, "admitted")

    def adopted(self, execution_id: str, agent_id: str, phase: str) -> None:
        """An open run that nobody owned goes on here."""
        self.counters.adopted += 1
        if _log.isEnabledFor(logging.INFO):
            said = "execution %s of agent %s: adopted, its last barrier left it at '%s'"
            _log.info(said, execution_id, agent_id, phase, extra=about(execution_id, agent_id))

    def retrying(self, live: Live, planned: RetryPlanned) -> None:
        """A model call failed, and another is made after a wait."""
        self.counters.model_retries += 1
        if _log.isEnabledFor(logging.WARNING):
            said = "model call %s failed (%s, failure %d for this answer); it is made again in %.3g s"
            self._say(
                logging.WARNING, live, said, planned.llm_call_id, planned.error, planned.failures, planned.seconds
            )

    def told(self, live: Live, event: Event) -> None:
        """An event that has no place in the journal."""
        if event.kind is EventKind.STORE_UNAVAILABLE and _log.isEnabledFor(logging.WARNING):
            said = "the store cannot be written now; barrier '%s' waits and tries again"
            self._say(logging.WARNING, live, said, event.data["barrier"])

    def at_rest(self, live: Live, effect: AtRest) -> None:
        """It waits for somebody."""
        count(self.counters.rested, effect.awaiting)
        if _log.isEnabledFor(logging.INFO):
            self._say(logging.INFO, live, "at rest, it waits for %s", effect.awaiting)

    def ended(self, live: Live, rest: Rest[Any] | None, error: Exception | None) -> None:
        """It is over here: with an outcome, refused before it began, or taken over by somebody else."""
        status = type(rest).__name__.lower() if rest is not None else type(error).__name__
        if rest is not None:
            count(self.counters.ended, status)
        if _log.isEnabledFor(logging.INFO):
            why = getattr(rest, "error", None)
            self._say(logging.INFO, live, "ended: %s%s", status, f" ({why.type})" if why is not None else "")

    def closed(self, live: Live) -> None:
        """What was written is not known: nothing of it moves here any more."""
        self.counters.closed += 1
        said = "closed in this process, what was written is not known; `reload` reads the store again"
        self._say(logging.ERROR, live, said)

    def submitted(self, barrier: str | None, now: Callable[[], float]) -> Callable[[Answer[Any]], None]:
        """A barrier's commit, or a read-back (None), goes to the store. Call the result with its answer, once, from
        any thread.
        """
        self.counters.submitted += 1
        return partial(self._answered, barrier, now(), now)

    def _answered(self, barrier: str | None, since: float, now: Callable[[], float], said: Answer[Any]) -> None:
        self.counters.answered += 1
        if barrier is not None:
            self.counters.took(barrier, now() - since, again=isinstance(said, Unavailable | Uncertain))

    def broken(self, live: Live, what: str, error: Exception) -> None:
        """An error inside."""
        self._say(logging.ERROR, live, "%s (%s at %s)", what, type(error).__name__, place_of(error))
        raised(what, error, live.execution_id)

    def raised(self, what: str, error: Exception) -> None:
        """Code of the application that only looks on has raised."""
        _log.warning("%s raised %s at %s", what, type(error).__name__, place_of(error))
        raised(what, error)

    @staticmethod
    def _say(level: int, live: Live, said: str, *words: object) -> None:
        execution_id, agent_id = live.execution_id, live.invocation.agent_id
        extra = about(execution_id, agent_id)
        _log.log(level, f"execution %s of agent %s: {said}", execution_id, agent_id, *words, extra=extra)
