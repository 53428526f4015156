"""What a scenario comes to, in terms that do not depend on what went wrong on the way, and how two of these differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.simulation.expecting import shown
from pawl.runtime.simulation.faults import Fault, Met


@attrs.frozen
class Seen:
    """What a run had come to: after a step, or at the end."""

    outcome: str
    unresolved: tuple[str, ...] = ()
    output: str | None = None


@attrs.frozen
class Way:
    """Where all runs were after a step, and whether any barrier was waiting to try the store again."""

    runs: Mapping[str, Seen]
    backing_off: frozenset[str]


@attrs.frozen
class Came:
    """What a whole scenario came to, in terms that do not depend on what went wrong on the way.

    `ways` are the runs after each step, `end` at the end; `journals` the kinds by agent, without what recovery adds;
    `effects` by tool: the calls whose body was entered, and its entries where it must not be entered again.
    """

    ways: tuple[Way, ...]
    end: Way
    journals: Mapping[str, tuple[str, ...]]
    effects: Mapping[str, tuple[int, int]]
    places: tuple[Met, ...]
    fired: tuple[tuple[Fault, Met], ...]
    performed: Mapping[int, bool]
    """For each `resolve` step of the scenario: whether the body that it speaks of had run."""


def of_recovery(kind: str, meta: Mapping[str, object]) -> bool:
    """Whether a record is of what went wrong: resolutions, and model calls that failed or were lost."""
    return kind == "recovery_resolved" or (kind == "llm_call_recorded" and meta.get("status") != "completed")


_SETTLED: Final = frozenset(TERMINAL) | {"suspended", "needs_resolution", "refused"}


def difference(base: Came, came: Came, troubles: Sequence[str]) -> str | None:
    """What is not as in the undisturbed run, None when nothing is; only runs that came to something are compared."""
    because = f" (on the way: {troubles[0]})" if troubles else ""
    for name, seen in base.end.runs.items():
        now = came.end.runs.get(name, Seen("not started"))
        if seen.outcome in _SETTLED and now != seen:
            return f"{name}: {_told(now)}, undisturbed {_told(seen)}{because}"
    if any(seen.outcome not in _SETTLED for seen in base.end.runs.values()):
        return None
    if came.effects != base.effects and not _stopped_earlier(base, came):
        return f"effects (calls, entries): {shown(came.effects)}, undisturbed {shown(base.effects)}{because}"
    for agent, kinds in base.journals.items():
        there = came.journals.get(agent, ())
        if there != kinds and not (_stops(base) and _is_part_of(there, kinds)):
            return f"the journal of {agent}: {shown(came.journals.get(agent))}, undisturbed {shown(kinds)}{because}"
    return None


def _stopped_earlier(base: Came, came: Came) -> bool:
    """Whether less was done, in runs that were to be stopped anyway: no lost effect is made up for then."""
    return _stops(base) and all(now <= base.effects.get(tool, (0, 0)) for tool, now in came.effects.items())


def _stops(base: Came) -> bool:
    return any(seen.outcome in ("cancelled", "failed", "blocked") for seen in base.end.runs.values())


def _is_part_of(fewer: Sequence[str], kinds: Sequence[str]) -> bool:
    """Whether less was written, in order: what a run that is stopped had not written yet goes with its process."""
    rest = iter(kinds)
    return all(kind in rest for kind in fewer)


def _told(seen: Seen) -> str:
    asks = f" about {', '.join(seen.unresolved)}" if seen.unresolved else ""
    return f"{seen.outcome}{asks}{f' with {seen.output!r}' if seen.output is not None else ''}"
