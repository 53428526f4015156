"""A machine model as a graph: what can follow what, with guards taken as free to say anything."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind
from pawl.tools.compiler.model import MachineModel, RowModel, StateModel

Edges = Mapping[str, Sequence[str]]


@attrs.frozen(eq=False, slots=False)
class Graph:
    """The graph of `model`. States that rows only mention, and nobody declares, are left out."""

    model: MachineModel

    @cached_property
    def states(self) -> dict[str, StateModel]:
        """State name to state."""
        return {state.name: state for state in self.model.states}

    @cached_property
    def cells(self) -> dict[tuple[str, str | None], list[RowModel]]:
        """(state, event) to its rows in order; event None holds the automatic rows."""
        cells: dict[tuple[str, str | None], list[RowModel]] = {}
        for row in self.model.rows:
            cells.setdefault((row.source, row.event), []).append(row)
        return cells

    @cached_property
    def events_of(self) -> dict[str, set[str]]:
        """State to the events that have rows there."""
        found: dict[str, set[str]] = {name: set() for name in self.states}
        for state, event in self.cells:
            if event is not None and state in found:
                found[state].add(event)
        return found

    @cached_property
    def written(self) -> Edges:
        """State to the states that its rows lead to."""
        return self._edges(lambda _: True)

    @cached_property
    def automatic(self) -> Edges:
        """State to the states that its automatic rows lead to."""
        return self._edges(lambda row: row.event is None)

    @cached_property
    def possible(self) -> Edges:
        """`written`, and from wherever a guard or an action may raise to the machine's `error` state."""
        edges = {name: list(targets) for name, targets in self.written.items()}
        error = self.model.error
        if error in self.states:
            for name, state in self.states.items():
                ended = state.kind in (Kind.FINAL, Kind.HALT)
                if not ended and (name, INTERNAL_ERROR) not in self.cells and error not in edges[name]:
                    edges[name].append(error)
        return edges

    def _edges(self, wanted: Callable[[RowModel], bool]) -> Edges:
        edges: dict[str, dict[str, None]] = {name: {} for name in self.states}
        for row in self.model.rows:
            if row.target in self.states and row.source in self.states and wanted(row):
                edges[row.source][row.target] = None
        return {name: list(targets) for name, targets in edges.items()}

    def waits(self, name: str) -> bool:
        """Whether an outside event can ever find the machine in this state."""
        state = self.states[name]
        if state.kind is not Kind.AUTO:
            return state.kind is not Kind.FINAL
        return not any(not row.when and not row.unless for row in self.cells.get((name, None), ()))


def reachable(edges: Edges, starts: Iterable[str], avoiding: Collection[str] = ()) -> set[str]:
    """Every state on a path from `starts`, themselves included, that passes none of `avoiding`."""
    return set(_tree(edges, starts, avoiding))


def path(edges: Edges, starts: Iterable[str], goal: str, avoiding: Collection[str] = ()) -> tuple[str, ...] | None:
    """A shortest path from one of `starts` to `goal` that passes none of `avoiding`, or None.

    None says that `avoiding` dominates `goal`: every way there leads through one of them.
    """
    came = _tree(edges, starts, avoiding, goal)
    if goal not in came:
        return None
    steps = [goal]
    while (before := came[steps[-1]]) is not None:
        steps.append(before)
    return tuple(reversed(steps))


def _tree(
    edges: Edges, starts: Iterable[str], avoiding: Collection[str], goal: str | None = None
) -> dict[str, str | None]:
    """State to the state before it, breadth first."""
    came: dict[str, str | None] = {start: None for start in starts if start in edges and start not in avoiding}
    queue = deque(came)
    while queue and goal not in came:
        state = queue.popleft()
        for target in edges[state]:
            if target not in came and target not in avoiding:
                came[target] = state
                queue.append(target)
    return came


def backwards(edges: Edges) -> Edges:
    """The same graph with every edge turned round."""
    turned: dict[str, list[str]] = {name: [] for name in edges}
    for name, targets in edges.items():
        for target in targets:
            turned[target].append(name)
    return turned


def cycles(edges: Edges, within: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """One shortest cycle for each knot of states in `within` that lead to each other, in the order of `edges`."""
    inside = {name: [t for t in targets if t in within] for name, targets in edges.items() if name in within}
    order = {name: place for place, name in enumerate(edges)}
    found = []
    for knot in _knots(inside):
        first = min(knot, key=order.__getitem__)
        local = {name: [t for t in inside[name] if t in knot] for name in knot}
        back = path(local, local[first], first)
        if back is not None:
            found.append((first, *back))
    return tuple(sorted(found, key=lambda cycle: order[cycle[0]]))


def looping(edges: Edges, within: Collection[str]) -> set[str]:
    """The states that can come back to themselves without leaving `within`."""
    inside = {name: [t for t in targets if t in within] for name, targets in edges.items() if name in within}
    return {name for knot in _knots(inside) for name in knot if len(knot) > 1 or name in inside[name]}


def _knots(edges: Edges) -> Iterable[set[str]]:
    """Strongly connected components, without recursion (Tarjan), those that hold no cycle included."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in edges:
        work = [(root, iter(edges[root]))] if root not in index else []
        if work:
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
        while work:
            name, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(edges[target])))
                    break
                if target in on_stack:
                    low[name] = min(low[name], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    knot: set[str] = set()
                    while name not in knot:
                        knot.add(stack.pop())
                    on_stack -= knot
                    yield knot
