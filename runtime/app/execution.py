"""`Execution`: a handle of one run, wherever it runs. Await it for the next rest."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Generic, Literal

from pawl.runtime.app.answers import Answers
from pawl.runtime.app.events import EventStream, Wanted
from pawl.runtime.app.resolutions import Resolution, Resolutions
from pawl.runtime.app.rests import next_rest
from pawl.runtime.execution.host import Host
from pawl.runtime.execution.looks import LONGEST
from pawl.runtime.execution.pages import cursor_of, history
from pawl.runtime.execution.streams import BUFFER
from pawl.runtime.records.approvals import ApprovalRequest, Decision
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.events import Event
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.rests import NeedsResolution, Outcome, Rest, Suspended, T_co


class Execution(Generic[T_co]):
    """A handle. `await execution` gives the first rest it comes to, and that same rest every time.

    Raises OutcomeUnknown when the execution had to be closed here, Superseded when another process took it over,
    RuntimeClosed when the runtime is closed first.
    """

    def __init__(self, host: Host, answers: Answers, execution_id: str) -> None:
        self._host, self._answers, self.id = host, answers, execution_id
        self._asked: str | None = None
        """The request of the last rest that it gave which had one."""
        self._settled: asyncio.Future[Rest[T_co]] | None = None
        if host.keeper.live(execution_id) is not None and not host.reloading.closed(execution_id):
            # Registered now: a rest that comes before anybody awaits must not be missed.
            self._settled = host.keeper.waiting.rest(execution_id)

    def __await__(self) -> Generator[Any, None, Rest[T_co]]:
        return self._rest().__await__()

    async def _rest(self) -> Rest[T_co]:
        if self._settled is None:
            self._settled = asyncio.ensure_future(next_rest(self._host, self.id))
        return self._given(await asyncio.shield(self._settled))

    async def _now(self) -> Rest[T_co]:
        """The rest that it is at now, or comes to next."""
        return self._given(await next_rest(self._host, self.id))

    def _given(self, rest: Rest[T_co]) -> Rest[T_co]:
        if isinstance(rest, Suspended):
            self._asked = rest.request.id
        return rest

    async def history(self, after: int | str | None = 0) -> Sequence[Event]:
        """The durable events of this run behind a cursor, in order; the cursor of the last one is where to go on.

        Raises ExecutionNotFound; InvalidArguments for what is no cursor, or one of elsewhere.
        """
        return await self._host.store.read(history(self.id, cursor_of(self.id, after)))

    def events(
        self, after: int | str | None = 0, *, through_rests: bool = False, tokens: bool = True, buffer: int = BUFFER
    ) -> EventStream[T_co]:
        """The events of this run behind a cursor: those on record, then those that happen, each once and in order.

        It does not matter which process runs it, or whether it has ended. The iterator ends with the run, and at a
        rest unless it is to go on `through_rests`; awaited, it gives the last rest then. With `tokens`, model calls of
        this run that start while somebody iterates are streamed, where it is run here; a run of another process has no
        tokens here. `buffer` is how many events wait for this consumer, before it loses tokens. Where to go on later is
        the `id` of the last event that has one, given as it is; None is the beginning.

        Raises InvalidArguments for what is no cursor; for what is raised while iterating, see EventStream.
        """
        place = cursor_of(self.id, after)
        return EventStream(self._host, Wanted(place, through_rests, tokens, buffer), self)

    async def decide(
        self,
        *,
        approve: bool | None = None,
        items: Mapping[str, bool | Decision] | None = None,
        message: str = "",
        request: str | ApprovalRequest | None = None,
    ) -> Rest[T_co]:
        """Decide what this run waits for, the whole of it (`approve`) or some `items` by tool call id; the next rest.

        That is the `request`, or its id; without one, that of the last Suspended which this handle gave, awaited or
        as the answer to a decision. Never another one that waits by now: nobody has looked at that yet.

        Raises InvalidArguments when this handle has given no Suspended, or the request is one of another run; and
        what Runtime.decide raises.
        """
        name = request.id if isinstance(request, ApprovalRequest) else self._asked if request is None else request
        if name is None:
            raise InvalidArguments(
                f"this handle of execution {self.id} has given no request yet, and nothing is decided unseen; "
                "await it first, or say which: request=rest.request"
            )
        if not isinstance(name, str):
            raise InvalidArguments(f"request={request!r:.60} is no request; give a Suspended's `request`, or its id")
        answers = self._answers
        return self._given(await answers.decide(name, approve=approve, items=items, message=message, of=self.id))

    async def resolve(
        self,
        subject: str,
        outcome: Literal["succeeded", "failed", "not_performed"],
        *,
        result: str | ModelAnswer | None = None,
        error: str | None = None,
        revision: int | None = None,
    ) -> Rest[T_co]:
        """Say what became of an effect of this run whose outcome is not known; the next rest. See Runtime.resolve.

        Raises what Runtime.resolve raises.
        """
        words = Resolution(subject, outcome, result, error, revision)
        return self._given(await Resolutions(self._host, self._answers.turns).resolve(self.id, words))

    async def cancel(self) -> None:
        """Ask this run to stop, wherever it runs. Returns when that is on record; await `terminal` for its end.

        An ended run is left as it is. Raises what Runtime.cancel raises.
        """
        await self._answers.cancel(self.id)

    async def terminal(self) -> Outcome[T_co]:
        """Wait through rests, until the run has ended, wherever the decisions are made.

        Raises what awaiting raises.
        """
        while True:
            rest = await next_rest(self._host, self.id)
            if not isinstance(rest, Suspended | NeedsResolution):
                return rest
            await self._host.pause(LONGEST)

    def __repr__(self) -> str:
        return f"<execution {self.id}>"
