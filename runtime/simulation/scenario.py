"""Scenarios as values: who exists, what is said and done, what goes wrong, and what must be true.

These are what a scenario file says, field by field; `pawl.tools.scenario` reads files, `spelling` writes them. The
types say how a value is written: `Json` keeps JSON scalars, `Seconds` is a duration such as `200ms`. Defaults are
those of the format, and a field whose key is a Python word says so in its metadata.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Final, Literal, TypeAlias

import attrs

from pawl.runtime.simulation.beyond import AgentBeyond, ToolBeyond
from pawl.runtime.simulation.faults import BARRIERS, AtBarrier, AtBody


class Spelled(Enum):
    """How a scalar is written where its Python type does not say so."""

    JSON = "json"
    DURATION = "duration"
    POSITIVE = "positive"


Json: TypeAlias = Annotated[Any, Spelled.JSON]
Seconds: TypeAlias = Annotated[float, Spelled.DURATION]
Positive: TypeAlias = Annotated[int, Spelled.POSITIVE]


@attrs.frozen
class Place:
    """A place in a file: 1-based line and column."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


_NO_KEY: Final[dict[str, str | None]] = {"key": None}
"""Of fields that no key of a file is about."""


def _key(name: str, default: Any = attrs.NOTHING) -> Any:
    return attrs.field(default=default, metadata={"key": name})


# definitions ----------------------------------------------------------------------------------------------------------


@attrs.frozen
class Approve:
    """Who is asked before a call: nobody, a person, or a policy that raises `raises`."""

    rule: Literal["allow", "ask", "reject"] = "allow"
    raises: str | None = None


@attrs.frozen
class Probed:
    """What a probe answers: `absent`, `unknown`, or `found` with the result."""

    kind: Literal["absent", "unknown", "found"]
    found: Json = None


@attrs.frozen
class ToolDef:
    """A scripted tool. `returns` are the values of its executions, the last one repeats; `schema` is name to type."""

    approval: Approve = Approve()
    recovery: Literal["ask", "replay", "probe"] = "ask"
    returns: tuple[Json, ...] | None = None
    raises: str | None = None
    on_error: Literal["tell_model", "fail"] = "tell_model"
    probe: tuple[Probed, ...] = ()
    takes: Seconds = 0.0
    timeout: Seconds | None = None
    cancellable: bool = False
    schema: dict[str, str] | None = None
    beyond: ToolBeyond | None = attrs.field(default=None, kw_only=True, metadata=_NO_KEY)


@attrs.frozen
class FilterDef:
    """A filter: it blocks texts that contain `block`, replaces a word, or raises."""

    block: str | None = None
    replace: Replacement | None = None
    raises: str | None = None


@attrs.frozen
class Replacement:
    """Every `old` of a text becomes `new`."""

    old: str = _key("from")
    new: str = _key("to")


@attrs.frozen
class ListenerDef:
    """A listener that raises when it is told of an event of that kind."""

    raises_on: str


@attrs.frozen
class SubagentDef:
    """A definition that another may dispatch to."""

    agent: str
    on_error: Literal["raise", "tell_model"] = "raise"


@attrs.frozen
class HandoffDef:
    """A definition that another may hand over to."""

    agent: str


@attrs.frozen
class AgentDef:
    """A definition. `deadline` is for a run, from its admission; `compatible_with` comes with a change."""

    version: Positive = 1
    max_iterations: Positive = 10
    on_rejection: Literal["end", "continue"] = "end"
    model_recovery: Literal["replay", "ask"] = "replay"
    model_retries: int = 2
    model_timeout: Seconds | None = None
    deadline: Seconds | None = None
    approval_expires: Seconds | None = None
    on_listener_error: Literal["report", "fail"] = "report"
    listener: ListenerDef | None = None
    input_filter: FilterDef | None = None
    output_filter: FilterDef | None = None
    token_limit: Positive | None = None
    tools: dict[str, ToolDef] = attrs.field(factory=dict)
    subagents: dict[str, SubagentDef] = attrs.field(factory=dict)
    handoffs: dict[str, HandoffDef] = attrs.field(factory=dict)
    compatible_with: tuple[int, ...] = attrs.field(default=(), metadata=_NO_KEY)
    beyond: AgentBeyond | None = attrs.field(default=None, kw_only=True, metadata=_NO_KEY)
    at: Place | None = attrs.field(default=None, kw_only=True, eq=False, repr=False, metadata=_NO_KEY)


@attrs.frozen
class TeamDef:
    """A team of workers with a coordinator."""

    coordinator: str
    workers: Positive
    worker: str
    on_error: Literal["raise", "tell_model"] = "raise"
    at: Place | None = attrs.field(default=None, kw_only=True, eq=False, repr=False, metadata=_NO_KEY)


# answers of models ----------------------------------------------------------------------------------------------------


@attrs.frozen
class Called:
    """One tool call of an answer."""

    id: str
    tool: str
    args: Json = attrs.field(factory=dict)


@attrs.frozen
class Used:
    """Tokens."""

    input: int = 0
    output: int = 0


@attrs.frozen
class Answer:
    """One scripted answer: text, calls or both; or an error, a malformed one, none at all, a handoff."""

    text: str | None = None
    calls: tuple[Called, ...] = ()
    usage: Used = Used()
    chunks: tuple[str, ...] = ()
    takes: Seconds = 0.0
    error: Literal["overloaded", "rate_limit", "invalid_request"] | None = None
    hang: bool = False
    malformed: bool = False
    handoff: str | None = None
    responsibility: str | None = None
    at: Place | None = attrs.field(default=None, kw_only=True, eq=False, repr=False, metadata=_NO_KEY)

    @property
    def fails(self) -> bool:
        """Whether it is an answer of one attempt only: the next attempt at the same answer goes on."""
        return self.error is not None or self.hang or self.malformed


# faults ---------------------------------------------------------------------------------------------------------------

PLACES: Final = (*BARRIERS, "park")
"""The barriers that a file may name; `park` comes with coordination."""

REFUSALS: Final = ("serialization", "not_found", "too_large", "agent_busy")


@attrs.frozen
class Do:
    """What goes wrong: `times` for `unavailable` and `unreadable` (0: until `reopen`), `refusal` for `refuse`."""

    kind: AtBarrier | AtBody
    times: int = 0
    refusal: str | None = None


@attrs.frozen
class FaultDef:
    """One fault, once: at `BARRIER#n`, `tool:NAME#n` or `model#n`, counted for all or for one `run`."""

    at: str
    do: Do
    run: str | None = None
    place: Place | None = attrs.field(default=None, kw_only=True, eq=False, repr=False, metadata=_NO_KEY)


# expectations ---------------------------------------------------------------------------------------------------------


@attrs.frozen
class Wanted:
    """A list that is expected exactly, or a part of it in order (`includes`)."""

    items: tuple[str, ...]
    includes: bool = False


@attrs.frozen
class WantedError:
    """The class of an error, and a part of its words."""

    name: str = _key("class")
    contains: str | None = None


OUTCOMES: TypeAlias = Literal[
    "completed",
    "rejected",
    "failed",
    "cancelled",
    "blocked",
    "handed_off",
    "refused",
    "suspended",
    "needs_resolution",
    "recovery_required",
    "superseded",
    "parked",
    "running",
]


class Unwritten(Enum):
    """Stands where a file says nothing, since null says something."""

    UNWRITTEN = "unwritten"

    def __repr__(self) -> str:
        return "UNWRITTEN"


UNWRITTEN: Final = Unwritten.UNWRITTEN
_Open: TypeAlias = Literal[Unwritten.UNWRITTEN]


@attrs.frozen
class UsageExpected:
    """Tokens that a run must have used."""

    input: int | None = None
    output: int | None = None


@attrs.frozen
class RunExpected:
    """What a run must have come to; what is not written is not compared. Null is of a run that has no record."""

    outcome: OUTCOMES | None = None
    output: str | _Open | None = UNWRITTEN
    error: WantedError | _Open | None = UNWRITTEN
    status: str | _Open | None = UNWRITTEN
    phase: str | _Open | None = UNWRITTEN
    revision: int | _Open | None = UNWRITTEN
    pending: Wanted | None = None
    unresolved: Wanted | None = None
    journal: Wanted | None = None
    usage: UsageExpected | None = None
    events: Wanted | None = None
    keys: dict[str, Literal["same"]] = attrs.field(factory=dict)
    state: str | _Open | None = UNWRITTEN
    at: Place | None = attrs.field(default=None, kw_only=True, eq=False, repr=False, metadata=_NO_KEY)


@attrs.frozen
class InputExpected:
    """What the messages of a model call must contain and lack."""

    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


@attrs.frozen
class Expected:
    """What must be true: of runs by name, and of the whole world. `effects` and `model_calls` are exact."""

    runs: dict[str, RunExpected] = attrs.field(factory=dict)
    effects: dict[str, int] | None = None
    model_calls: dict[str, int] | None = None
    admission: dict[str, str] = attrs.field(factory=dict)
    owner: dict[str, str] = attrs.field(factory=dict)
    stale: dict[str, int] = attrs.field(factory=dict)
    transcript: dict[str, Wanted] = attrs.field(factory=dict)
    model_input: dict[str, dict[str, InputExpected]] = attrs.field(factory=dict)
    at: Place | None = attrs.field(default=None, kw_only=True, eq=False, repr=False, metadata=_NO_KEY)


# the whole ------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Scenario:
    """One document of a scenario file."""

    name: str
    agents: dict[str, AgentDef] = attrs.field(factory=dict)
    teams: dict[str, TeamDef] = attrs.field(factory=dict)
    model: dict[str, tuple[Answer, ...]] = attrs.field(factory=dict)
    faults: tuple[FaultDef, ...] = ()
    group: bool = False
    steps: tuple[Any, ...] = ()
    expect: Expected | None = None
    at: Place | None = attrs.field(default=None, kw_only=True, eq=False, repr=False, metadata=_NO_KEY)
