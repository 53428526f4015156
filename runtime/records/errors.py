"""Every error a caller can meet. Each says what happened and what to do.

Some are never raised: they are the type that `Failed.error` or `Blocked.error` names, since an outcome is data.
"""

from __future__ import annotations


class PawlError(Exception):
    """Base of all errors of the runtime."""


class AgentNotFound(PawlError):
    """No such logical agent; `open` or `create` it first."""


class AgentExists(PawlError):
    """A logical agent of that id exists already; `load` or `open` it."""


class AgentBusy(PawlError):
    """The agent has an unfinished execution. Attributes: `execution_id`, `status`, `owner` (None at rest)."""

    def __init__(self, execution_id: str, status: str, owner: str | None = None) -> None:
        self.execution_id, self.status, self.owner = execution_id, status, owner
        held = f", owned by {owner}" if owner else ""
        super().__init__(
            f"the agent is busy with execution {execution_id} ({status}{held}); "
            "await it, decide it, resolve it or cancel it"
        )


class AgentClosed(PawlError):
    """The agent was closed and takes no new runs; `open` another, or `load` it elsewhere."""


class ExecutionNotFound(PawlError):
    """No execution of that id in this store; `pawl ls` lists what is there."""


class IdConflict(PawlError):
    """The start id was used before with another agent or another input; use a new id for new work."""


class StaleRequest(PawlError):
    """That approval request is not the pending one (or never was); look up the current request and decide that."""


class RequestExpired(StaleRequest):
    """The request was not decided in time; it can not be decided any more, and its run fails. Start a new one."""


class AlreadyDecided(PawlError):
    """The item has been decided differently; a decision is final. `decision` says how."""

    def __init__(self, tool_call_id: str, decision: str) -> None:
        self.tool_call_id, self.decision = tool_call_id, decision
        super().__init__(f"tool call {tool_call_id} was already decided ({decision}); a decision cannot be changed")


class NotSuspended(PawlError):
    """The execution waits for no decision (any more), or is not closed; look up what it is at with `result`."""


class WrongAgent(PawlError):
    """The execution or request belongs to another agent than the one asked."""


class InvalidArguments(PawlError):
    """Arguments do not fit: a caller's bad value, or edited tool arguments that the tool's types refuse."""


class StaleRevision(PawlError):
    """The execution has moved on since `revision` was read; read it again and decide on what it says now."""


class UnknownSubject(PawlError):
    """No such unresolved subject; `unresolved` lists what waits for an answer."""


class Superseded(PawlError):
    """Another process took this agent over; nothing more is started or written here. Attribute `owner`."""

    def __init__(self, owner: str | None = None) -> None:
        self.owner = owner
        by = f" by {owner}" if owner else ""
        super().__init__(
            f"this agent was taken over{by}; follow the execution there (or await it with `execution(id)`)"
        )


class OutcomeUnknown(PawlError):
    """What was written is not known; the agent stays closed here. Check the store, then `reload` or restart."""


class DefinitionChanged(PawlError):
    """The open work was started by another version of the definition; list it in `Agent(compatible_with=[…])`."""


class SpecMismatch(PawlError):
    """The open work was written by another machine or spec; finish it with the version that wrote it."""


class Backpressure(PawlError):
    """Too much work is waiting already; nothing was started, try again later."""


class RuntimeClosed(PawlError):
    """The runtime is closed or closing; open a new one."""


class StoreError(PawlError):
    """Base of what can be wrong with a store."""


class StoreUnavailable(StoreError):
    """The store cannot be written or opened now (locked, full, no permission to the folder); nothing was written."""


class StoreReadOnly(StoreError):
    """The store cannot be written to: file or folder is read-only."""


class StoreCorrupt(StoreError):
    """The store's content is not what was written (damaged file, broken digest, undecodable record)."""


class SchemaTooNew(StoreError):
    """The store was written by a newer Pawl; upgrade this one."""


class CodecError(StoreCorrupt):
    """A stored or given value does not decode; the message has the path to the place."""


class IterationsExhausted(PawlError):
    """Never raised, a type of `Failed.error`: the run used its `max_iterations` model answers; allow it more."""


class UsageLimitExceeded(PawlError):
    """Never raised, a type of `Failed.error`: the run used what `Agent(limits=…)` gives it; allow it more."""


class PreparationTimeout(PawlError):
    """Never raised, a type of `Failed.error`: a filter, hook or policy took longer than `preparation_timeout`."""


class ContextTooLarge(PawlError):
    """Never raised, a type of `Failed.error`: what may never leave a request is more than the policy's `max_tokens`."""


class InvalidOutput(PawlError):
    """Never raised, a type of `Failed.error`: the model gave no answer of the agent's output type."""


class DeadlineExceeded(PawlError):
    """Never raised, a type of `Failed.error`: the run, or a decision it waited for, took longer than its deadline."""


class ModelError(PawlError):
    """The model call failed. `retry_safe`: the provider says that nothing was done and it may be tried again;
    `retry_after`: in so many seconds, as far as it says (else None).
    """

    def __init__(self, message: str, *, retry_safe: bool = False, retry_after: float | None = None) -> None:
        self.retry_safe = retry_safe
        self.retry_after = retry_after
        super().__init__(message)


class MalformedModelAnswer(ModelError):
    """The model's answer could not be understood."""


class ListenerFailed(PawlError):
    """Never raised, a type of `Failed.error`: a listener raised, and the runtime is told to fail such runs."""


class ToolError(PawlError):
    """What a tool returned cannot be its result; as the type of `Failed.error`: a tool failed, and its `on_error` says
    that the run fails with it.
    """


class FilterBlocked(PawlError):
    """Never raised, the type of `Blocked.error`: an input or output filter blocked the text."""
