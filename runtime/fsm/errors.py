"""What the engine raises; every message names the machine, the state, and what to do."""

from __future__ import annotations

from collections.abc import Iterable


class MachineError(Exception):
    """Base of everything the table engine raises."""


class InvalidMachine(MachineError):
    """The table contradicts itself: it names a state or an event that it does not have."""

    def __init__(self, machine: str, problem: str) -> None:
        self.machine = machine
        super().__init__(f"{machine}: {problem}; correct the spec and generate again")


class UnknownState(MachineError):
    """The caller gave a state that the machine does not have."""

    def __init__(self, machine: str, state: str, states: Iterable[str]) -> None:
        self.machine, self.state = machine, str(state)
        known = ", ".join(str(name) for name in states)
        super().__init__(f"{machine}: there is no state '{state}'; its states are: {known}")


class UnhandledEvent(MachineError):
    """The event has no row in this state and the spec says `refuse`, or says nothing.

    Attributes: `machine`, `state`, `event` (names) and `allowed` (the events that have rows here).
    """

    def __init__(self, machine: str, state: str, event: str, allowed: Iterable[str]) -> None:
        self.machine, self.state, self.event = machine, str(state), str(event)
        self.allowed = tuple(sorted(str(name) for name in allowed))
        expected = ", ".join(self.allowed) or "nothing"
        super().__init__(f"{machine}: '{event}' is not possible in state '{state}'; possible here: {expected}")


class StepFailed(MachineError):
    """A guard or an action raised and the spec names no way out; the cause is chained.

    A guard leaves the session where it was; an action leaves it in the target state, in error. Attributes: `machine`,
    `state` (where it stands), `name` (of what raised), `error` (the cause), and what the actions before it had made:
    `context`, and `effects`, which nobody has carried out.
    """

    def __init__(
        self,
        machine: str,
        state: str,
        name: str,
        error: BaseException,
        context: object = None,
        effects: tuple[object, ...] = (),
    ) -> None:
        self.machine, self.state, self.name, self.error = machine, str(state), name, error
        self.context, self.effects = context, effects
        super().__init__(
            f"{machine}: '{name}' raised {type(error).__name__} in state '{state}': {error}; "
            "add `error:` to the spec to name a state for this"
        )


class AutomaticLoop(MachineError):
    """Automatic transitions did not come to rest within four times the number of states."""

    def __init__(self, machine: str, cycle: tuple[str, ...]) -> None:
        self.machine, self.cycle = machine, tuple(str(state) for state in cycle)
        super().__init__(
            f"{machine}: automatic transitions do not come to rest: {' -> '.join(self.cycle)}; "
            "one of these rows needs a guard that becomes false"
        )


class InvalidAction(MachineError):
    """An action returned something that is neither None nor (context, effects): a programming error."""

    def __init__(self, machine: str, name: str, result: object) -> None:
        self.machine, self.name = machine, name
        super().__init__(
            f"{machine}: action '{name}' returned {type(result).__name__}; return None, or the new context and a "
            "tuple of effects. Actions are synchronous: ask for outside work with an effect"
        )


class InvalidGuard(MachineError):
    """A guard returned an awaitable, which would always mean yes: a programming error."""

    def __init__(self, machine: str, name: str, result: object) -> None:
        self.machine, self.name = machine, name
        super().__init__(
            f"{machine}: guard '{name}' returned {type(result).__name__}; return True or False. Guards are "
            "synchronous: ask for outside work with an effect of an earlier state"
        )


class NotStarted(MachineError):
    """The session has not entered its initial state yet."""

    def __init__(self, machine: str) -> None:
        self.machine = machine
        super().__init__(f"{machine}: this session has not been started; call start() first, once")


class AlreadyStarted(MachineError):
    """`start` was called again, or on a restored session."""

    def __init__(self, machine: str, state: str) -> None:
        self.machine, self.state = machine, str(state)
        super().__init__(f"{machine}: this session was started before and stands in state '{state}'; send it events")


class SessionBusy(MachineError):
    """An event was sent while another is still being taken: by an action, or by another thread."""

    def __init__(self, machine: str, state: str, event: str) -> None:
        self.machine, self.state, self.event = machine, str(state), str(event)
        super().__init__(
            f"{machine}: '{event}' was sent while another event is being taken in state '{state}'; from an action "
            f"return the effect Raise('{event}'), from elsewhere post it to the session's sink"
        )


class SessionEnded(MachineError):
    """The session is at rest for good, in error, or was closed; a snapshot of it may be restored."""

    def __init__(self, machine: str, state: str, reason: str) -> None:
        self.machine, self.state, self.reason = machine, str(state), reason
        super().__init__(f"{machine}: this session has ended in state '{state}': {reason}")


class MalformedSnapshot(MachineError):
    """The data is no snapshot; `path` names the place."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        super().__init__(f"{path}: {problem}; give the data that Snapshot.to_dict() made, unchanged")


class SnapshotMismatch(MachineError):
    """A snapshot belongs to another machine, version or spec; `field` names which.

    `field` is `state` where the machine takes over sessions of that version, and not those in the state `found`.
    """

    def __init__(self, field: str, expected: object, found: object, problem: str | None = None) -> None:
        self.field, self.expected, self.found = field, expected, found
        way = "" if field == "machine" else ", or say in `migrations` of the spec where it goes on"
        super().__init__(
            f"this snapshot has {field} {found!r}, but {problem or f'the machine has {expected!r}'}; "
            f"restore it with the machine that wrote it{way}"
        )
