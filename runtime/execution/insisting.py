"""Operations that are repeated until the store has answered them: for what may not be left undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pawl.runtime.execution.awaited import BACKOFF
from pawl.runtime.loop.environment import Environment
from pawl.runtime.loop.outbox import Outbox
from pawl.runtime.store.answers import Answer, Unavailable, Uncertain
from pawl.runtime.store.port import Operation

Insist = Callable[[Operation[Any], Callable[["Answer[Any]"], None]], None]
"""What an Insistence is to who only calls it."""

_LONGEST_BACKOFF: Final = 5.0


class Insistence:
    """Hands operations over through the outbox; `post` brings their answers to the loop."""

    def __init__(self, environment: Environment, outbox: Outbox, post: Callable[[Callable[[], None]], object]) -> None:
        self._environment, self._outbox, self._post = environment, outbox, post

    def __call__(self, operation: Operation[Any], then: Callable[[Answer[Any]], None]) -> None:
        """Have an operation committed that may be repeated, however long the store takes; `then` gets the answer, on
        the loop.

        A refusal, or a fence that has ended, is an answer as well: there is nothing left to insist on.
        """

        def answered(said: Answer[Any], backoff: float) -> None:
            if isinstance(said, Unavailable | Uncertain):
                self._environment.later(backoff, lambda: submit(min(2 * backoff, _LONGEST_BACKOFF)))
            else:
                then(said)

        def submit(backoff: float) -> None:
            def arrived(said: Answer[Any]) -> None:
                self._post(lambda: answered(said, backoff))

            self._outbox.submit(operation, arrived)

        submit(BACKOFF)
