"""What befalls a random program: faults at barriers, at calls, and at what the runtime does besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, cast

from pawl.runtime.simulation.draw import Draw
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.scenario import Do, FaultDef

_FREE_BARRIERS: Final = ("provider_dispatch", "suspension", "approval", "tool_dispatch", "tool_outcome", "resolution")
_BARRIERS: Final = ("admission", *_FREE_BARRIERS, "outcome")
_AT_BARRIER: Final = (
    *("crash_before_commit", "crash_after_commit", "lose_reply_committed", "lose_reply_rolled_back", "unavailable"),
    *("unreadable", "refuse", "superseded", "foreign_write"),
)
_OWN: Final = ("create", "take_over", "take_back", "let_go", "renew", "bury", "stop_intent", "hold_on")
_LOST: Final = (
    *("crash_before_commit", "crash_after_commit", "lose_reply_committed", "lose_reply_rolled_back", "unavailable"),
    "slow",
)
_AT_BODY: Final = ("crash_before_effect", "crash_during_effect", "crash_after_effect")


def written_faults(draw: Draw, runs: Sequence[str], tools: Iterable[str]) -> list[FaultDef]:
    """Faults that a scenario file can say: at barriers of all and of one of the `runs`, at models and `tools`."""
    often = draw.one((0.0, 0.08, 0.2, 0.4))
    bodies = draw.one((0.0, 0.05, 0.2, 0.4))
    faults = [
        FaultDef(f"{barrier}#{number}", _at_barrier(draw, barrier), draw.maybe(0.1, runs))
        for barrier in _BARRIERS
        for number in range(1, 7)
        if draw.chance(often)
    ]
    names = ["model", *dict.fromkeys(f"tool:{tool}" for tool in tools)]
    faults += [
        FaultDef(f"{name}#{number}", Do(cast(Any, draw.one(_AT_BODY))))
        for name in names
        for number in range(1, 4)
        if draw.chance(bodies)
    ]
    return faults


def more_faults(draw: Draw, tools: Iterable[str]) -> Iterator[Fault]:
    """Faults that no scenario file can say: at the runtime's own work on the store, and at probes."""
    often = draw.one((0.0, 0.02, 0.1))
    slow = draw.one((0.0, 0.1, 0.5))
    for barrier in _BARRIERS:
        for number in range(1, 5):
            if draw.chance(slow):
                yield Fault(f"{barrier}#{number}", "slow", times=draw.one((1, 2, 4, 40)))
    for place, dos in _beyond(tools):
        for number in range(1, 4):
            if draw.chance(often):
                do = draw.one(dos)
                yield Fault(f"{place}#{number}", do, times=draw.between(1, 3))
    for barrier in _FREE_BARRIERS:
        if draw.chance(often):
            yield Fault(f"{barrier}#{draw.between(1, 4)}", "foreign_write_unseen" if draw.chance(0.1) else "superseded")


def _beyond(tools: Iterable[str]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The places of these faults, and what can happen there."""
    yield from ((f"read:{barrier}", ("crash_before_commit", "unavailable", "slow")) for barrier in _BARRIERS)
    yield from ((name, _LOST) for name in _OWN)
    yield from ((f"probe:{tool}", ("crash_before_effect",)) for tool in tools)
    yield "pool", ("full",)


def _at_barrier(draw: Draw, barrier: str) -> Do:
    kind = cast(Any, draw.one(_AT_BARRIER))
    if kind == "foreign_write" and (barrier == "admission" or draw.chance(0.7)):
        kind = "lose_reply_committed"  # who breaks the rules is rare, and no client of an admission knows their run
    if kind == "superseded" and barrier == "admission":
        kind = "crash_after_commit"
    if kind == "refuse":
        refusals = ("serialization", "not_found", "too_large", "agent_busy")
        return Do(kind, refusal=draw.one(refusals) if barrier == "admission" else "serialization")
    times = draw.between(1, 4) if kind == "unavailable" else draw.between(0, 3) if kind == "unreadable" else 0
    return Do(kind, times)
