"""What a check is, and what it gets to see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import attrs

from pawl.tools.compiler.findings import Severity
from pawl.tools.compiler.graph import Graph
from pawl.tools.compiler.model import MachineModel, Position
from pawl.tools.compiler.scope import Scope
from pawl.tools.compiler.spec import Spec

Found = Iterator[tuple[Position, str]]
"""What a check finds: a place, and a sentence that says what is wrong and what to do."""


@attrs.frozen(eq=False, slots=False)
class Subject:
    """One machine under check. `run` holds every spec that is compiled together, this one included."""

    scope: Scope
    model: MachineModel
    run: tuple[Spec, ...]

    @property
    def spec(self) -> Spec:
        """The spec as written."""
        return self.scope.spec

    @cached_property
    def graph(self) -> Graph:
        """The expanded machine as a graph."""
        return Graph(self.model)


@attrs.frozen
class Check:
    """One numbered rule.

    `severity` is where it starts; a spec can move a warning, never an error. `whole`: the rule says something about
    the machine as a whole, and is left out while parts of the spec could not be understood.
    """

    rule: str
    title: str
    severity: Severity
    find: Callable[[Subject], Found]
    whole: bool = False
