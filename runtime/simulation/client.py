"""A client that does not give up: it starts one run and sees it through, over whatever happens to the processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pawl.runtime.agent.definition import Agent
from pawl.runtime.records.approvals import Decision
from pawl.runtime.records.errors import (
    AgentBusy,
    AlreadyDecided,
    NotSuspended,
    OutcomeUnknown,
    StaleRequest,
    StoreUnavailable,
    Superseded,
    UnknownSubject,
)
from pawl.runtime.records.rests import NeedsResolution, Outcome, Rest, Suspended, Unresolved
from pawl.runtime.simulation.process import CallLost, Process
from pawl.runtime.simulation.world import Stuck, World

Decide = Callable[[Suspended], Mapping[str, "bool | Decision"]]

_PATIENCE = 60
"""Calls after which a run that has not ended is given up."""

_HANGS = 120.0
"""Virtual seconds after which a call is thought to hang, and its process is ended from outside."""


def approve_all(rest: Suspended) -> Mapping[str, bool | Decision]:
    """Say yes to everything."""
    return dict.fromkeys(rest.undecided, True)


class Client:
    """One run, from its start to its end. `asked` lists the subjects that had to be resolved, which it answers with
    the truth; `rests` the rests it came to, `troubles` the errors that it met on the way.
    """

    def __init__(
        self,
        world: World,
        agent: Agent[Any],
        text: str = "go",
        *,
        start_id: str = "req-1",
        decide: Decide = approve_all,
        durable_context: Mapping[str, Any] | None = None,
    ) -> None:
        self._world, self._agent, self._text, self._start_id = world, agent, text, start_id
        self._decide, self._context = decide, durable_context
        self.asked: list[str] = []
        self.rests: list[Rest[Any]] = []
        self.troubles: list[str] = []

    def see_through(self) -> Outcome[Any]:
        """The end of the run. Raises Stuck when it does not come to one."""
        for _ in range(_PATIENCE):
            try:
                process = self._world.ready()
                rest = process.do(self._step(process), within=_HANGS)
            except CallLost:
                continue
            except Stuck as error:
                self.troubles.append(type(error).__name__)
                self._world.lose(process)
            except (StoreUnavailable, Superseded, AgentBusy) as error:
                self.troubles.append(type(error).__name__)
                self._world.advance(5.0)
            except OutcomeUnknown as error:
                self.troubles.append(type(error).__name__)
                self._world.ready().close()
            except (AlreadyDecided, StaleRequest, NotSuspended, UnknownSubject) as error:
                self.troubles.append(type(error).__name__)  # the call before had landed after all
            else:
                if not isinstance(rest, Suspended | NeedsResolution):
                    return rest
        raise Stuck(f"the run does not come to an end; its rests: {self.rests}")

    async def _step(self, process: Process) -> Rest[Any]:
        runtime = process.runtime
        execution = await runtime.start(self._agent, self._text, id=self._start_id, durable_context=self._context)
        rest = await execution
        self.rests.append(rest)
        while isinstance(rest, Suspended | NeedsResolution):
            if isinstance(rest, Suspended):
                rest = await runtime.decide(rest.request.id, items=self._decide(rest))
            else:
                rest = await self._resolve(process, rest, rest.unresolved[0])
            self.rests.append(rest)
        return rest

    async def _resolve(self, process: Process, rest: NeedsResolution, unresolved: Unresolved) -> Rest[Any]:
        self.asked.append(unresolved.subject)
        outcome, result, error = truth(self._world, unresolved)
        return await process.runtime.resolve(rest.execution_id, unresolved.subject, outcome, result=result, error=error)


def truth(
    world: World, unresolved: Unresolved
) -> tuple[Literal["succeeded", "failed", "not_performed"], str | None, str | None]:
    """What became of an unresolved effect, as only the world knows: what `resolve` wants to be told."""
    key = unresolved.idempotency_key
    if key is None or not world.witness.ran(key):
        return "not_performed", None, None
    ended = world.witness.ended.get(key)
    if ended is not None and ended.error is not None:
        return "failed", None, ended.error
    return "succeeded", (ended.result if ended is not None else "") or "", None
