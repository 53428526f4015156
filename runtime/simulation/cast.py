"""The definitions of a scenario as agents that a Runtime takes: scripted models, tools, policies and filters.

What is scripted to raise raises a RuntimeError.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import attrs

from pawl.runtime.agent.approval import PolicyAnswer
from pawl.runtime.agent.arguments import Parameters
from pawl.runtime.agent.containers import DictShape, Field, ListShape, RecordShape
from pawl.runtime.agent.context_policy import ContextPolicy
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.filters import Block
from pawl.runtime.agent.hooks import Hook, HookQuery, RequestPatch
from pawl.runtime.agent.probe import Found
from pawl.runtime.agent.rate import Rate
from pawl.runtime.agent.retries import Retries
from pawl.runtime.agent.shapes import BOOLEAN, TEXT, AnyShape, IntegerShape, NumberShape, SecretShape, Shape
from pawl.runtime.agent.tool import Tool, make_tool
from pawl.runtime.agent.usage import UsageLimits
from pawl.runtime.simulation.beyond import AgentBeyond, ToolBeyond
from pawl.runtime.simulation.scenario import AgentDef, Approve, FilterDef, Replacement, ToolDef
from pawl.runtime.simulation.script import Script, ScriptedModel

_SHAPES: Final[Mapping[str, Shape]] = {
    "string": TEXT,
    "integer": IntegerShape(),
    "number": NumberShape(),
    "boolean": BOOLEAN,
    "array": ListShape(AnyShape()),
    "object": DictShape(AnyShape()),
    "any": AnyShape(),
}


class Cast:
    """Makes agents; the executions and probes of a tool are counted here, over all processes.

    `takes` lets the body of a blocking tool that has just been entered end so many seconds later.
    """

    def __init__(self, script: Script, takes: Callable[[float], None]) -> None:
        self._script, self._takes = script, takes
        self._executions: Counter[tuple[str, str]] = Counter()
        self._probes: Counter[tuple[str, str]] = Counter()
        self._asked: Counter[str] = Counter()

    def agent(self, name: str, definition: AgentDef) -> Agent[Any]:
        """An agent of that name. Raises InvalidArguments."""
        limit, beyond = definition.token_limit, definition.beyond or AgentBeyond()
        return Agent(
            name=name,
            model=ScriptedModel(name, self._script),
            version=definition.version,
            tools=tuple(self._tool(name, tool, made) for tool, made in definition.tools.items()),
            max_iterations=definition.max_iterations,
            on_rejection=definition.on_rejection,
            model_recovery=definition.model_recovery,
            compatible_with=definition.compatible_with,
            context=ContextPolicy(max_tokens=limit, count=words) if limit is not None else None,
            input_filters=_filters(definition.input_filter, beyond.slow),
            output_filters=_filters(definition.output_filter, beyond.slow),
            model_timeout=definition.model_timeout,
            run_timeout=definition.deadline,
            approval_timeout=definition.approval_expires,
            retries=Retries(attempts=definition.model_retries, jitter=0.0),
            **self._beyond(beyond),
        )

    def _beyond(self, beyond: AgentBeyond) -> dict[str, Any]:
        limits = UsageLimits(
            model_calls=beyond.model_calls, tool_calls=beyond.tool_calls, total_tokens=beyond.total_tokens
        )
        return {
            "limits": limits,
            "output_type": int if beyond.number else str,
            "before_llm": self._hooks(beyond),
            "tool_result_filters": _result_filters(beyond.results),
            "stream_unfiltered": beyond.unfiltered,
            "preparation_timeout": beyond.preparation_timeout,
            "drain_timeout": beyond.drain_timeout,
        }

    def _hooks(self, beyond: AgentBeyond) -> tuple[Hook, ...]:
        if beyond.hook is None:
            return ()

        async def hook(query: HookQuery) -> RequestPatch:
            await asyncio.sleep(beyond.slow)
            if beyond.hook == "raise":
                raise RuntimeError("no hook today")
            if beyond.hook == "hide":
                return RequestPatch(tools=())
            self._asked[query.execution_id] += 1
            return RequestPatch(add_instructions=f"asked {self._asked[query.execution_id]} times")

        return (hook,)

    def _tool(self, agent: str, name: str, made: ToolDef) -> Tool[..., Any]:
        body = self._cancellable(agent, name, made) if made.cancellable else self._body(agent, name, made)
        beyond = made.beyond or ToolBeyond()
        return make_tool(
            body,
            Parameters(name, _shape(made.schema, beyond.secret)),
            approval=_approval(made.approval, beyond.asks_for),
            recovery=made.recovery,
            probe=self._probe(agent, name, made) if made.probe else None,
            on_error=made.on_error,
            timeout=made.timeout,
            approval_timeout=beyond.approval_timeout,
            max_result_bytes=beyond.max_result_bytes,
            max_concurrent=beyond.max_concurrent,
            rate=None if beyond.rate is None else Rate(*beyond.rate),
            result_filter=next(iter(_result_filters(beyond.result)), None),
        )

    def _body(self, agent: str, name: str, made: ToolDef) -> Callable[..., Any]:
        def body(**_: Any) -> Any:
            if made.takes:
                self._takes(made.takes)
            return self._value(agent, name, made)

        return body

    def _cancellable(self, agent: str, name: str, made: ToolDef) -> Callable[..., Any]:
        async def body(**_: Any) -> Any:
            await asyncio.sleep(made.takes)
            return self._value(agent, name, made)

        return body

    def _value(self, agent: str, name: str, made: ToolDef) -> Any:
        """What the n-th execution returns."""
        if made.raises is not None:
            raise RuntimeError(made.raises)
        values = made.returns or ("ok",)
        place = self._executions[agent, name]
        self._executions[agent, name] += 1
        return values[min(place, len(values) - 1)]

    def _probe(self, agent: str, name: str, made: ToolDef) -> Callable[[str], Any]:
        def probe(_: str) -> Any:
            place = self._probes[agent, name]
            self._probes[agent, name] += 1
            said = made.probe[min(place, len(made.probe) - 1)]
            return Found(said.found) if said.kind == "found" else said.kind

        return probe


def words(text: str) -> int:
    """Tokens, as a scenario counts them."""
    return len(text.split())


@attrs.frozen
class AnyArguments:
    """Whatever a model asks a tool without a `schema` for."""

    says: str = "an object"

    def schema(self) -> dict[str, Any]:
        """An object with any properties."""
        return {"type": "object"}

    def read(self, value: Any, _: str) -> tuple[Any, Any]:
        """Take it."""
        return value, value


def _shape(schema: Mapping[str, str] | None, secret: bool) -> Shape:
    if schema is None:
        return AnyArguments()
    shapes = {name: SecretShape(_SHAPES[kind]) if secret else _SHAPES[kind] for name, kind in schema.items()}
    return RecordShape(tuple(Field(name, shape) for name, shape in shapes.items()), noun="parameter")


def _approval(rule: Approve, takes: float) -> Any:
    if rule.raises is None and not takes:
        return rule.rule

    def policy(_: object) -> PolicyAnswer:
        if rule.raises is not None:
            raise RuntimeError(rule.raises)
        return rule.rule

    async def slow_policy(query: object) -> PolicyAnswer:
        await asyncio.sleep(takes)
        return policy(query)

    return slow_policy if takes else policy


def _result_filters(kind: Literal["block", "change", "raise"] | None) -> tuple[Callable[[str], str | Block], ...]:
    made = {"block": FilterDef(block="o"), "change": FilterDef(replace=Replacement("o", "0")), "raise": _RAISES}
    return _filters(made[kind] if kind is not None else None, 0.0)


_RAISES: Final = FilterDef(raises="no filter today")


def _filters(made: FilterDef | None, takes: float) -> tuple[Any, ...]:
    if made is None:
        return ()
    filtering = made

    async def slow_filter(text: str) -> str | Block:
        await asyncio.sleep(takes)
        return scripted_filter(text)

    def scripted_filter(text: str) -> str | Block:
        if filtering.raises is not None:
            raise RuntimeError(filtering.raises)
        if filtering.replace is not None:
            return text.replace(filtering.replace.old, filtering.replace.new)
        blocked = filtering.block is not None and filtering.block in text
        return Block(f"it contains {filtering.block!r}") if blocked else text

    return (slow_filter if takes else scripted_filter,)
