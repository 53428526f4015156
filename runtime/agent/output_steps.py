"""What becomes of an answer that is not of the output type: it goes back to the model, which may correct it."""

from __future__ import annotations

from typing import Self

from pawl.runtime.agent.barrier_steps import Effects
from pawl.runtime.agent.facts import Facts
from pawl.runtime.agent.payloads import InvalidOutput
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.messages import Message
from pawl.runtime.records.tools import ErrorInfo


class OutputSteps(Facts):
    """Actions about answers that do not fit the output type."""

    def record_correction(self, payload: InvalidOutput) -> tuple[Self, Effects]:
        """Tell the model what is wrong with its answer; the answer itself counts as an iteration."""
        said = f"Your answer is not valid: {payload.reason}\nAnswer again, with a corrected value only."
        entry = self.entry(JournalKind.CORRECTION, said)
        return replace(self, journal=(*self.journal, entry), unsaid=(*self.unsaid, Message("user", said))), ()

    def note_invalid_output(self, payload: InvalidOutput) -> tuple[Self, Effects]:
        """The model has no answers left in which to correct itself."""
        return replace(self, failure=ErrorInfo("InvalidOutput", payload.reason)), ()
