"""Everything that a live run knows, as one frozen value; what it may do with that is in the modules beside it."""

from __future__ import annotations

from typing import Any, Final, Literal

import attrs

from pawl.runtime.agent.assembly import PLAIN, Assembly
from pawl.runtime.agent.barrier_steps import BarrierSteps, Effects
from pawl.runtime.agent.batch import Batch
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.hooks import Hooked
from pawl.runtime.agent.ledger import Ledger
from pawl.runtime.agent.payloads import Decided, Resolved
from pawl.runtime.agent.transcript import Transcript
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.messages import Message, ModelAnswer
from pawl.runtime.records.tools import ErrorInfo

Status = Literal["completed", "rejected", "failed", "cancelled", "blocked"]


@attrs.frozen
class Ending:
    """How the run is going to end, frozen when quiescing starts."""

    status: Status
    output: str | None = None
    error: ErrorInfo | None = None


@attrs.frozen(slots=False, kw_only=True)
class Facts(BarrierSteps):
    """The facts of one run.

    `record` is the execution as it stands on disk, `draft` the same with what has happened since; every barrier
    commits the draft. `journal` and `unsaid` are what happened since the last barrier, for the journal and for the
    model. `held`: this process owns the agent under `authority`. `call` is the model call in flight, `operations`
    the physical work that quiescence waits for. `hooks` are those of the runtime and of the logical agent, `preparing`
    the work of application code that is waited for, `assembly` what the request is made of beside the transcript.
    `withheld`: the answer is being streamed, and is told when its filters have passed it.
    """

    agent: Agent[Any]
    record: ExecutionRecord
    draft: ExecutionRecord
    authority: Authority
    input: str = ""
    context: dict[str, Any] = attrs.Factory(dict)
    held: bool = False
    position: int = 0
    answers: int = 0
    transcript: Transcript | None = None
    hooks: tuple[Hooked, ...] = ()
    preparing: str | None = None
    assembly: Assembly = PLAIN
    ledger: Ledger | None = None
    journal: tuple[JournalEntry, ...] = ()
    unsaid: tuple[Message, ...] = ()
    call: str | None = None
    retries: int = 0
    backoff: float = 0.0
    operations: frozenset[str] = frozenset()
    answer: ModelAnswer | None = None
    withheld: bool = False
    batch: Batch | None = None
    deciding: Decided | None = None
    resolution: Resolved | None = None
    failure: ErrorInfo | None = None
    blocked: ErrorInfo | None = None
    rejection: str | None = None
    output: str | None = None
    ending: Ending | None = None
    drain_until: float = 0.0
    repairs: int = 0

    @property
    def repaired(self) -> bool:
        """Whether a refused outcome was already replaced by a failure."""
        return self.repairs > 0

    @property
    def prepares(self) -> bool:
        """Whether application code takes part in putting a request together."""
        return self.agent.callbacks.prepares or bool(self.hooks)

    @property
    def judges_output(self) -> bool:
        """Whether an output type or filters look at the answer that is to end the run."""
        return bool(self.agent.output_filters) or self.agent.output.shape is not None

    def entry(self, kind: JournalKind, body: str | None = None, **meta: Any) -> JournalEntry:
        """A journal record of this run. Raises UnicodeEncodeError for a body that is not Unicode text."""
        content = Content.of(body) if body is not None else None
        return JournalEntry(kind, self.execution_id, self.now, content, meta)


NOTHING: Effects = ()


_LONGEST_ERROR: Final = 10_000
"""Characters of an exception's text that are kept: it goes to the model, and on record."""


def error_info(error: BaseException) -> ErrorInfo:
    """An exception as data, whatever it is: text that is no Unicode is escaped, so that it can be written; text that
    is longer than anybody reads is cut off; one that cannot even be asked for its text has its type alone.
    """
    try:
        text = str.__str__(str(error))  # the application's own `__str__`, and its own kind of text
    except BaseException:  # whatever it raises: where this is asked, nobody is left to hear of it
        return ErrorInfo(type(error).__name__, "the error cannot be shown: its __str__ raises")
    if len(text) > _LONGEST_ERROR:
        text = f"{text[:_LONGEST_ERROR]}… ({len(text)} characters)"
    return ErrorInfo(type(error).__name__, text.encode(errors="backslashreplace").decode())
