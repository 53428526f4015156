"""Commands of barriers on their way to the store, and its answers on their way to the sessions that asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pawl.runtime.agent.effects import Command
from pawl.runtime.barriers.answers import BarrierAnswer, answered, operation_id, read
from pawl.runtime.barriers.tool_outcome import ToolCommit
from pawl.runtime.execution.heart import Live
from pawl.runtime.execution.observed import Observer
from pawl.runtime.execution.work import Post
from pawl.runtime.loop.environment import Environment
from pawl.runtime.loop.outbox import Outbox
from pawl.runtime.store.answers import Answer


class Submissions:
    """Submits through the outbox, and reads back; every answer is counted by the observer. On the loop."""

    def __init__(self, environment: Environment, outbox: Outbox, observer: Observer) -> None:
        self._environment, self._outbox, self._observer = environment, outbox, observer

    def submit(self, live: Live, command: Command, post: Post) -> None:
        """Have a command committed; `post` hears what became of it. One whose session has lost the agent stays here."""
        child, operation = _child_of(command), operation_id(command.token, False)
        if live.invocation.ownership_is_lost(None):
            return post("superseded", BarrierAnswer(command.token, False), child, operation)

        took = self._observer.submitted(command.barrier, self._environment.now)
        return self._outbox.submit(command.run, partial(_hand_back, post, command.token, child, operation, took))

    def read_back(self, command: Command, post: Post) -> None:
        """Look what became of a command; `post` hears what was found."""
        child = _child_of(command)
        took = self._observer.submitted(None, self._environment.now)

        def answer(said: Answer[Any]) -> None:
            took(said)
            event, payload = read(said, command.token)
            post(event, payload, child, operation_id(command.token, True))

        self._outbox.submit(command.read_back, answer)


def not_submitted(command: Command, error: Exception, post: Post) -> None:
    """Handing the command over has failed: it may have got through all the same."""
    said = BarrierAnswer(command.token, False, error=error)
    post("uncertain", said, _child_of(command), said.operation)


def not_read_back(command: Command, error: Exception, post: Post) -> None:
    """Asking what became of the command has failed."""
    said = BarrierAnswer(command.token, True, error=error)
    post("read_failed", said, _child_of(command), said.operation)


def _hand_back(
    post: Post, token: str, child: str | None, operation: str, took: Callable[[Answer[Any]], None], said: Answer[Any]
) -> None:
    """Bring the store's answer to a command to its session; called on the store's thread."""
    took(said)
    event, payload = answered(said, token)
    post(event, payload, child, operation)


def _child_of(command: Command) -> str | None:
    return command.row.tool_invocation_id if isinstance(command, ToolCommit) else None
