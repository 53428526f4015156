"""`pawl.sync`: the same runtime for hosts without an event loop; a thread owns the loop, and every method blocks."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.hooks import Hook
from pawl.runtime.app import agents as live_agents
from pawl.runtime.app import runtime as live
from pawl.runtime.app.life import FORKED
from pawl.runtime.app.sync_events import EventStream
from pawl.runtime.app.sync_handles import AgentHandle, Execution
from pawl.runtime.execution.keeper import Trace
from pawl.runtime.execution.listeners import Listener, OnListenerError
from pawl.runtime.execution.stats import Stats
from pawl.runtime.execution.streams import BUFFER
from pawl.runtime.records.approvals import Decision, Receipt
from pawl.runtime.records.errors import RuntimeClosed
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.rests import Rest, T
from pawl.runtime.store.port import Store

R = TypeVar("R")


class _Thread:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._stopped = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="pawl-loop", daemon=True)
        self._thread.start()

    @property
    def here(self) -> bool:
        """Whether the thread is one of this process: a fork copies the object, not the thread."""
        return os.getpid() == self._process

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def call(self, work: Coroutine[Any, Any, R]) -> R:
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "a blocking call on the loop's own thread would wait for itself; "
                "make it from the thread that opened the runtime, not from a listener"
            )
        if not self.here:
            work.close()
            raise RuntimeClosed(FORKED)
        with self._lock:  # nothing may get behind the end, where nobody would answer it
            if self._stopped:
                work.close()
                raise RuntimeClosed(_CLOSED)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise
        except concurrent.futures.CancelledError:
            if self._stopped:
                raise RuntimeClosed(_CLOSED) from None
            raise

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
        # There, because the caller's thread may have a running loop of its own.
        asyncio.run_coroutine_threadsafe(_end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_CLOSED = "the runtime is closed; open a new one"


async def _end() -> None:
    """End what other threads still wait for."""
    calls = asyncio.all_tasks() - {asyncio.current_task()}
    for call in calls:
        call.cancel()
    if calls:
        await asyncio.wait(calls, timeout=1.0)
    await asyncio.get_running_loop().shutdown_asyncgens()


class Runtime:
    """The blocking twin of `pawl.Runtime`: the same arguments, methods and errors, inside `with`.

    Listeners and tools run on other threads than the caller's.
    """

    def __init__(
        self,
        store: str | Store = "sqlite:///pawl.db",
        agents: Iterable[Agent[Any]] = (),
        *,
        on_event: Listener | None = None,
        on_listener_error: OnListenerError = "report",
        deps: object = None,
        before_llm: Iterable[Hook] = (),
        poll_interval: float = 1.0,
        close_timeout: float = 5.0,
        trace: Trace | None = None,
    ) -> None:
        self._inner = live.Runtime(
            store,
            agents,
            on_event=on_event,
            on_listener_error=on_listener_error,
            deps=deps,
            before_llm=before_llm,
            poll_interval=poll_interval,
            close_timeout=close_timeout,
            trace=trace,
        )
        self._thread: _Thread | None = None

    def __enter__(self) -> Self:
        thread = _Thread()
        try:
            thread.call(self._inner.__aenter__())
        except BaseException:
            thread.stop()
            raise
        self._thread = thread
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    if not TYPE_CHECKING:  # a type checker says by itself that they are not there

        async def __aenter__(self):
            raise TypeError(
                "this Runtime blocks: write `with sync.Runtime(…) as runtime`, "
                "or use the asynchronous one, `async with pawl.Runtime(…) as runtime`"
            )

        async def __aexit__(self, *_):
            """Never called; `async with` wants it to be there before it calls `__aenter__`."""

    def close(self) -> None:
        """See pawl.Runtime.close."""
        thread, self._thread = self._thread, None
        if thread is not None and thread.here:
            try:
                thread.call(self._inner.close())
            finally:
                thread.stop()

    def _call(self, work: Coroutine[Any, Any, R]) -> R:
        if self._thread is None:
            work.close()
            raise RuntimeClosed("the runtime is not open; use it inside `with Runtime(…) as runtime`")
        return self._thread.call(work)

    def _agent(self, work: Coroutine[Any, Any, live_agents.AgentHandle[T]]) -> AgentHandle[T]:
        inner = self._call(work)
        assert self._thread is not None
        return AgentHandle(self._thread, inner)

    def create(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        """See pawl.Runtime.create."""
        return self._agent(self._inner.create(agent, agent_id))

    def load(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        """See pawl.Runtime.load."""
        return self._agent(self._inner.load(agent, agent_id))

    def open(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        """See pawl.Runtime.open."""
        return self._agent(self._inner.open(agent, agent_id))

    def get(self, agent_id: str) -> AgentHandle[Any] | None:
        """See pawl.Runtime.get."""
        inner = self._inner.get(agent_id)
        return AgentHandle(self._thread, inner) if inner is not None and self._thread is not None else None

    def purge(self, agent_id: str) -> None:
        """See pawl.Runtime.purge."""
        self._call(self._inner.purge(agent_id))

    def start(
        self,
        agent: Agent[T],
        text: str,
        *,
        agent_id: str | None = None,
        id: str | None = None,  # noqa: A002
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
    ) -> Execution[T]:
        """See pawl.Runtime.start."""
        work = self._inner.start(
            agent, text, agent_id=agent_id, id=id, durable_context=durable_context, run_timeout=run_timeout
        )
        inner = self._call(work)
        assert self._thread is not None
        return Execution(self._thread, inner)

    def run(
        self,
        agent: Agent[T],
        text: str,
        *,
        agent_id: str | None = None,
        id: str | None = None,  # noqa: A002
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
    ) -> Rest[T]:
        """See pawl.Runtime.run."""
        return self._call(
            self._inner.run(
                agent, text, agent_id=agent_id, id=id, durable_context=durable_context, run_timeout=run_timeout
            )
        )

    def stream(
        self,
        agent: Agent[T],
        text: str,
        *,
        agent_id: str | None = None,
        id: str | None = None,  # noqa: A002
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
        through_rests: bool = False,
        buffer: int = BUFFER,
    ) -> EventStream[T]:
        """See pawl.Runtime.stream. Raises RuntimeClosed, InvalidArguments."""
        thread = self._thread
        if thread is None:
            raise RuntimeClosed("the runtime is not open; use it inside `with Runtime(…) as runtime`")
        inner = self._inner.stream(
            agent,
            text,
            agent_id=agent_id,
            id=id,
            durable_context=durable_context,
            run_timeout=run_timeout,
            through_rests=through_rests,
            buffer=buffer,
        )
        return EventStream(thread, inner, lambda execution: Execution(thread, execution))

    def execution(self, execution_id: str) -> Execution[Any]:
        """See pawl.Runtime.execution."""
        inner = self._call(self._inner.execution(execution_id))
        assert self._thread is not None
        return Execution(self._thread, inner)

    def executions(
        self, agent_id: str | None = None, *, open_only: bool = False, after: str = "", limit: int = 100
    ) -> Sequence[ExecutionRecord]:
        """See pawl.Runtime.executions."""
        return self._call(self._inner.executions(agent_id, open_only=open_only, after=after, limit=limit))

    def result(self, execution_id: str) -> Rest[Any] | None:
        """See pawl.Runtime.result."""
        return self._call(self._inner.result(execution_id))

    def unclaimed(self) -> Sequence[ExecutionRecord]:
        """See pawl.Runtime.unclaimed."""
        return self._call(self._inner.unclaimed())

    def why_unclaimed(self, execution_id: str) -> str | None:
        """See pawl.Runtime.why_unclaimed."""
        return self._call(self._inner.why_unclaimed(execution_id))

    def decide(
        self,
        request_id: str,
        *,
        approve: bool | None = None,
        message: str = "",
        items: Mapping[str, bool | Decision] | None = None,
    ) -> Rest[Any]:
        """See pawl.Runtime.decide."""
        return self._call(self._inner.decide(request_id, approve=approve, message=message, items=items))

    def record_decision(
        self,
        request_id: str,
        *,
        approve: bool | None = None,
        message: str = "",
        items: Mapping[str, bool | Decision] | None = None,
    ) -> Sequence[Receipt]:
        """See pawl.Runtime.record_decision."""
        return self._call(self._inner.record_decision(request_id, approve=approve, message=message, items=items))

    def receipts(self, request_id: str) -> Sequence[Receipt]:
        """See pawl.Runtime.receipts."""
        return self._call(self._inner.receipts(request_id))

    def cancel(self, execution_id: str) -> None:
        """See pawl.Runtime.cancel."""
        self._call(self._inner.cancel(execution_id))

    def resolve(
        self,
        execution_id: str,
        subject: str,
        outcome: Literal["succeeded", "failed", "not_performed"],
        *,
        result: str | ModelAnswer | None = None,
        error: str | None = None,
        revision: int | None = None,
    ) -> Rest[Any]:
        """See pawl.Runtime.resolve."""
        return self._call(
            self._inner.resolve(execution_id, subject, outcome, result=result, error=error, revision=revision)
        )

    def record_resolution(
        self,
        execution_id: str,
        subject: str,
        outcome: Literal["succeeded", "failed", "not_performed"],
        *,
        result: str | ModelAnswer | None = None,
        error: str | None = None,
        revision: int | None = None,
    ) -> ExecutionRecord:
        """See pawl.Runtime.record_resolution."""
        work = self._inner.record_resolution(
            execution_id, subject, outcome, result=result, error=error, revision=revision
        )
        return self._call(work)

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """See pawl.Runtime.add_listener. It is called on the loop's thread."""

        async def add() -> Callable[[], None]:
            return self._inner.add_listener(listener)

        self._call(add())
        return lambda: self.remove_listener(listener)

    def remove_listener(self, listener: Listener) -> None:
        """See pawl.Runtime.remove_listener. Also from a listener, and after closing."""
        self._inner.remove_listener(listener)

    def reload(self, execution_id: str) -> None:
        """See pawl.Runtime.reload."""
        self._call(self._inner.reload(execution_id))

    def stats(self) -> Stats:
        """See pawl.Runtime.stats. From any thread but the loop's own; after closing, RuntimeClosed."""

        async def stats() -> Stats:
            return self._inner.stats()

        return self._call(stats())
