"""The application's code around a model call, run off the loop: filters, instructions, hooks and context policies.

No transaction is open while it runs, and nothing waits for what was abandoned: its result is dropped when it comes.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import attrs

from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.assembly import Assembly, offered, stored
from pawl.runtime.agent.callback import Callback, Raised
from pawl.runtime.agent.context_policy import ContextPolicy, ContextQuery, Units, chosen, is_budget, ranges
from pawl.runtime.agent.effects import FilterText, PrepareRequest
from pawl.runtime.agent.facts import error_info
from pawl.runtime.agent.filters import Block, FilterQuery, filtered
from pawl.runtime.agent.hooks import HookQuery, RequestPatch, patch_of
from pawl.runtime.agent.knowledge import InstructionQuery, joined
from pawl.runtime.agent.ledger import Ledger, continued, ledger_of
from pawl.runtime.agent.payloads import FilteredText, InvalidOutput, LoadedContext, WorkFailed
from pawl.runtime.agent.transcript import Transcript
from pawl.runtime.execution.load import conversation, messages
from pawl.runtime.execution.patience import MOMENT, STEP, Step
from pawl.runtime.execution.work import Post
from pawl.runtime.llm.port import ToolSpec
from pawl.runtime.loop.environment import Cancellable, Environment
from pawl.runtime.records import errors
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.journal import MESSAGE_KINDS, JournalRecord
from pawl.runtime.records.messages import Message
from pawl.runtime.records.tools import ErrorInfo
from pawl.runtime.store.port import Store

T = TypeVar("T")
Said = tuple[str, object]
"""An event, and its payload."""


class Preparation:
    """Runs callbacks for the sessions of one runtime. Knows no states."""

    def __init__(self, environment: Environment, store: Store, deps: object) -> None:
        self._environment, self._store, self._deps = environment, store, deps
        self._running: dict[str, Step] = {}

    def __len__(self) -> int:
        return len(self._running)

    def filter(self, effect: FilterText, invocation: AgentInvocation, post: Post) -> None:
        """Check an output's type, run the filters of a stage: `…_filtered`, `…_filter_failed`, or `output_invalid`."""
        work = partial(self._filter, effect, invocation)
        self._start(effect.work, work, f"{effect.stage}_filter_failed", post)

    def request(self, effect: PrepareRequest, invocation: AgentInvocation, post: Post) -> None:
        """Put a request together: `context_ready`, or `context_failed`."""
        work = partial(self._request, effect, invocation)
        self._start(effect.work, work, "context_failed", post)

    def stop(self, work: str) -> None:
        """Abandon it: its result is dropped, whether or not it listens."""
        running = self._running.pop(work, None)
        if running is not None:
            running.call_off()

    def late(self, invocation: AgentInvocation, post: Post) -> None:
        """The time of a step is over: `preparation_expired`, but for what its callbacks have waited for threads.

        So long again at most is waited for threads: then the step fails, and says which callback has none.
        """
        work, limit = invocation.preparing, invocation.agent.preparation_timeout
        running = self._running.get(work) if work is not None else None
        if work is None or running is None:
            return post("preparation_expired", None, None, None)
        now = self._environment.now()
        waited = running.waits(now)
        left = limit - (waited if running.queued is not None else now - running.started - waited)
        if left > MOMENT:
            running.look = self._environment.later(left, partial(self._look, running, invocation, post))
            return None
        if running.queued is None:
            return post("preparation_expired", None, None, None)
        self.stop(work)
        said = (
            f"no thread was free for the {running.queued} of {invocation.agent.name} within {limit:g} s "
            "(preparation_timeout): blocking code holds them all"
        )
        return post(running.failed, WorkFailed(ErrorInfo("PreparationTimeout", said), work), None, None)

    def _look(self, running: Step, invocation: AgentInvocation, post: Post) -> None:
        """Whether it is late now, if it is still at it."""
        if invocation.preparing is not None and self._running.get(invocation.preparing) is running:
            self.late(invocation, post)

    def _start(self, name: str, work: Callable[[], Coroutine[Any, Any, Said]], failed: str, post: Post) -> None:
        running = Step(failed, self._environment.now())

        def ended(said: Said | None, error: BaseException | None) -> None:
            if self._running.pop(name, None) is None:
                return  # abandoned
            if running.look is not None:
                running.look.cancel()
            if said is not None:
                post(said[0], said[1], None, None)
            else:
                post(failed, WorkFailed(failure(error), name), None, None)

        async def step() -> Said:
            STEP.set(running)
            return await work()  # made here: called off before its first turn, it would warn that nobody awaited it

        began = step()
        try:
            running.job = self._environment.spawn(began, ended)
        except BaseException:
            began.close()
            raise
        self._running[name] = running

    # callbacks ------------------------------------------------------------------------------------------------

    async def ask(self, callback: Callback, *offered: object) -> Any:
        """What a callback answers. Raises Raised, with what it raised."""
        if not callback.is_async:
            answer = await self._offloaded(callback.where, partial(callback.call, *offered))
        try:
            if callback.is_async:
                answer = callback.call(*offered)
            return await answer if inspect.isawaitable(answer) else answer
        except BaseException as error:
            if _is_the_task_s(error):
                raise
            raise Raised(callback.where, error) from error

    async def _offloaded(self, where: str, body: Callable[[], T], *, reads: bool = False) -> T:
        """Run `body` on the pool, or with the store's readers. Raises Raised; called off, a body that has not begun is
        skipped.
        """
        future: asyncio.Future[tuple[Any, BaseException | None]] = self._environment.future()

        def arrived(value: T | None, error: BaseException | None) -> None:
            if not future.done():
                future.set_result((value, error))

        step, environment = STEP.get(), self._environment

        def begun() -> T:
            step.begun(environment.now())
            return body()

        job: Cancellable | None = None
        step.queued, step.since = where, environment.now()
        try:
            job = environment.read(begun, arrived) if reads else environment.offload(begun, arrived)
            value, error = await future
        except asyncio.CancelledError:
            if job is not None:
                job.cancel()
            raise
        finally:
            step.begun(environment.now())
        if error is not None:
            raise Raised(where, error) from error
        return value  # type: ignore[no-any-return]

    # filters --------------------------------------------------------------------------------------------------

    async def _filter(self, effect: FilterText, invocation: AgentInvocation) -> Said:
        agent, stage = invocation.agent, effect.stage
        typed = stage == "output" and agent.output.shape is not None
        if typed:
            try:
                await self._offloaded("output type", partial(agent.output.read, effect.text))
            except Raised as raised:
                if not isinstance(raised.error, errors.InvalidOutput):
                    raise
                return "output_invalid", InvalidOutput(str(raised.error), effect.work)
        callbacks = agent.callbacks.output_filters if stage == "output" else agent.callbacks.input_filters
        query = FilterQuery(stage=stage, deps=self._deps, **_about(invocation))
        said = await self.filtered(effect.text, callbacks, query)
        if isinstance(said, Block):
            return f"{stage}_filtered", FilteredText(effect.text, said.reason, effect.work)
        if typed and said != effect.text:
            await self._offloaded(
                "output filters: their text is not of the output type", partial(agent.output.read, said)
            )
        return f"{stage}_filtered", FilteredText(said, work=effect.work)

    async def filtered(self, text: str, callbacks: Sequence[Callback], query: FilterQuery) -> str | Block:
        """What filters make of a text, one after the other. Raises Raised."""
        for callback in callbacks:
            answer = await self.ask(callback, text, query)
            with _of(callback):
                said = filtered(answer, callback)
            if isinstance(said, Block):
                return said
            text = said
        return text

    # requests -------------------------------------------------------------------------------------------------

    async def _request(self, effect: PrepareRequest, invocation: AgentInvocation) -> Said:
        transcript, records = invocation.transcript, None
        if effect.load:
            read = partial(self._store.read, conversation(invocation.agent_id, invocation.execution_id))
            transcript, records = await self._offloaded("transcript", lambda: _whole(read(), invocation), reads=True)
        assert transcript is not None
        made = await self._told(_Request(invocation, transcript), invocation)
        await self._hooked(made, invocation)
        assembly, ledger = made.assembly(), invocation.ledger
        if invocation.agent.context is not None:
            ledger, assembly = await self._fitted(made, records, invocation)
        read_now = transcript if effect.load else None
        return "context_ready", LoadedContext(read_now, stored(assembly), ledger, effect.work)

    async def _told(self, made: _Request, invocation: AgentInvocation) -> _Request:
        callbacks = invocation.agent.callbacks
        query = InstructionQuery(
            sequence=invocation.draft.iterations + 1,
            usage=invocation.draft.usage,
            deps=self._deps,
            **_about(invocation),
        )
        for segment in callbacks.segments:
            text: object = segment.made
            if isinstance(segment.made, Callback):
                text = await self.ask(segment.made, query)
                with _of(segment.made):
                    text = segment.rendered(text)
            else:
                text = segment.rendered(text)
            made.told.append(text)
        made.told_anew = callbacks.told is None
        return made

    async def _hooked(self, made: _Request, invocation: AgentInvocation) -> None:
        known = {spec.name: spec for spec in invocation.agent.specs}
        for hooked in invocation.hooks:
            if hooked.removed:
                continue
            query = HookQuery(
                sequence=invocation.draft.iterations + 1,
                messages=made.assembly().messages(made.transcript),
                instructions=joined(tuple(made.told)),
                tools=made.offers(),
                usage=invocation.draft.usage,
                deps=self._deps,
                **_about(invocation),
            )
            answer = await self.ask(hooked.callback, query)
            with _of(hooked.callback):
                patch = patch_of(answer, known)
            if patch is not None:
                made.patched(patch)

    # the policy -----------------------------------------------------------------------------------------------

    async def _fitted(
        self, made: _Request, records: Sequence[JournalRecord] | None, invocation: AgentInvocation
    ) -> tuple[Ledger, Assembly]:
        """What is left of the conversation, as the policy says."""
        policy, callbacks = invocation.agent.context, invocation.agent.callbacks
        select, counts = callbacks.select, callbacks.counts
        assert select is not None
        assert counts is not None

        def counted() -> tuple[Ledger, int]:
            return _ledger(made.transcript, records, invocation), made.counted(counts)

        def budgeted(budget: ContextPolicy) -> tuple[Ledger, tuple[range, ...]]:
            ledger, fixed = counted()
            return ledger, budget.left_out(ledger, fixed)

        if isinstance(policy, ContextPolicy) and is_budget(policy):
            ledger, out = await self._offloaded(select.where, partial(budgeted, policy))
        else:
            ledger, fixed = await self._offloaded(select.where, counted)
            query = ContextQuery(
                agent_id=invocation.agent_id,
                definition=invocation.agent.name,
                execution_id=invocation.execution_id,
                sequence=invocation.draft.iterations + 1,
                units=Units(ledger, made.transcript),
                fixed=fixed,
                durable_context=invocation.context,
                deps=self._deps,
            )
            answer = await self.ask(select, query)
            out = await self._offloaded(select.where, partial(chosen, answer, query.units, ledger))
        excluded, left_out = ranges(out, ledger)
        return ledger, attrs.evolve(made.assembly(), excluded=excluded, left_out=left_out)


class _Request:
    """A request in the making."""

    def __init__(self, invocation: AgentInvocation, transcript: Transcript) -> None:
        self.transcript = transcript
        self.told: list[str] = []
        self.told_anew = False
        self._agent = invocation.agent
        self._before: tuple[Message, ...] = ()
        self._after: tuple[Message, ...] = ()
        self._tools: tuple[str, ...] | None = None

    def offers(self) -> tuple[ToolSpec, ...]:
        """The tools that are offered."""
        return offered(self._tools, self._agent.specs)

    def patched(self, patch: RequestPatch) -> None:
        """Behind what is there already; only instructions are replaced."""
        if patch.instructions is not None:
            self.told[0], self.told_anew = patch.instructions, True
        if patch.add_instructions:
            self.told.append(patch.add_instructions)
            self.told_anew = True
        self._before, self._after = (*self._before, *patch.before), (*self._after, *patch.after)
        if patch.tools is not None:
            kept = self._tools if self._tools is not None else tuple(spec.name for spec in self._agent.specs)
            self._tools = tuple(name for name in kept if name in patch.tools)

    def assembly(self) -> Assembly:
        """As it stands."""
        told = tuple(self.told) if self.told_anew else None
        return Assembly(told=told, before=self._before, after=self._after, tools=self._tools)

    def counted(self, counts: Any) -> int:
        """Tokens of what is in the request whatever a policy says."""
        schema = self._agent.output.schema
        tools = self._agent.callbacks.tools(self.offers())
        texts = (joined(tuple(self.told)), tools, canonical(schema.schema) if schema else "")
        extra = sum(map(counts.of, (*self._before, *self._after)))
        return int(extra + sum(counts(text) for text in texts if text))


def _ledger(transcript: Transcript, records: Sequence[JournalRecord] | None, invocation: AgentInvocation) -> Ledger:
    """The units of a conversation: counted anew where it was read, else with what this step adds."""
    counts = invocation.agent.callbacks.counts
    assert counts is not None
    position = invocation.position + len(invocation.journal)
    if invocation.ledger is not None:
        return continued(invocation.ledger, transcript, position, counts.of)
    said = records if records is not None else tuple(_unwritten(invocation))
    return ledger_of(said, invocation.execution_id, counts.of, transcript).reaching(position)


def _whole(records: Sequence[JournalRecord], invocation: AgentInvocation) -> tuple[Transcript, Sequence[JournalRecord]]:
    """The conversation on record, with what is not written yet."""
    said = (*records, *_unwritten(invocation))
    return Transcript(messages(said)), said


def _unwritten(invocation: AgentInvocation) -> Iterator[JournalRecord]:
    """The messages since the last barrier, as they will be read."""
    for place, entry in enumerate(invocation.journal, invocation.position + 1):
        if entry.kind in MESSAGE_KINDS:
            body = entry.content.body if entry.content is not None else None
            yield JournalRecord(place, entry.kind, entry.execution_id, entry.at, body, entry.meta)


def _about(invocation: AgentInvocation) -> dict[str, Any]:
    """What every query says."""
    return {
        "agent_id": invocation.agent_id,
        "definition": invocation.agent.name,
        "version": invocation.agent.version,
        "execution_id": invocation.execution_id,
        "durable_context": invocation.context,
    }


def _is_the_task_s(error: BaseException) -> bool:
    """Whether it is meant for the task that a callback runs in, rather than what the callback raised."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit | KeyboardInterrupt)


class _of:  # noqa: N801 - reads as a word of a `with`
    """What is wrong with a callback's answer is that callback's error."""

    def __init__(self, callback: Callback) -> None:
        self._where = callback.where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not _is_the_task_s(error):
            raise Raised(self._where, error) from error


def failure(error: BaseException | None) -> ErrorInfo:
    """What became of work that came to nothing, in the words of the callback that failed."""
    if isinstance(error, Raised):
        said = error_info(error.error)
        return ErrorInfo(said.type, f"{error.where}: {said.message or 'it raised'}")
    return error_info(error or RuntimeError("the work ended without an answer"))
