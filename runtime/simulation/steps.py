"""The steps of a scenario, as values: what a caller does, what becomes of processes, and when to look."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

import attrs

from pawl.runtime.simulation.scenario import AgentDef, Expected, Json, Place, Seconds

FIRST: Final = "p1"
"""The name of the process that a scenario begins with."""


def _key(name: str, default: Any = attrs.NOTHING) -> Any:
    return attrs.field(default=default, metadata={"key": name})


@attrs.frozen(kw_only=True)
class _Step:
    word: ClassVar[str]
    at: Place | None = attrs.field(default=None, eq=False, repr=False, metadata={"key": None})


@attrs.frozen(kw_only=True)
class _Inside(_Step):
    process: str | None = _key("in", None)


@attrs.frozen(kw_only=True)
class Open(_Inside):
    """Create or load a logical agent of a definition."""

    word = "open"
    agent: str
    name: str | None = _key("as", None)


@attrs.frozen(kw_only=True)
class Start(_Inside):
    """Start a run of a logical agent."""

    word = "start"
    agent: str
    input: str
    name: str = _key("as", "")
    mode: Literal["run", "stream"] = "run"
    durable_context: Json = None
    id: str | None = None


@attrs.frozen(kw_only=True)
class Team(_Inside):
    """Start a team run."""

    word = "team"
    team: str
    input: str
    name: str = _key("as")


@attrs.frozen
class Verdict:
    """How one item is decided: approved, rejected with a message, or approved with edited arguments."""

    kind: Literal["approve", "reject", "edit"]
    message: str = ""
    edit: Json = None


@attrs.frozen(kw_only=True)
class Decide(_Inside):
    """Decide the pending request of a run, the whole of it or some items."""

    word = "decide"
    run: str
    approve: bool | None = None
    message: str = ""
    items: dict[str, Verdict] = attrs.field(factory=dict)
    request: Literal["stale"] | None = None


@attrs.frozen(kw_only=True)
class Cancel(_Inside):
    """Ask a run to stop."""

    word = "cancel"
    run: str


@attrs.frozen(kw_only=True)
class Resolve(_Inside):
    """Say what became of an effect whose outcome is not known."""

    word = "resolve"
    run: str
    subject: str
    outcome: Literal["succeeded", "failed", "not_performed"]
    result: Json = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class Hold(_Step):
    """Let the next call of a tool, or of the `model`, wait before its body is entered."""

    word = "hold"
    what: str


@attrs.frozen(kw_only=True)
class Release(_Step):
    """Let the oldest held call of it go on."""

    word = "release"
    what: str


@attrs.frozen(kw_only=True)
class Advance(_Step):
    """Move the virtual clock."""

    word = "advance"
    seconds: Seconds


@attrs.frozen(kw_only=True)
class Crash(_Inside):
    """Lose a process, or its host with it."""

    word = "crash"
    host: bool = False


@attrs.frozen(kw_only=True)
class Reopen(_Inside):
    """A new process over the same store."""

    word = "reopen"


@attrs.frozen(kw_only=True)
class Close(_Inside):
    """Shut a process down gracefully."""

    word = "close"


@attrs.frozen(kw_only=True)
class Pause(_Inside):
    """Stop a process: no renewals, no messages."""

    word = "pause"


@attrs.frozen(kw_only=True)
class Unpause(_Inside):
    """Let it go on."""

    word = "unpause"


@attrs.frozen(kw_only=True)
class Beside(_Step):
    """Open another process beside the first."""

    word = "process"
    name: str


@attrs.frozen(kw_only=True)
class End(_Step):
    """Close that process."""

    word = "end"
    name: str


@attrs.frozen(kw_only=True)
class Redeliver(_Inside):
    """Deliver the most recent such event of a run once more, through its original sink."""

    word = "redeliver"
    event: str
    of: str


@attrs.frozen(kw_only=True)
class Change(_Step):
    """Redefine an agent, for processes that are opened later: what is written replaces what was."""

    word = "change"
    agent: str
    to: AgentDef
    written: frozenset[str] = frozenset()
    """The fields of `to` that the file names."""


@attrs.frozen(kw_only=True)
class Expect(_Step):
    """Check now."""

    word = "expect"
    expected: Expected


@attrs.frozen(kw_only=True)
class Fails(_Step):
    """The inner step must raise that error class."""

    word = "fails"
    step: Any
    error: str = _key("with")


Step: TypeAlias = (
    Open
    | Start
    | Team
    | Decide
    | Cancel
    | Resolve
    | Hold
    | Release
    | Advance
    | Crash
    | Reopen
    | Close
    | Pause
    | Unpause
    | Beside
    | End
    | Redeliver
    | Change
    | Expect
    | Fails
)

STEPS: Final[dict[str, type[Any]]] = {step.word: step for step in get_args(Step)}
"""Every step by its word in a file."""

SINGLE: Final = {Hold: "what", Release: "what", Advance: "seconds", Beside: "name", End: "name"}
"""Steps that are one scalar, with the field that it is."""

CALLS: Final = (Start, Decide, Cancel, Resolve)
"""Steps that a client repeats when its process was lost."""
