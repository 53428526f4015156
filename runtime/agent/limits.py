"""Guards and actions about usage limits: a run that is over one ends before it does more."""

from __future__ import annotations

from typing import Self

from pawl.runtime.agent.barrier_steps import Effects
from pawl.runtime.agent.facts import Facts
from pawl.runtime.agent.payloads import LlmCompleted
from pawl.runtime.agent.usage import over
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.messages import Usage
from pawl.runtime.records.tools import ErrorInfo


class Limited(Facts):
    """Guards and actions about the usage limits of the definition."""

    def answer_over_limit(self, payload: LlmCompleted) -> bool:
        """With this answer, or the tools that it asks for, the run is over a limit: no tool of it is run."""
        return self._over(self.draft.usage + payload.answer.usage, len(payload.answer.calls)) is not None

    def limit_reached(self, payload: object) -> bool:
        """What the run has used leaves no room for a further model call."""
        return self._over(self.draft.usage, 0) is not None

    def note_limit(self, payload: object) -> tuple[Self, Effects]:
        """The run fails, and says at which limit; the answer that led here is on record already."""
        said = self._over(self.draft.usage, 0) or "a usage limit was reached"
        return replace(self, failure=ErrorInfo("UsageLimitExceeded", said)), ()

    def _over(self, usage: Usage, asked: int) -> str | None:
        limits = self.agent.limits
        return None if limits is None else over(limits, self.draft, usage, self.draft.tool_calls + asked)
