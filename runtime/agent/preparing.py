"""Application code around the model: filters, hooks, instructions and policies are asked for, never called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pawl.runtime.agent.assembly import offered
from pawl.runtime.agent.barrier_steps import Effects
from pawl.runtime.agent.effects import FilterText, LoadContext, PrepareRequest
from pawl.runtime.agent.facts import NOTHING, Facts
from pawl.runtime.agent.payloads import FilteredText, LoadedContext
from pawl.runtime.agent.transcript import Transcript
from pawl.runtime.fsm.step import Raise
from pawl.runtime.llm.port import ToolSpec
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.messages import Message


class Preparing(Facts):
    """Actions that ask for work off the loop before anything leaves. An agent without any passes at once."""

    def start_input_filter(self, payload: object) -> tuple[Self, Effects]:
        """Filters run off the loop; an agent without filters passes at once."""
        if not self.agent.input_filters:
            return self, (Raise("input_filtered", FilteredText(self.input)),)
        return self._filter("input", self.input)

    def start_output_filter(self, payload: object) -> tuple[Self, Effects]:
        """The output type is checked and filters run off the loop; plain text without filters passes at once."""
        said = self.answer.text if self.answer is not None else ""
        if self.judges_output:
            return self._filter("output", said)
        return self, (Raise("output_filtered", FilteredText(said)),)

    def _filter(self, stage: Literal["input", "output"], text: str) -> tuple[Self, Effects]:
        context, work = self.fresh("preparation")
        return replace(context, preparing=work), (FilterText(work, stage, text),)

    def start_context(self, payload: object) -> tuple[Self, Effects]:
        """Read the transcript of earlier runs once; after that the live one grows."""
        if self.prepares:
            return self._prepare()
        if self.transcript is not None:
            return self, (Raise("context_ready", LoadedContext()),)
        if self.position <= 1:
            return self, (Raise("context_ready", LoadedContext(())),)
        return self, (LoadContext(),)

    def _prepare(self) -> tuple[Self, Effects]:
        context, work = self.fresh("preparation")
        counted = self.agent.context is None or self.ledger is not None
        load = self.position > 1 and not (counted and self.transcript is not None)
        if not load:
            known = (self.transcript or Transcript()).grown(self.unsaid)
            context = replace(context, transcript=known, unsaid=())
        return replace(context, preparing=work), (PrepareRequest(work, load),)

    def take_context(self, payload: LoadedContext) -> tuple[Self, Effects]:
        """What the next request is made of."""
        messages = payload.messages
        known = messages if isinstance(messages, Transcript) else self.transcript
        known = Transcript(messages) if known is None and messages is not None else known
        assert known is not None
        if payload.assembly is None:
            return replace(self, transcript=known.grown(self.unsaid), unsaid=()), NOTHING
        ready = replace(self, transcript=known, unsaid=(), preparing=None)
        return replace(ready, assembly=payload.assembly, ledger=payload.ledger), NOTHING

    # the request --------------------------------------------------------------------------------------------

    def told(self) -> str:
        """The instructions of the request."""
        said = self.assembly.instructions
        return said if said is not None else self.agent.callbacks.told or ""

    def shown(self) -> Sequence[Message]:
        """The messages of the request."""
        return self.assembly.messages(self.transcript or ())

    def offers(self) -> tuple[ToolSpec, ...]:
        """The tools of the request."""
        return offered(self.assembly.tools, self.agent.specs)
