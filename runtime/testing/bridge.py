"""`pawl.Runtime` over a simulated process: what it gives can be awaited on any loop, such as an asynchronous test's.

While something of a process is awaited elsewhere, that loop's callbacks turn the world. The loop itself is an ordinary
one: its other tasks go on, and its own clock is the real one.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator
from functools import cache, partial
from typing import Any, TypeVar

import attrs

from pawl.runtime.app.runtime import Runtime
from pawl.runtime.simulation.clock import running_loop
from pawl.runtime.simulation.faults import ProcessLost
from pawl.runtime.simulation.process import CallLost, Process
from pawl.runtime.simulation.world import World
from pawl.runtime.testing.time import Wait

T = TypeVar("T")

_TURNS = 3
"""Turns that the other loop gets to do something of its own before virtual time passes."""


@attrs.define(eq=False)
class _Waiter:
    process: Process
    inner: asyncio.Task[Any]
    outer: asyncio.Future[None]
    wait: Wait
    idle: int = 0


class Pump:
    """Turns the world for those who wait on other loops."""

    def __init__(self, world: World, within: float) -> None:
        self._world, self._within = world, within
        self._waiters: list[_Waiter] = []

    async def call(self, process: Process, make: Callable[[], Awaitable[T]]) -> T:
        """What `make` gives, awaited in the process. Raises what it raises, CallLost, Stuck."""
        loop = asyncio.get_running_loop()
        if loop is process.loop:
            return await make()
        if not process.alive:
            raise lost(process)
        inner: asyncio.Task[T] = process.begin(make())
        waiter = _Waiter(process, inner, loop.create_future(), Wait(self._world, process, self._within))
        self._waiters.append(waiter)
        loop.call_soon(self._pump, loop, waiter)
        try:
            while not inner.done():
                try:
                    await waiter.outer
                except asyncio.CancelledError:
                    _call_off(waiter)
                    waiter.outer = loop.create_future()
        finally:
            self._waiters.remove(waiter)
            _call_off(waiter)
        if not inner.cancelled() and isinstance(inner.exception(), ProcessLost):
            raise lost(process)
        return inner.result()

    def _pump(self, loop: asyncio.AbstractEventLoop, waiter: _Waiter) -> None:
        """One step, for the waiter that came first; the others get what comes of it."""
        if waiter not in self._waiters:
            return
        try:
            if waiter is self._first_on(loop):
                self._step(waiter)
        except Exception as error:
            _give(waiter, error)
        for other in self._waiters:
            if other.inner.done():
                _give(other, None)
            elif not other.process.alive:
                _give(other, lost(other.process))
        loop.call_soon(self._pump, loop, waiter)

    def _first_on(self, loop: asyncio.AbstractEventLoop) -> _Waiter:
        return next(waiter for waiter in self._waiters if waiter.outer.get_loop() is loop)

    def _step(self, waiter: _Waiter) -> None:
        if self._world.turn():
            waiter.idle = 0
        elif not waiter.inner.done():
            waiter.idle += 1
            if waiter.idle > _TURNS:
                waiter.idle = 0
                waiter.wait.pass_time()


def _give(waiter: _Waiter, error: BaseException | None) -> None:
    if waiter.outer.done():
        return
    if error is None:
        waiter.outer.set_result(None)
    else:
        waiter.outer.set_exception(error)


def _call_off(waiter: _Waiter) -> None:
    if not waiter.inner.done() and waiter.process.alive:
        waiter.process.loop.call_soon(waiter.inner.cancel)
        waiter.process.restless = True


def lost(process: Process) -> CallLost:
    """What is raised for a call of a process that is gone."""
    return CallLost(f"process {process.name} was lost; `world.runtime` and `world.sync` are those of a new one")


@attrs.frozen
class Bridge:
    """Shows what belongs to one process to other loops."""

    pump: Pump
    process: Process

    async def call(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """As Pump.call; what comes is shown as well."""
        return self.show(await self.pump.call(self.process, make))

    def at_once(self, make: Callable[[], Any]) -> Any:
        """What `make` gives, called on the loop of the process."""
        if running_loop() is self.process.loop:
            return make()

        async def called() -> Any:
            return make()

        return self.show(self.process.do(called()))

    def show(self, value: Any) -> Any:
        """The same, to be used on any loop: runtimes, handles, streams."""
        kind: Any = type(value)
        ours = any(base.__module__.startswith("pawl.runtime.app.") for base in kind.__mro__)
        if not ours or isinstance(value, Shown):
            return value
        outside: Any = object.__new__(_shown(kind))
        outside.__dict__ = {**value.__dict__, "_bridge": self, "_inside": value}
        return outside


class Shown:
    """Mixed into the classes of what is shown."""

    _bridge: Bridge
    _inside: Any


@cache
def _shown(kind: type) -> type:
    """A subclass whose public methods are those of the object inside."""
    methods: dict[str, Any] = {"__module__": kind.__module__}
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if name in _SPECIAL:
            methods[name] = _SPECIAL[name]
        elif name.startswith("_"):
            continue
        elif inspect.isfunction(member):
            methods[name] = _asynchronous(name) if inspect.iscoroutinefunction(member) else _plain(name)
        elif isinstance(member, property):
            methods[name] = property(partial(_property, name))
    return type(kind.__name__, (Shown, kind), methods)


def _asynchronous(name: str) -> Callable[..., Any]:
    async def method(self: Shown, *arguments: Any, **options: Any) -> Any:
        return await self._bridge.call(partial(getattr(self._inside, name), *arguments, **options))

    return method


def _plain(name: str) -> Callable[..., Any]:
    def method(self: Shown, *arguments: Any, **options: Any) -> Any:
        return self._bridge.at_once(partial(getattr(self._inside, name), *arguments, **options))

    return method


def _property(name: str, self: Shown) -> Any:
    return self._bridge.show(getattr(self._inside, name))


def _await(self: Shown) -> Generator[Any, None, Any]:
    async def inside() -> Any:
        return await self._inside

    return self._bridge.call(inside).__await__()


async def _enter(self: Shown) -> Shown:
    if not isinstance(self._inside, Runtime):  # that one the world has entered
        await self._bridge.call(self._inside.__aenter__)
    return self


_SPECIAL: dict[str, Any] = {
    "__await__": _await,
    "__aenter__": _enter,
    "__aexit__": _asynchronous("__aexit__"),
    "__aiter__": lambda self: self,
    "__anext__": _asynchronous("__anext__"),
}
