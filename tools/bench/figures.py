"""A measured figure beside its limit, and the list of all that `pawl bench` can measure.

To add one: write a function without arguments that returns a `Figure` and name it in `BENCHMARKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Literal

import attrs

Direction = Literal["at_most", "at_least"]


@attrs.frozen
class Figure:
    """One measurement: `value` in `unit`, and the limit that it must keep at most or at least.

    `note` says what bounds it: what is left where it could be better.
    """

    name: str
    value: float
    limit: float
    unit: str
    direction: Direction = "at_most"
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the limit is kept."""
        return self.value <= self.limit if self.direction == "at_most" else self.value >= self.limit

    def to_dict(self) -> dict[str, Any]:
        """The fields and `holds`, ready for JSON."""
        return attrs.asdict(self) | {"holds": self.holds}

    def __str__(self) -> str:
        verdict = "ok" if self.holds else "TOO MUCH" if self.direction == "at_most" else "TOO LITTLE"
        limit = f"{self.direction.replace('_', ' ')} {self.limit:g} {self.unit}"
        return f"{self.name}: {self.value:.4g} {self.unit} ({limit}): {verdict}"


BENCHMARKS = {
    "advance_guard_action_ratio": "pawl.tools.bench.advance:guard_action_ratio",
    "advance_context_effect_ratio": "pawl.tools.bench.advance:context_effect_ratio",
    "advance_vs_transitions": "pawl.tools.bench.advance:versus_transitions",
    "idle_session_bytes": "pawl.tools.bench.footprint:idle_session_bytes",
    "import_ms": "pawl.tools.bench.footprint:import_ms",
    "first_step_ms": "pawl.tools.bench.startup:first_step_ms",
    "context_10000_ratio": "pawl.tools.bench.context:context_ratio",
    "context_policy_growth": "pawl.tools.bench.context:policy_growth",
    "durable_ratio": "pawl.tools.bench.durable:durable_ratio",
    "group_commit_gain": "pawl.tools.bench.durable:group_commit_gain",
    "storage_ratio": "pawl.tools.bench.storage:storage_ratio",
    "last_barrier_ratio": "pawl.tools.bench.storage:last_barrier_ratio",
    "storage_growth": "pawl.tools.bench.storage:storage_growth",
    "concurrent_time_ratio": "pawl.tools.bench.crowds:concurrent_time_ratio",
    "concurrent_memory_ratio": "pawl.tools.bench.crowds:concurrent_memory_ratio",
    "barrier_full_p50_ms": "pawl.tools.bench.latency:barrier_full_p50_ms",
    "barrier_full_p99_ms": "pawl.tools.bench.latency:barrier_full_p99_ms",
    "barrier_normal_p50_ms": "pawl.tools.bench.latency:barrier_normal_p50_ms",
    "barrier_normal_p99_ms": "pawl.tools.bench.latency:barrier_normal_p99_ms",
    "barrier_beside_bodies_ratio": "pawl.tools.bench.latency:barrier_beside_bodies_ratio",
    "recovery_scan_s": "pawl.tools.bench.resting:recovery_scan_s",
    "suspended_live_objects": "pawl.tools.bench.resting:suspended_live_objects",
    "suspended_bytes": "pawl.tools.bench.resting:suspended_bytes",
    "random_seeds_a_minute": "pawl.tools.bench.seeds:random_seeds_a_minute",
}
"""Name of the figure to the function that measures it, `module:function`; a module is imported when it is measured.

What needs new memory most is measured before those that fill the machine's memory with files.
"""


class UnknownFigure(ValueError):
    """No figure has this name, or a name that begins so."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no figure '{name}'; there are: {', '.join(BENCHMARKS)}")


def select(names: Iterable[str] = ()) -> list[str]:
    """The figures that `names` mean, in the order of the list: whole names or their beginnings; all for none.

    Raises UnknownFigure.
    """
    wanted = list(names)
    for name in wanted:
        if not any(known.startswith(name) for known in BENCHMARKS):
            raise UnknownFigure(name)
    return [known for known in BENCHMARKS if not wanted or any(known.startswith(name) for name in wanted)]


def measure(name: str) -> Figure:
    """Measure one figure, by its whole name."""
    module, _, function = BENCHMARKS[name].partition(":")
    benchmark: Callable[[], Figure] = getattr(import_module(module), function)
    return benchmark()
