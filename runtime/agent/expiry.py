"""How long application code and models may take, and what becomes of a run when they take longer."""

from __future__ import annotations

from typing import Self

from pawl.runtime.agent.barrier_steps import Effects
from pawl.runtime.agent.facts import Facts
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.tools import ErrorInfo


class Expiry(Facts):
    """Delays and actions about work off the loop that takes too long."""

    def input_timeout(self) -> float | None:
        """Seconds for the input filters; None where there are none."""
        return self.agent.preparation_timeout if self.agent.input_filters else None

    def context_timeout(self) -> float | None:
        """Seconds for putting a request together; None where no application code takes part."""
        return self.agent.preparation_timeout if self.prepares else None

    def output_timeout(self) -> float | None:
        """Seconds for the output type's check and the filters; None where there are none."""
        return self.agent.preparation_timeout if self.judges_output else None

    def model_timeout(self) -> float | None:
        """Seconds for one model call, None for as long as the provider takes."""
        return self.agent.model_timeout

    def note_preparation_expiry(self, payload: object) -> tuple[Self, Effects]:
        """A filter, a hook or a policy took too long: it is abandoned, and the run fails."""
        seconds = self.agent.preparation_timeout
        said = f"a filter, hook or policy of {self.agent.name} took longer than its {seconds:g} s (preparation_timeout)"
        return replace(self, failure=ErrorInfo("PreparationTimeout", said)), ()

    def note_llm_expiry(self, payload: object) -> tuple[Self, Effects]:
        """The model took too long: the call is asked to stop, and its physical end is waited for."""
        said = f"the model did not answer within {self.agent.model_timeout:g} s (model_timeout)"
        return replace(self, failure=ErrorInfo("ModelError", said)), ()
