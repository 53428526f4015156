"""A session at rest as plain data: what is needed to go on in another process, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import attrs

from pawl.runtime.fsm.errors import MalformedSnapshot, SnapshotMismatch, UnknownState
from pawl.runtime.fsm.evolution import migration, onward
from pawl.runtime.fsm.table import E, Machine, Resume, S


@attrs.frozen
class Deadline:
    """An armed timer: `event` is due at `at` (seconds on the session's clock), `seconds` after it was armed."""

    state: str
    event: str
    at: float
    seconds: float


@attrs.frozen
class SavedDeadline:
    """A timer in a snapshot. `left` is how many seconds were left when the session was saved."""

    state: str
    event: str
    at: float
    seconds: float
    left: float

    def resumed(self, policy: Resume, now: float) -> Deadline:
        """The timer of a session restored at `now` under the policy of its state."""
        match policy:
            case Resume.DEADLINE:
                at = self.at
            case Resume.REMAINING:
                at = now + self.left
            case Resume.RESTART:
                at = now + self.seconds
        return Deadline(self.state, self.event, at, self.seconds)


@attrs.frozen
class Snapshot:
    """Where a session stands: its machine (name, version, hash of the spec), state, timers and step count.

    The context is not in it: it is the host's, who stores it in the same transaction.
    """

    machine: str
    version: int
    spec_hash: str
    state: str
    deadlines: tuple[SavedDeadline, ...]
    seq: int

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers, ready for JSON."""
        return attrs.asdict(self) | {"deadlines": [attrs.asdict(deadline) for deadline in self.deadlines]}

    @classmethod
    def from_dict(cls, data: object) -> Snapshot:
        """Read what `to_dict` made. Raises MalformedSnapshot, naming the place, for anything else."""
        fields = _fields(data, "snapshot", cls)
        saved = fields["deadlines"]
        if not isinstance(saved, list):
            raise MalformedSnapshot("snapshot.deadlines", f"expected a list, found {saved!r}")
        return cls(
            machine=_text(fields, "machine", "snapshot"),
            version=_count(fields, "version", "snapshot"),
            spec_hash=_text(fields, "spec_hash", "snapshot"),
            state=_text(fields, "state", "snapshot"),
            deadlines=tuple(_deadline(item, f"snapshot.deadlines[{index}]") for index, item in enumerate(saved)),
            seq=_count(fields, "seq", "snapshot"),
        )

    def migrated(self, machine: Machine[S, E]) -> Snapshot:
        """The same as `machine` would have written it; itself, when it did, or when another machine did.

        The `migrations` of the machine say where a session of another version goes on. Its timer runs on as that of
        the state that it is in now, until the same moment, and ends where that one has none; no timer is begun. Raises
        SnapshotMismatch when the machine takes over sessions of that version and none in that state.
        """
        if self.machine != machine.name or self.spec_hash == machine.spec_hash:
            return self
        by = migration(machine, self.spec_hash)
        if by is None:
            return self  # `check` says what is wrong with it
        if by.version != self.version:
            raise SnapshotMismatch("version", by.version, self.version, f"`migrations` says {by.version} of its hash")
        state = onward(machine, by, self.state)
        if state is None:
            problem = f"{machine.name} version {machine.version} takes over no session from there"
            raise SnapshotMismatch("state", None, self.state, problem)
        self._check_timers(None)
        after, name = machine.timed.get(state), str(state)
        timers: tuple[SavedDeadline, ...] = ()
        if after is not None:
            timers = tuple(attrs.evolve(one, state=name, event=str(after.event)) for one in self.deadlines)
        return Snapshot(self.machine, machine.version, machine.spec_hash, name, timers, self.seq)

    def check(self, machine: Machine[S, E]) -> S:
        """The state of `machine` that this names.

        Raises SnapshotMismatch when another machine, version or spec wrote it, UnknownState, and MalformedSnapshot for
        a timer that the machine does not have.
        """
        for field, expected, found in (
            ("machine", machine.name, self.machine),
            ("version", machine.version, self.version),
            ("spec_hash", machine.spec_hash, self.spec_hash),
        ):
            if expected != found:
                raise SnapshotMismatch(field, expected, found)
        info = machine.state.get(self.state)
        if info is None:
            raise UnknownState(machine.name, self.state, machine.state)
        after = machine.timed.get(info.name)
        self._check_timers((after.event,) if after is not None else ())
        return info.name

    def _check_timers(self, events: tuple[str, ...] | None) -> None:
        """Raises MalformedSnapshot for a timer of another state, or for an event that is none of these; None: any."""
        for index, deadline in enumerate(self.deadlines):
            if deadline.state != self.state or (events is not None and deadline.event not in events):
                raise MalformedSnapshot(
                    f"snapshot.deadlines[{index}]",
                    f"state '{deadline.state}' has no timer for '{deadline.event}' that runs in state '{self.state}'",
                )


def _deadline(data: object, path: str) -> SavedDeadline:
    fields = _fields(data, path, SavedDeadline)
    return SavedDeadline(
        state=_text(fields, "state", path),
        event=_text(fields, "event", path),
        at=_seconds(fields, "at", path),
        seconds=_seconds(fields, "seconds", path),
        left=_seconds(fields, "left", path),
    )


def _fields(data: object, path: str, shape: type[attrs.AttrsInstance]) -> Mapping[str, object]:
    names = [field.name for field in attrs.fields(shape)]
    if not isinstance(data, Mapping):
        raise MalformedSnapshot(path, f"expected an object with {', '.join(names)}, found {data!r}")
    if missing := [name for name in names if name not in data]:
        raise MalformedSnapshot(path, f"lacks {', '.join(missing)}")
    if unknown := [str(name) for name in data if name not in names]:
        raise MalformedSnapshot(path, f"has unknown {', '.join(unknown)}")
    return data


def _text(fields: Mapping[str, object], name: str, path: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise MalformedSnapshot(f"{path}.{name}", f"expected a string, found {value!r}")
    return value


def _count(fields: Mapping[str, object], name: str, path: str) -> int:
    value = fields[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MalformedSnapshot(f"{path}.{name}", f"expected a whole number from 0, found {value!r}")
    return value


def _seconds(fields: Mapping[str, object], name: str, path: str) -> float:
    value = fields[name]
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise MalformedSnapshot(f"{path}.{name}", f"expected a number of seconds, found {value!r}")
    return float(value)
