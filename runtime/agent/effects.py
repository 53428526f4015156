"""What the contexts ask for: values, carried out by the loop after the state was replaced, never by an action."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import attrs

from pawl.runtime.agent.payloads import ChildNews
from pawl.runtime.barriers.answers import Reading
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.events import Event
from pawl.runtime.records.executions import Awaiting
from pawl.runtime.records.journal import JournalEntry
from pawl.runtime.records.rests import Rest
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.port import Transaction


class Command(Protocol):
    """A barrier's transaction as a value."""

    @property
    def barrier(self) -> str:
        """The barrier's name in the specs."""

    @property
    def token(self) -> str:
        """The commit token that it writes."""

    def run(self, tx: Transaction) -> object:
        """Write it."""

    def read_back(self, tx: Transaction) -> Reading:
        """Look for it."""

    def renewed(self, token: str) -> Command:
        """The same under a new token."""


@attrs.frozen
class Submit:
    """Commit `command`; its answer comes back as an event."""

    command: Command


@attrs.frozen
class ReadBack:
    """Look whether `command` landed."""

    command: Command


@attrs.frozen
class LoadContext:
    """Read the transcript that the next request is made of."""


@attrs.frozen
class FilterText:
    """Ask the output type, where there is one, and the filters about the text of a stage; `work` names it."""

    work: str
    stage: Literal["input", "output"]
    text: str


@attrs.frozen
class PrepareRequest:
    """Ask everything of the application's that takes part in a request. `load`: the transcript is read first."""

    work: str
    load: bool


@attrs.frozen
class CallModel:
    """Let a model call go. Only the apply step of a committed barrier asks for this."""

    request: ModelRequest
    revision: int


@attrs.frozen
class RetryPlanned:
    """A model call failed and is made again after `seconds`: its `failures`-th failure for this answer."""

    llm_call_id: str
    failures: int
    seconds: float
    error: str


@attrs.frozen
class Authorize:
    """Ask the tool's policy about one call, off the loop."""

    row: ToolRow


@attrs.frozen
class RequestSlot:
    """Wait for a slot of a tool with limits; it is granted with the event `slot_granted`."""

    row: ToolRow


@attrs.frozen
class Withdraw:
    """A dispatched call will not run: its slot, wanted or granted, is given back, and its operation is over."""

    row: ToolRow


@attrs.frozen
class RunTool:
    """Run a tool body. Only a dispatched child asks for this."""

    row: ToolRow
    deadline: float | None


@attrs.frozen
class RunProbe:
    """Ask a tool's probe whether the call with this key has run."""

    row: ToolRow


@attrs.frozen
class StopWork:
    """Ask a model call, a body or a probe to stop; its physical end is still waited for."""

    operation: str


@attrs.frozen
class Spawn:
    """Begin a child session for a call, given these arguments; inside the heart."""

    row: ToolRow
    given: str = attrs.field(repr=False)


@attrs.frozen
class Tell:
    """Deliver an event to a child; inside the heart."""

    tool_invocation_id: str
    event: str
    payload: object = None


@attrs.frozen
class Notify:
    """Deliver a child's news to its parent; inside the heart."""

    event: str
    payload: ChildNews


@attrs.frozen
class Lost:
    """A child learnt that the agent is owned by somebody else; inside the heart."""

    owner: str | None


@attrs.frozen
class Emit:
    """Tell listeners."""

    event: Event


@attrs.frozen
class Announce:
    """Tell listeners of what a barrier appended after `position`. Its events are made where somebody listens."""

    position: int
    journal: tuple[JournalEntry, ...]


@attrs.frozen
class Begun:
    """The admission has committed: `start` may return."""


@attrs.frozen
class AtRest:
    """Nothing moves until somebody answers: release what is still owned, tell, settle the handle.

    `held` says whether the agent is still owned (a barrier releases it in its own transaction). `refusal` is what
    the caller whose answer brought the execution here is told instead of the rest.
    """

    rest: Rest[Any]
    awaiting: Awaiting
    held: bool
    event: Event
    refusal: Exception | None = None


@attrs.frozen
class Ended:
    """The run is over here: release the slot, tell, settle with the rest, or with the error where there is none."""

    rest: Rest[Any] | None
    event: Event | None = None
    error: Exception | None = None


@attrs.frozen
class ReadAgain:
    """Read the record of a closed execution again, and bring it as a reload."""


@attrs.frozen
class Reopened:
    """A closed execution goes on from its record: its slot moves again, its children of before are over."""


@attrs.frozen
class Closed:
    """Fail closed: the slot stays taken, the handle raises OutcomeUnknown."""

    error: Exception
