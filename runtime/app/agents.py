"""Logical agents: identities that outlive processes, and the handles through which runs are started."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Generic

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.hooks import Hook
from pawl.runtime.agent.settings import check_run_timeout
from pawl.runtime.app.answers import Answers
from pawl.runtime.app.events import EventStream, Wanted
from pawl.runtime.app.execution import Execution
from pawl.runtime.app.words import check_context, check_text
from pawl.runtime.execution.admitting import RunRequest
from pawl.runtime.execution.host import Host
from pawl.runtime.execution.streams import BUFFER
from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import AgentBusy, AgentExists, InvalidArguments, WrongAgent
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.rests import Rest, T, T_co
from pawl.runtime.store.ownership import existing_root
from pawl.runtime.store.port import Operation, Transaction


class AgentHandle(Generic[T_co]):
    """One logical agent: a conversation with a memory. Start one run at a time."""

    def __init__(self, host: Host, answers: Answers, agent: Agent[T_co], agent_id: str) -> None:
        self._host, self._answers, self.agent, self.id = host, answers, agent, agent_id

    async def start(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002 - the word that callers use
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
    ) -> Execution[T_co]:
        """Start a run; returns when it is on record.

        `id` makes the start idempotent: the same id with the same work again is the same execution. `durable_context`
        is JSON that tools and policies see in every process. `run_timeout`: seconds that the run may take, not
        counting what it waits for people (default: that of the agent; `math.inf`: as long as it likes); it is on record
        from the start, and the run fails with DeadlineExceeded when it has passed. Raises AgentBusy, AgentClosed,
        IdConflict, InvalidArguments, StoreUnavailable, OutcomeUnknown.
        """
        return await self._admit(text, id, durable_context, run_timeout)

    async def _admit(
        self,
        text: str,
        id: str | None,  # noqa: A002
        durable_context: Mapping[str, Any] | None,
        run_timeout: float | None,
        follow: Callable[[str], None] | None = None,
    ) -> Execution[T_co]:
        if not issubclass(type(text), str):
            raise InvalidArguments(f"the input must be text, not {type(text).__name__}")
        if id is not None:
            _check_id("a start's id", id)
        context = _json(durable_context)
        seconds = check_run_timeout(run_timeout)
        text = str.__str__(text)  # plain text, whatever a subclass of str makes of itself
        check_text("the input", text)
        asked = RunRequest(
            agent=self.agent, agent_id=self.id, text=text, start_id=id, context=context, run_timeout=seconds
        )
        return Execution(self._host, self._answers, await self._host.start(asked, follow))

    async def run(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
    ) -> Rest[T_co]:
        """Start a run and await its first rest. Raises what `start` raises, and what awaiting an Execution raises."""
        return await (await self.start(text, id=id, durable_context=durable_context, run_timeout=run_timeout))

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
        """Start a run whose model answers are streamed, and give its events as they happen.

        The run starts when the stream is entered, iterated or awaited, and goes on when it is left:

            async with agent.stream("Refund order 7") as stream:
                async for event in stream:
                    if event.kind == "token":
                        print(event.data["text"], end="")
            rest = await stream

        The same `id` again follows the same run, from its beginning. The other arguments are those of `start` and of
        `Execution.events`. Raises InvalidArguments; the stream raises what `start` raises.
        """
        return EventStream(
            self._host,
            Wanted(through_rests=through_rests, buffer=buffer),
            start=lambda follow: self._admit(text, id, durable_context, run_timeout, follow),
        )

    def before_llm(self, hook: Hook) -> Callable[[], None]:
        """Ask `hook` before each model request of this logical agent, in this process; returns what removes it.

        It counts from the next run, or the next part of one that was at rest. Raises InvalidArguments.
        """
        return self._host.hooks.add(self.id, hook)

    async def reset(self) -> None:
        """Begin a new conversation, for every process: later runs see nothing of earlier ones, which stay on record.

        Raises AgentBusy while a run is open, AgentNotFound, StoreUnavailable, OutcomeUnknown.
        """
        await self._host.store.commit(_reset(self.id))

    async def close(self) -> None:
        """Take no new runs, in any process. A run that is open goes on to its end.

        Raises AgentNotFound, StoreUnavailable, OutcomeUnknown.
        """
        await self._host.store.commit(_close(self.id))

    def __repr__(self) -> str:
        return f"<agent {self.id}, a {self.agent.name}>"


class Identities:
    """The logical agents that a runtime has handles of."""

    def __init__(self, host: Host, answers: Answers) -> None:
        self._host, self._answers = host, answers
        self._handles: dict[str, AgentHandle[Any]] = {}

    def get(self, agent_id: str) -> AgentHandle[Any] | None:
        """A handle that exists here."""
        return self._handles.get(agent_id)

    async def create(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        """Raises AgentExists."""
        _check_id("an agent's id", agent_id)
        await self._host.store.commit(_create(self._root(agent, agent_id), or_load=False), once=True)
        return self._keep(agent, agent_id)

    async def load(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        """Raises AgentNotFound, WrongAgent."""
        handle = self._same(agent, agent_id)
        if handle is not None:
            return handle
        _check(await self._host.store.read(lambda tx: existing_root(tx, agent_id)), agent)
        return self._keep(agent, agent_id)

    async def open(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        """Raises WrongAgent."""
        handle = self._same(agent, agent_id)
        if handle is not None:
            return handle
        _check(await self._host.store.commit(_create(self._root(agent, agent_id), or_load=True)), agent)
        return self._keep(agent, agent_id)

    async def purge(self, agent_id: str) -> None:
        """Raises AgentBusy, AgentNotFound."""
        await self._host.store.commit(_purge(agent_id), once=True)
        self._handles.pop(agent_id, None)
        self._host.hooks.forget(agent_id)

    def _root(self, agent: Agent[Any], agent_id: str) -> AgentRoot:
        return AgentRoot(agent_id, agent.name, agent.version, self._host.environment.now())

    def _same(self, agent: Agent[T], agent_id: str) -> AgentHandle[T] | None:
        _check_id("an agent's id", agent_id)
        handle = self._handles.get(agent_id)
        if handle is not None and handle.agent.name != agent.name:
            raise WrongAgent(f"agent {agent_id!r} is a {handle.agent.name}, not a {agent.name}")
        return handle

    def _keep(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        return self._handles.setdefault(agent_id, AgentHandle(self._host, self._answers, agent, agent_id))


_LONGEST = 200


def _check_id(what: str, name: object) -> None:
    if type(name) is not str and isinstance(name, str):
        raise InvalidArguments(f"a {type(name).__name__} cannot be {what}; give plain text, str and no subclass of it")
    if not isinstance(name, str) or not name or len(name) > _LONGEST or not name.isprintable():
        raise InvalidArguments(f"{name!r:.60} cannot be {what}; give printable text of at most {_LONGEST} characters")


def _check(root: AgentRoot, agent: Agent[Any]) -> None:
    if root.definition != agent.name:
        raise WrongAgent(f"agent {root.agent_id!r} is a {root.definition}, not a {agent.name}; use another id")


def _create(root: AgentRoot, *, or_load: bool) -> Operation[AgentRoot]:
    def run(tx: Transaction) -> AgentRoot:
        found = tx.agents.get(root.agent_id)
        if found is None:
            tx.agents.insert(root)
            return root
        if not or_load:
            raise AgentExists(f"agent {root.agent_id!r} exists already; `load` or `open` it")
        return found

    return run


def _idle(tx: Transaction, agent_id: str) -> AgentRoot:
    root = existing_root(tx, agent_id)
    for record, _ in tx.executions.list(agent_id, open_only=True, limit=1):
        raise AgentBusy(record.execution_id, record.status, root.owner)
    return root


def _close(agent_id: str) -> Operation[None]:
    def run(tx: Transaction) -> None:
        tx.agents.save(replace(existing_root(tx, agent_id), status="closed"))

    return run


def _reset(agent_id: str) -> Operation[None]:
    def run(tx: Transaction) -> None:
        tx.agents.save(replace(_idle(tx, agent_id), since=tx.journal.position(agent_id)))

    return run


def _purge(agent_id: str) -> Operation[None]:
    def run(tx: Transaction) -> None:
        _idle(tx, agent_id)
        tx.agents.delete(agent_id)

    return run


def _json(context: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A detached copy. Raises InvalidArguments for what is no JSON object."""
    if context is None:
        return None
    if not isinstance(context, Mapping) or not all(isinstance(key, str) for key in context):
        raise InvalidArguments("durable_context must be a JSON object with text keys")
    try:
        text = canonical(dict(context))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(f"durable_context is not JSON: {error}") from None
    check_context(context, text)
    if not _keys_are_text(context):
        raise InvalidArguments("durable_context is not JSON: every key must be text, at every depth")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _keys_are_text(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _keys_are_text(item) for key, item in value.items())
    return not isinstance(value, list | tuple) or all(_keys_are_text(item) for item in value)
