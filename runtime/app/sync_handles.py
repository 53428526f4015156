"""Handles of runs and of logical agents whose methods block, for `pawl.sync`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal

from pawl.runtime.agent.hooks import Hook
from pawl.runtime.app import agents as live_agents
from pawl.runtime.app import execution as live_execution
from pawl.runtime.app.sync_events import Calls, EventStream
from pawl.runtime.execution.streams import BUFFER
from pawl.runtime.records.approvals import ApprovalRequest, Decision
from pawl.runtime.records.events import Event
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.rests import Outcome, Rest, T_co


class Execution(Generic[T_co]):
    """A handle of one run; `wait()` is what `await` is in the asynchronous library."""

    def __init__(self, thread: Calls, inner: live_execution.Execution[T_co]) -> None:
        self._thread, self._inner = thread, inner

    @property
    def id(self) -> str:
        """The execution's id."""
        return self._inner.id

    def wait(self) -> Rest[T_co]:
        """The first rest it comes to, and that same rest every time."""

        async def rest() -> Rest[T_co]:
            return await self._inner

        return self._thread.call(rest())

    def terminal(self) -> Outcome[T_co]:
        """Wait through rests, until the run has ended. See pawl.Execution.terminal."""
        return self._thread.call(self._inner.terminal())

    def decide(
        self,
        *,
        approve: bool | None = None,
        items: Mapping[str, bool | Decision] | None = None,
        message: str = "",
        request: str | ApprovalRequest | None = None,
    ) -> Rest[T_co]:
        """Decide what this run waits for, as `wait` or the last decision gave it. See pawl.Execution.decide."""
        return self._thread.call(self._inner.decide(approve=approve, items=items, message=message, request=request))

    def resolve(
        self,
        subject: str,
        outcome: Literal["succeeded", "failed", "not_performed"],
        *,
        result: str | ModelAnswer | None = None,
        error: str | None = None,
        revision: int | None = None,
    ) -> Rest[T_co]:
        """Say what became of an effect whose outcome is not known. See pawl.Execution.resolve."""
        return self._thread.call(self._inner.resolve(subject, outcome, result=result, error=error, revision=revision))

    def cancel(self) -> None:
        """Ask this run to stop; returns when that is on record. See pawl.Execution.cancel."""
        self._thread.call(self._inner.cancel())

    def events(
        self, after: int | str | None = 0, *, through_rests: bool = False, tokens: bool = True, buffer: int = BUFFER
    ) -> EventStream[T_co]:
        """See pawl.Execution.events."""
        inner = self._inner.events(after, through_rests=through_rests, tokens=tokens, buffer=buffer)
        return EventStream(self._thread, inner, lambda execution: Execution(self._thread, execution))

    def history(self, after: int | str | None = 0) -> Sequence[Event]:
        """See pawl.Execution.history."""
        return self._thread.call(self._inner.history(after))

    def __repr__(self) -> str:
        return repr(self._inner)


class AgentHandle(Generic[T_co]):
    """One logical agent; see pawl.AgentHandle."""

    def __init__(self, thread: Calls, inner: live_agents.AgentHandle[T_co]) -> None:
        self._thread, self._inner = thread, inner

    @property
    def id(self) -> str:
        """The logical agent's id."""
        return self._inner.id

    def start(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002 - the word that callers use
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
    ) -> Execution[T_co]:
        """Start a run; returns when it is on record. See pawl.AgentHandle.start."""
        inner = self._thread.call(
            self._inner.start(text, id=id, durable_context=durable_context, run_timeout=run_timeout)
        )
        return Execution(self._thread, inner)

    def run(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
    ) -> Rest[T_co]:
        """Start a run and wait for its first rest. See pawl.AgentHandle.run."""
        return self._thread.call(self._inner.run(text, id=id, durable_context=durable_context, run_timeout=run_timeout))

    def stream(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
        through_rests: bool = False,
        buffer: int = BUFFER,
    ) -> EventStream[T_co]:
        """Start a run and iterate its events, tokens too. See pawl.AgentHandle.stream."""
        inner = self._inner.stream(
            text,
            id=id,
            durable_context=durable_context,
            run_timeout=run_timeout,
            through_rests=through_rests,
            buffer=buffer,
        )
        return EventStream(self._thread, inner, lambda execution: Execution(self._thread, execution))

    def reset(self) -> None:
        """See pawl.AgentHandle.reset."""
        self._thread.call(self._inner.reset())

    def before_llm(self, hook: Hook) -> Callable[[], None]:
        """See pawl.AgentHandle.before_llm."""
        return self._inner.before_llm(hook)

    def close(self) -> None:
        """Take no new runs. See pawl.AgentHandle.close."""
        self._thread.call(self._inner.close())

    def __repr__(self) -> str:
        return repr(self._inner)
