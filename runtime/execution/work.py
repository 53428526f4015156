"""Application code, run off the loop: models, tools, policies and probes. Results come back as messages only."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.ahead import is_large, is_much, read_ahead
from pawl.runtime.agent.answers import normalise
from pawl.runtime.agent.approval import ApprovalQuery
from pawl.runtime.agent.asynchronous import is_async
from pawl.runtime.agent.context import Cancellation, ToolContext
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.effects import CallModel
from pawl.runtime.agent.facts import error_info
from pawl.runtime.agent.payloads import (
    Authorized,
    LlmChunk,
    LlmCompleted,
    LlmFailed,
    ProbeAnswer,
    SlotGranted,
    ToolEnded,
)
from pawl.runtime.agent.probe import Found, read_probe
from pawl.runtime.agent.result_filters import ResultQuery
from pawl.runtime.agent.retries import asked_to_wait
from pawl.runtime.agent.tool import Tool
from pawl.runtime.execution.act import Act, Ended, Permit, Waiting
from pawl.runtime.execution.filtering import Filtering, Returned
from pawl.runtime.execution.slots import Slots
from pawl.runtime.llm.port import Provider
from pawl.runtime.llm.streaming import answer_in_pieces
from pawl.runtime.llm.telling import told
from pawl.runtime.loop.environment import Cancellable, Environment
from pawl.runtime.loop.pool import JobSkipped
from pawl.runtime.records.errors import ModelError, ToolError
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.tools import ErrorInfo, ToolOutcome, ToolRow

T = TypeVar("T")

_SOON: Final = 5.0
"""Seconds that an answer waits for a thread that reads it."""

Post = Callable[[str, object, "str | None", "str | None"], None]
"""Post an event with its payload to one session: (event, payload, child, settles)."""


class Workshop:
    """Starts work for the sessions of one runtime, and can ask it to stop. Knows no states."""

    def __init__(self, environment: Environment, deps: object) -> None:
        self._environment = environment
        self._deps = deps
        self._running: dict[str, tuple[Cancellable, Cancellation | None]] = {}
        self._slots = Slots(environment)
        self._queued: dict[str, Callable[[], None]] = {}

    def __len__(self) -> int:
        return len(self._running)

    def stop(self, operation: str) -> None:
        """Ask it to stop. A body that does not listen goes on, and is waited for; one that has not begun never does."""
        withdraw = self._queued.get(operation)
        if withdraw is not None:
            withdraw()
        running = self._running.get(operation)
        if running is not None:
            cancellable, cancellation = running
            if cancellation is not None:
                cancellation.set()
            cancellable.cancel()

    # models -------------------------------------------------------------------------------------------------

    def call_model(
        self,
        effect: CallModel,
        agent: Agent[Any],
        provider: Callable[[], Provider],
        post: Post,
        permit: Permit,
        streaming: bool = False,
    ) -> None:
        """Let a model call go as a task. A provider that cannot even be made or called is a call that failed.

        `streaming`: what the answer is made of is posted as it comes.
        """
        request, revision = effect.request, effect.revision
        name = request.call_id

        def ended(answer: Any, error: BaseException | None) -> None:
            self._running.pop(name, None)
            if error is None:
                try:
                    normal = normalise(answer, provider().name)
                    return self._read_ahead(agent, normal, completed)
                except Exception as malformed:  # MalformedModelAnswer, or the provider's own code
                    error = malformed
            return post("llm_failed", self._failed(name, revision, error), None, name)

        def completed(answer: ModelAnswer) -> None:
            post("llm_completed", LlmCompleted(name, revision, answer), None, name)

        def call() -> Any:
            model = provider()
            asked = told(request, model)
            return answer_in_pieces(model, asked, piece) if streaming else model.complete(asked)

        def piece(text: str) -> None:
            post("llm_stream_chunk", LlmChunk(name, revision, text), None, None)

        Act(self, name, permit, True, call, ended).go()

    def _read_ahead(self, agent: Agent[Any], answer: ModelAnswer, then: Callable[[ModelAnswer], None]) -> None:
        """Large arguments are read by a thread; where none is free soon, the loop reads them after all."""
        if not is_much(answer):
            return then(answer)

        def done(read: ModelAnswer | None, _: BaseException | None) -> None:
            timer.cancel()
            then(answer if read is None else read)

        try:
            job = self._environment.offload(partial(read_ahead, agent, answer), done)
        except Exception:  # back-pressure, or a closed pool
            return then(answer)
        timer = self._environment.later(_SOON, partial(_call_off, job))
        return None

    def _failed(self, name: str, revision: int, error: BaseException | None) -> LlmFailed:
        """A failure as its event has it: all that a retry's wait is made of is drawn here, not where it is decided."""
        if not isinstance(error, ModelError):
            return LlmFailed(name, revision, _info(error))
        wait, chance = asked_to_wait(error), self._environment.random()
        return LlmFailed(name, revision, _info(error), bool(error.retry_safe), wait, chance)

    # tools --------------------------------------------------------------------------------------------------

    @property
    def queued(self) -> int:
        """Tool calls that wait for a slot of their tool."""
        return self._slots.waiting

    def request_slot(self, row: ToolRow, invocation: AgentInvocation, post: Post) -> None:
        """Wait until a tool with limits has a slot for this call; it is given back when the body has ended."""
        tool, name = invocation.agent.tool(row.tool), row.tool_invocation_id
        assert tool is not None
        assert tool.limit is not None
        granted = SlotGranted(name, row.attempt)
        self._queued[name] = partial(self.withdraw, row, post)
        self._slots.request(tool.limit, _slot(row), partial(post, "slot_granted", granted, name, None))

    def withdraw(self, row: ToolRow, post: Post) -> None:
        """A dispatched call will not run: give its slot back, wanted or granted, and tell its end."""
        name = row.tool_invocation_id
        self._queued.pop(name, None)
        self._slots.release(_slot(row))
        post("execution_completed", ToolEnded(name, row.attempt, ToolOutcome(cancelled=True)), name, name)

    def run_tool(
        self, row: ToolRow, deadline: float | None, invocation: AgentInvocation, post: Post, permit: Permit
    ) -> None:
        """Run a body: on the pool, or as a task where it is `async`."""
        try:
            self._run_tool(row, deadline, invocation, post, permit)
        except Exception:
            self._slots.release(_slot(row))  # it has not begun, and never will
            raise

    def _run_tool(
        self, row: ToolRow, deadline: float | None, invocation: AgentInvocation, post: Post, permit: Permit
    ) -> None:
        tool = invocation.agent.tool(row.tool)
        name, cancellation = row.tool_invocation_id, Cancellation()
        context = self._context(row, invocation, deadline, cancellation)
        started = self._environment.now()
        self._queued.pop(name, None)

        def ended(text: str | None, error: BaseException | None) -> None:
            self._running.pop(name, None)
            self._slots.release(_slot(row))
            outcome = _outcome(text, error, cancellation.is_set, max(0.0, self._environment.now() - started))
            post("execution_completed", ToolEnded(name, row.attempt, outcome), name, name)

        if tool is None:
            gone = ToolError(f"there is no tool {row.tool!r} any more; nothing was run")
            self._environment.later(0.0, partial(ended, None, gone))
            return
        filtering = self._filtering(row, invocation, tool, ended, lambda: post("execution_expired", None, name, None))
        offered = (tool, row.arguments or {}, context)
        body = partial(_async_body, self._environment, *offered) if tool.is_async else partial(_body, *offered)

        def returned(said: Returned | None, error: BaseException | None) -> None:
            if error is not None or said is None:
                return ended(None, error)
            if filtering is None:
                return ended(said.text, None)
            self.hold(name, Waiting(), cancellation)
            return filtering.begin(said)

        Act(self, name, permit, tool.is_async, body, returned, cancellation).go()

    def _filtering(
        self,
        row: ToolRow,
        invocation: AgentInvocation,
        tool: Tool[..., Any],
        ended: Callable[[str | None, BaseException | None], None],
        expired: Callable[[], None],
    ) -> Filtering | None:
        """The way of a result through the tool's own filter, then the agent's; None where there are none."""
        filters = (*tool.result_filters, *invocation.agent.callbacks.tool_result_filters)
        if not filters:
            return None
        query = ResultQuery(
            stage="tool_result",
            agent_id=invocation.agent_id,
            definition=invocation.agent.name,
            version=invocation.agent.version,
            execution_id=row.execution_id,
            durable_context=invocation.context,
            tool=row.tool,
            tool_call_id=row.tool_call_id,
            deps=self._deps,
            arguments=row.arguments or {},
        )
        limit, seconds = tool.max_result_bytes, invocation.agent.preparation_timeout
        return Filtering(self._environment, filters, query, limit, seconds, expired, ended)

    def _context(
        self, row: ToolRow, invocation: AgentInvocation, deadline: float | None, cancellation: Cancellation
    ) -> ToolContext[Any]:
        return ToolContext(
            execution_id=row.execution_id,
            tool_call_id=row.tool_call_id,
            idempotency_key=row.idempotency_key,
            attempt=row.attempt,
            deadline=deadline,
            durable_context=invocation.context,
            deps=self._deps,
            cancellation=cancellation,
        )

    def authorize(self, row: ToolRow, invocation: AgentInvocation, post: Post) -> None:
        """Ask a policy; whatever goes wrong is asked of a person instead."""
        tool = invocation.agent.tool(row.tool)
        assert tool is not None
        query = ApprovalQuery(
            agent_id=invocation.agent_id,
            definition=invocation.agent.name,
            version=invocation.agent.version,
            execution_id=row.execution_id,
            tool=row.tool,
            tool_call_id=row.tool_call_id,
            arguments=row.arguments or {},
            durable_context=invocation.context,
        )
        child = row.tool_invocation_id

        def ended(answer: Any, error: BaseException | None) -> None:
            self._running.pop(f"policy-{child}", None)
            if error is not None:
                said = Authorized(child, "ask", f"the approval policy could not be asked: {_info(error).message}")
            else:
                said = Authorized(child, answer.permission, answer.reason)
            post("authorization_completed", said, child, None)

        approval, context = tool.approval, self._context(row, invocation, None, Cancellation())
        self.start(
            f"policy-{child}",
            approval.is_async,
            lambda: approval.ask(query, context, quiet=tool.redacts),
            lambda: approval.ask_async(query, context, quiet=tool.redacts),
            ended,
        )

    def probe(self, row: ToolRow, invocation: AgentInvocation, post: Post) -> None:
        """Ask a tool what came of a call; a probe that fails does not know."""
        tool = invocation.agent.tool(row.tool)
        child, name = row.tool_invocation_id, f"probe-{row.tool_invocation_id}"

        def told(event: str, text: str | None = None) -> None:
            self._running.pop(name, None)
            post(event, ProbeAnswer(child, text), None, name)

        def filtered(text: str | None, error: BaseException | None) -> None:
            # A result that its filters did not pass is not adopted: a person is asked.
            told("probe_found" if error is None else "probe_unknown", text)

        def ended(said: tuple[str, Returned | None] | None, _: BaseException | None) -> None:
            event, found = said if said is not None else ("probe_unknown", None)
            if found is None or tool is None:
                return told(event)
            filtering = self._filtering(row, invocation, tool, filtered, lambda: None)
            if filtering is None:
                return told(event, found.text)
            self.hold(name, Waiting(), None)
            return filtering.begin(found)

        if tool is None or tool.probe is None:
            self._environment.later(0.0, partial(ended, None, None))
            return
        known, probe = tool, tool.probe
        offered = (row.idempotency_key, self._context(row, invocation, None, Cancellation()))[: tool.probe_wants]

        async def ask() -> tuple[str, Returned | None]:
            answer = probe(*offered)
            return _probed(known, await answer if inspect.isawaitable(answer) else answer)

        def ask_blocking() -> tuple[str, Returned | None]:
            return _probed(known, probe(*offered))

        self.start(name, is_async(probe), ask_blocking, ask, ended)

    def start(
        self,
        name: str,
        is_async: bool,
        blocking: Callable[[], Any],
        coroutine: Callable[[], Any],
        ended: Ended,
        cancellation: Cancellation | None = None,
    ) -> None:
        """Start the one or the other; `ended` hears on the loop what became of it, also where it cannot be started."""
        try:
            job = (
                self._environment.spawn(coroutine(), ended) if is_async else self._environment.offload(blocking, ended)
            )
        except Exception as error:
            # Back-pressure, or a closed pool: nothing was started, and the session hears of it like of any failure.
            self._environment.later(0.0, partial(ended, None, error))
            return
        self.hold(name, job, cancellation)

    def hold(self, name: str, job: Cancellable, cancellation: Cancellation | None) -> None:
        """Remember what can be asked to stop."""
        self._running[name] = (job, cancellation)


def _call_off(job: Cancellable) -> None:
    job.cancel()


def _slot(row: ToolRow) -> str:
    """The name of one attempt of a call."""
    return f"{row.tool_invocation_id}#{row.attempt}"


def _body(tool: Tool[..., Any], arguments: Mapping[str, Any], context: ToolContext[Any]) -> Returned:
    return _returned(tool, tool.function(**tool.bind(dict(arguments), context)))


async def _async_body(
    environment: Environment, tool: Tool[..., Any], arguments: Mapping[str, Any], context: ToolContext[Any]
) -> Returned:
    bind = partial(tool.bind, dict(arguments), context)
    value = await tool.function(**(await _elsewhere(environment, bind) if is_large(arguments) else bind()))
    return await _elsewhere(environment, partial(_returned, tool, value)) if is_large(value) else _returned(tool, value)


async def _elsewhere(environment: Environment, body: Callable[[], T]) -> T:
    """What a thread makes of it. A stop that comes meanwhile is too late for a body that has ended, and waits here."""
    future: asyncio.Future[tuple[Any, BaseException | None]] = environment.future()
    try:
        environment.offload(body, lambda value, error: future.set_result((value, error)))
    except Exception:  # back-pressure, or a closed pool
        return body()
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            continue
    value, error = future.result()
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]


def _returned(tool: Tool[..., Any], value: object) -> Returned:
    return Returned(value, tool.result_text(value))


def _probed(tool: Tool[..., Any], answer: object) -> tuple[str, Returned | None]:
    """What a probe said, as an event, and the result where there is one. Raises ToolError for one that is no result."""
    said = read_probe(answer)
    if isinstance(said, Found):
        return "probe_found", _returned(tool, said.result)
    return ("probe_absent" if said == "absent" else "probe_unknown"), None


def _outcome(text: str | None, error: BaseException | None, asked: bool, seconds: float) -> ToolOutcome:
    if error is None:
        return ToolOutcome(result=text, duration=seconds)
    if isinstance(error, asyncio.CancelledError | JobSkipped) and asked:
        return ToolOutcome(cancelled=True, duration=seconds)
    return ToolOutcome(error=_info(error), duration=seconds)


def _info(error: BaseException | None) -> ErrorInfo:
    if error is None:
        return ErrorInfo("ModelError", "the call ended without an answer")
    info = error_info(error)
    return info if info.message else attrs.evolve(info, message=info.type)
