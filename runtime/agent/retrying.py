"""Guards and actions about further attempts of a model call that failed."""

from __future__ import annotations

from typing import Self

from pawl.runtime.agent.barrier_steps import Effects
from pawl.runtime.agent.effects import RetryPlanned
from pawl.runtime.agent.facts import Facts
from pawl.runtime.agent.payloads import LlmFailed
from pawl.runtime.records.frozen import replace


class Retrying(Facts):
    """Guards and actions about further attempts."""

    def retry_left(self, payload: LlmFailed) -> bool:
        """The provider says that nothing was done, and the agent still has retries."""
        return payload.retry_safe and self.retries < self.agent.retries.attempts

    def note_retry(self, payload: LlmFailed) -> tuple[Self, Effects]:
        """How long to wait: drawn when the failure was told, so that the same failure always waits as long."""
        wait = self.agent.retries.delay(self.retries, payload.chance, payload.retry_after)
        planned = RetryPlanned(payload.llm_call_id, self.retries, wait, payload.error.type)
        return replace(self, backoff=wait), (planned,)

    def llm_backoff(self) -> float:
        """Seconds until the model is tried again."""
        return self.backoff
