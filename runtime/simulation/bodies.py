"""Watched application code: the same tools and models, with every entry counted and a place for faults around it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Protocol

import attrs

from pawl.runtime.agent.asynchronous import is_async
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import Tool
from pawl.runtime.llm.port import ModelRequest, Provider
from pawl.runtime.llm.streaming import can_stream
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.simulation.environment import Held
from pawl.runtime.simulation.faults import Fault, Faults, ProcessLost

_CONTEXT = "simulated_context"


class Audience(Protocol):
    """Whom watched code tells what it does."""

    faults: Faults

    def met(self, name: str, execution_id: str, about: str) -> Fault | None:
        """The fault that is planned for this start of a body or call of an execution."""

    def park(self, address: str, go: Callable[[], None]) -> None:
        """Keep `go` until somebody releases `address`."""

    def entered(self, tool: Tool[..., Any], context: ToolContext[Any]) -> None:
        """A body is entered now."""

    def performed(self, context: ToolContext[Any], result: str | None, error: Exception | None) -> None:
        """A body has come to its end."""

    def probed(self, key: str, answer: object) -> None:
        """A probe has answered."""

    def called(self, agent: Agent[Any], request: ModelRequest) -> None:
        """A model call starts now."""


def watched(agent: Agent[Any], audience: Audience) -> Agent[Any]:
    """The same definition with its tools and its model watched."""
    model = agent.model if isinstance(agent.model, str) else WatchedModel(agent.model, agent, audience)
    return attrs.evolve(agent, model=model, tools=tuple(watched_tool(tool, audience) for tool in agent.tools))


def watched_tool(tool: Tool[..., Any], audience: Audience) -> Tool[..., Any]:
    """The same tool, watched: its function gets the context always, and hands it on where it is wanted."""
    wanted = tool.parameters.context
    name = wanted or _CONTEXT
    body = _async_body(tool, name, wanted, audience) if tool.is_async else _body(tool, name, wanted, audience)
    probe = None if tool.probe is None else _probe(tool, tool.probe, audience)
    return attrs.evolve(tool, function=body, probe=probe, parameters=attrs.evolve(tool.parameters, context=name))


def _body(tool: Tool[..., Any], name: str, wanted: str | None, audience: Audience) -> Callable[..., Any]:
    held: dict[tuple[str, int], Fault] = {}

    def body(**arguments: Any) -> Any:
        context: ToolContext[Any] = arguments[name] if wanted else arguments.pop(name)
        start = (context.idempotency_key, context.attempt)
        before = held.pop(start, None)
        fault = audience.faults.again(before) if before is not None else _met(tool, context, audience)
        if fault is not None and fault.do == "hold":
            address = fault.address
            held[start] = fault  # it begins again when it is released, and that is no second start
            raise Held(lambda go: audience.park(address, go))
        _crash(fault, "crash_before_effect")
        audience.entered(tool, context)
        _crash(fault, "crash_during_effect")
        try:
            value = tool.function(**arguments)
            result = tool.result_text(value)
        except Exception as error:
            audience.performed(context, None, error)
            _crash(fault, "crash_after_effect")
            raise
        audience.performed(context, result, None)
        _crash(fault, "crash_after_effect")
        return value

    return body


def _async_body(
    tool: Tool[..., Any], name: str, wanted: str | None, audience: Audience
) -> Callable[..., Awaitable[Any]]:
    async def body(**arguments: Any) -> Any:
        context: ToolContext[Any] = arguments[name] if wanted else arguments.pop(name)
        fault = await _released(audience, _met(tool, context, audience))
        _crash(fault, "crash_before_effect")
        audience.entered(tool, context)
        _crash(fault, "crash_during_effect")
        try:
            value = await tool.function(**arguments)
            result = tool.result_text(value)
        except Exception as error:
            audience.performed(context, None, error)
            _crash(fault, "crash_after_effect")
            raise
        audience.performed(context, result, None)
        _crash(fault, "crash_after_effect")
        return value

    return body


def _probe(tool: Tool[..., Any], probe: Callable[..., Any], audience: Audience) -> Callable[..., Any]:
    held: set[str] = set()

    async def ask_async(key: str, *more: Any) -> Any:
        fault = await _released(audience, audience.faults.met(f"probe:{tool.name}"))
        _crash(fault, "crash_before_effect")
        answer = await probe(key, *more)
        audience.probed(key, answer)
        return answer

    def ask(key: str, *more: Any) -> Any:
        fault = None if key in held else audience.faults.met(f"probe:{tool.name}")
        if fault is not None and fault.do == "hold":
            address = fault.address
            held.add(key)
            raise Held(lambda go: audience.park(address, go))
        held.discard(key)
        _crash(fault, "crash_before_effect")
        answer = probe(key, *more)
        audience.probed(key, answer)
        return answer

    return ask_async if is_async(probe) else ask


class WatchedModel:
    """A provider, watched."""

    def __init__(self, inner: Provider, agent: Agent[Any], audience: Audience) -> None:
        self._inner, self._agent, self._audience = inner, agent, audience
        self.name = inner.name
        self.model = getattr(inner, "model", inner.name)
        self.supports_output_schema = bool(getattr(inner, "supports_output_schema", False))
        if can_stream(inner):
            self.stream = self._stream

    async def _begin(self, request: ModelRequest) -> Fault | None:
        met = self._audience.met("model", request.execution_id, str(request.sequence))
        fault = await _released(self._audience, met)
        _crash(fault, "crash_before_effect")
        self._audience.called(self._agent, request)
        return fault

    async def _stream(self, request: ModelRequest) -> AsyncIterator[str | ModelAnswer]:
        """Stream as the provider behind it: a crash during the effect comes with the first piece."""
        fault = await self._begin(request)
        inner: Any = self._inner
        try:
            async with aclosing(inner.stream(request)) as pieces:
                async for piece in pieces:
                    _crash(fault, "crash_during_effect")
                    yield piece
        except Exception:
            _crash(fault, "crash_after_effect")
            raise
        _crash(fault, "crash_after_effect")

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Answer as the provider behind it."""
        fault = await self._begin(request)
        _crash(fault, "crash_during_effect")
        try:
            answer = await self._inner.complete(request)
        except Exception:
            _crash(fault, "crash_after_effect")
            raise
        _crash(fault, "crash_after_effect")
        return answer

    async def aclose(self) -> None:
        """Several simulated processes share one provider; it is its maker's to close."""


def _met(tool: Tool[..., Any], context: ToolContext[Any], audience: Audience) -> Fault | None:
    return audience.met(f"tool:{tool.name}", context.execution_id, context.tool_call_id)


async def _released(audience: Audience, fault: Fault | None) -> Fault | None:
    """Wait where that is planned; what is planned there beside."""
    if fault is None or fault.do != "hold":
        return fault
    released: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    audience.park(fault.address, lambda: None if released.done() else released.set_result(None))
    await released
    return audience.faults.again(fault)


def _crash(fault: Fault | None, here: str) -> None:
    if fault is not None and fault.do == here:
        raise ProcessLost(fault.address)
