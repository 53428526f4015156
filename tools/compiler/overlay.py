"""Where a session is and how it got there, in the names of a machine: what a diagram draws on top."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import attrs

from pawl.runtime.fsm.table import Row
from pawl.tools.compiler.model import MachineModel, RowModel
from pawl.tools.compiler.outline import outer

Hop = tuple[str, str] | Row[Any, Any] | RowModel


class UnknownPlace(ValueError):
    """The overlay names a state or a move that the machine does not have."""


@attrs.frozen
class Overlay:
    """The current state and the moves made, as (source, target) names; empty by default."""

    state: str | None = None
    path: tuple[tuple[str, str], ...] = ()

    @property
    def visited(self) -> frozenset[str]:
        """Every state on the path, and the current one."""
        return frozenset(name for hop in self.path for name in hop) | ({self.state} if self.state else frozenset())


def overlay(
    model: MachineModel, state: str | None = None, path: Iterable[Hop] = (), expand: bool = False
) -> Overlay:  # fmt: skip
    """Check `state` and `path` against `model` and fold them as the diagram is folded.

    `path` holds (source, target) pairs or rows, as `advance` returns them; rows that stay are no move. Raises
    UnknownPlace.
    """
    hops = [(str(hop[0]), str(hop[1])) for hop in map(_pair, path) if hop[1] is not None]
    known = {each.name for each in model.states}
    for name in ([str(state)] if state is not None else []) + [name for hop in hops for name in hop]:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has: {', '.join(s.name for s in model.states)}"
            raise UnknownPlace(f"{model.name} has no state '{name}'; {hint}")
    moves = {(row.source, row.target) for row in model.rows} | {(each, model.error) for each in known}
    seen = (lambda name: name) if expand else (lambda name: outer(model, name))
    folded = {(seen(source), seen(target)) for source, target in moves if target is not None}
    taken = []
    for source, target in hops:
        hop = seen(source), seen(target)
        if hop[0] == hop[1] and source != hop[0]:
            continue  # inside a barrier that is one node
        if hop not in folded:
            raise UnknownPlace(f"{model.name} has no row from '{source}' to '{target}'; correct the path")
        taken.append(hop)
    return Overlay(seen(str(state)) if state is not None else None, tuple(taken))


def _pair(hop: Hop) -> tuple[str, str | None]:
    return (hop[0], hop[1]) if isinstance(hop, tuple) else (str(hop.source), hop.target)
