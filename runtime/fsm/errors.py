"""What the engine raises; every message names the machine, the state, and what to do."""

from __future__ import annotations

from collections.abc import Iterable


class MachineError(Exception):
    """Base of everything the table engine raises."""


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

    A guard leaves the session where it was; an action leaves it in the target state, in error.
    """

    def __init__(self, machine: str, state: str, name: str, error: BaseException) -> None:
        self.machine, self.state, self.name, self.error = machine, str(state), name, error
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


class SessionEnded(MachineError):
    """The session is finished, halted, in error, or was replaced by a later incarnation."""


class SnapshotMismatch(MachineError):
    """A snapshot belongs to another machine, version or spec; `field` names which."""

    def __init__(self, field: str, expected: object, found: object) -> None:
        self.field, self.expected, self.found = field, expected, found
        super().__init__(
            f"this snapshot has {field} {found!r}, but the machine has {expected!r}; "
            "restore it with the machine that wrote it, or migrate it first"
        )
