"""The life of a Runtime: opened once, asked while it is open, closed so that the next process goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.deps import check_deps
from pawl.runtime.agent.facts import error_info
from pawl.runtime.agent.hooks import Hook, Hooks
from pawl.runtime.agent.payloads import Stop, StopReason
from pawl.runtime.app.agents import Identities
from pawl.runtime.app.answers import Answers
from pawl.runtime.app.definitions import Providers, by_name
from pawl.runtime.app.resolutions import Resolutions
from pawl.runtime.app.words import Turns
from pawl.runtime.execution.host import Host
from pawl.runtime.execution.keeper import Keeper, Trace
from pawl.runtime.execution.lease import Lease, take_back
from pawl.runtime.execution.listeners import Listener, Listeners, OnListenerError
from pawl.runtime.execution.watch import Watch
from pawl.runtime.loop.environment import AsyncioEnvironment, Environment
from pawl.runtime.records.errors import PawlError, RuntimeClosed
from pawl.runtime.records.events import Event
from pawl.runtime.records.tools import ErrorInfo
from pawl.runtime.store.open import open_store
from pawl.runtime.store.ownership import LEASE, renew
from pawl.runtime.store.port import Store

_HELD = 0.02
"""Seconds between two looks at whether work that is being closed has come to rest."""

FORKED = "this process is a fork of the one that opened the runtime; make a Runtime of its own"


class Life:
    """What a Runtime is made of, from its opening to its end. Its arguments are explained there."""

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
        environment: Environment | None = None,
        trace: Trace | None = None,
    ) -> None:
        self._definitions = by_name(agents)
        self._store: Store = open_store(store) if isinstance(store, str) else store
        self._listeners = Listeners(on_listener_error)
        if on_event is not None:
            self._listeners.add(on_event)
        self._deps, self._trace, self._hooks = deps, trace, Hooks(before_llm)
        self._poll_interval, self._close_timeout = poll_interval, close_timeout
        self._environment = environment
        self._providers = Providers()
        self._state: Literal["new", "open", "closed"] = "new"
        self._process: int | None = None
        self._closing, self._let_go, self._closed = asyncio.Lock(), False, False

    async def __aenter__(self) -> Self:
        if self._state != "new":
            raise RuntimeClosed("a Runtime is entered once; make a new one")
        await self._check()
        environment = self._environment or AsyncioEnvironment()
        self._environment = environment
        await asyncio.get_running_loop().run_in_executor(None, self._store.open)
        owner = environment.lease(environment.new_id(), environment.now() + LEASE)
        self._lease = Lease(environment, self._store, owner)
        self._keeper = Keeper(
            environment, self._store, self._lease, self._listeners, self._providers.of, self._deps, self._trace
        )
        self._listeners.failed, self._listeners.now = self._listener_failed, environment.now
        self._host = Host(environment, self._store, self._keeper, owner.owner_id, self._definitions, self._hooks)
        turns = Turns()
        self._answers, self._resolutions = Answers(self._host, turns), Resolutions(self._host, turns)
        self._identities = Identities(self._host, self._answers)
        self._watch = Watch(self._host, self._poll_interval)
        self._state, self._process = "open", os.getpid()
        try:
            row = self._lease.renewed()
            await self._host.store.commit(renew(row))
            self._lease.written(row)
            self._lease.keep()
            await self._watch.begin()
        except GeneratorExit:
            raise  # its loop is gone, and with it everything that closing would wait for
        except BaseException:
            await self.close()
            raise
        self._watch.keep()
        return self

    async def _check(self) -> None:
        """What the definitions need is looked for now: found missing later, it would fail each run for good."""
        loop = asyncio.get_running_loop()
        try:
            check_deps(self._definitions.values(), self._deps)
            await loop.run_in_executor(None, self._providers.make, self._definitions.values())
        except BaseException:
            self._state = "closed"
            await self._providers.aclose()
            await loop.run_in_executor(None, self._store.close)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    if not TYPE_CHECKING:  # a type checker says by itself that they are not there

        def __enter__(self):
            raise TypeError(
                "this Runtime is asynchronous: write `async with Runtime(…) as runtime`, "
                "or use the blocking one, `with pawl.sync.Runtime(…) as runtime`"
            )

        def __exit__(self, *_):
            """Never called; `with` wants it to be there before it calls `__enter__`."""

    async def close(self) -> None:
        """Take nothing new, give running work `close_timeout` seconds to come to rest, let go of the rest. Idempotent.

        What is let go is as after a crash: nothing committed is lost, and the next process goes on with it.
        """
        self._state = "closed"
        if self._process != os.getpid():  # it was never opened, or this is a fork: that leaves its parent's lease alone
            return
        async with self._closing:  # who comes second waits, and goes on where the first was cut off
            if not self._closed:
                await self._close()
                self._closed = True

    async def _close(self) -> None:
        self._watch.stop()
        host, keeper = self._host, self._keeper
        until = host.environment.now() + self._close_timeout
        try:
            while keeper.moving and not self._let_go and host.environment.now() < until:
                await host.pause(_HELD)
        finally:
            self._let_go = True
            # Also when this is cancelled, because the whole loop is coming down and every task with it: what ends from
            # here on was cut off, and is no failure of a model or a tool.
            over = RuntimeClosed("the runtime was closed; the execution goes on where it is adopted")
            keeper.waiting.fail_all(over)
            keeper.streams.close(over)
            keeper.inbox.close()
            self._lease.stop()
        await host.environment.close()
        if not keeper.busy:
            # No body runs any more: whoever adopts the work need not wait for the lease to run out.
            with suppress(PawlError):
                await host.store.commit(take_back(host.owner), tries=1)
        await asyncio.get_running_loop().run_in_executor(None, self._store.close)
        await self._providers.aclose()

    def _open(self) -> Host:
        if self._state != "open":
            raise RuntimeClosed("the runtime is not open; use it inside `async with Runtime(…) as runtime`")
        if self._process != os.getpid():
            raise RuntimeClosed(FORKED)
        return self._host

    def _listener_failed(self, event: Event, error: BaseException) -> None:
        why = error_info(error)
        said = f"a listener raised at '{event.kind}': {why.type}: {why.message}"
        stop = Stop(StopReason.LISTENER, ErrorInfo("ListenerFailed", said))

        def fail() -> None:
            self._keeper.deliver(event.execution_id, "application_callback_failed", stop)

        self._keeper.inbox.post(fail)
