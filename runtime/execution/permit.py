"""Leave to act for an agent: the lease says so, and where it has run out since the claim, the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pawl.runtime.agent.payloads import Stop, StopReason
from pawl.runtime.barriers.claim import hold_on
from pawl.runtime.execution.act import Permit
from pawl.runtime.execution.insisting import Insist
from pawl.runtime.execution.lease import Lease
from pawl.runtime.execution.work import Post
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.tools import ErrorInfo
from pawl.runtime.store.answers import Answer, Committed, Refused, Superseded


class Leave:
    """Of one session, whose sink is `post`; begun when its agent is claimed."""

    def __init__(self, lease: Lease, insist: Insist, agent_id: str, post: Post) -> None:
        self._lease, self._insist, self._post, self._agent_id = lease, insist, post, agent_id
        self._lapses = lease.lapses

    def under(self, authority: Authority) -> Permit:
        """To act under this authority."""
        return _Permit(self, authority)

    def holds(self) -> bool:
        """As far as the clock says."""
        return self._lease.holds_since(self._lapses)

    def confirm(self, authority: Authority, then: Callable[[bool], None]) -> None:
        """Take the lease again, if the agent is still ours; where it is not, the session hears of it first."""
        lease = self._lease.renewed()

        def answered(said: Answer[Any]) -> None:
            match said:
                case Committed():
                    self._lease.written(lease)
                    self._lapses = self._lease.lapses
                case Superseded(owner):
                    self._post(
                        "ownership_lost", Stop(StopReason.LOST, ErrorInfo("Superseded", owner or "")), None, None
                    )
                case Refused(error):
                    self._post("internal_error", error, None, None)
            then(isinstance(said, Committed))

        self._insist(hold_on(self._agent_id, authority, lease), answered)


class _Permit:
    """The leave of a session, under the authority that it has now."""

    def __init__(self, leave: Leave, authority: Authority) -> None:
        self._leave, self._authority = leave, authority

    def holds(self) -> bool:
        """As far as the clock says."""
        return self._leave.holds()

    def confirm(self, then: Callable[[bool], None]) -> None:
        """Ask the store."""
        self._leave.confirm(self._authority, then)
