"""Constraints in `Annotated`: bounds, lengths and patterns that the model is told and its values are checked against.

They are known by their attributes, so that `annotated_types`, pydantic's `Field` and anything of the same form will do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs

from pawl.runtime.agent.mismatch import Mismatch, got, place
from pawl.runtime.agent.shapes import TEXT, IntegerShape, NumberShape, Read, Shape, WrappedShape, bare
from pawl.runtime.records.errors import InvalidArguments

Check = Callable[[Any, Any], bool]


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    try:
        times = value / step
    except OverflowError:  # an integer that no float holds
        return False
    if not math.isfinite(times):
        return False
    return math.isclose(times, round(times), rel_tol=0.0, abs_tol=1e-9)


_NUMBERS: Final[dict[str, tuple[str, str, Check]]] = {
    "gt": ("exclusiveMinimum", "above {}", lambda value, bound: bool(value > bound)),
    "ge": ("minimum", "at least {}", lambda value, bound: bool(value >= bound)),
    "lt": ("exclusiveMaximum", "below {}", lambda value, bound: bool(value < bound)),
    "le": ("maximum", "at most {}", lambda value, bound: bool(value <= bound)),
    "multiple_of": ("multipleOf", "a multiple of {}", _is_multiple),
}
_LENGTHS: Final[dict[str, tuple[str, Check]]] = {
    "min_length": ("at least {}", lambda value, bound: len(value) >= bound),
    "max_length": ("at most {}", lambda value, bound: len(value) <= bound),
}
_COUNTED: Final = {"string": ("Length", "characters"), "array": ("Items", "items"), "object": ("Properties", "names")}
NAMES: Final = (*_NUMBERS, *_LENGTHS, "pattern")


@attrs.frozen
class Constraint:
    """One rule: its JSON schema keyword with its value, in words, and the check of a canonical value."""

    keyword: str
    bound: Any
    says: str
    check: Callable[[Any], bool]


@attrs.frozen
class ConstrainedShape(WrappedShape):
    """A shape that takes not every value of its kind."""

    constraints: tuple[Constraint, ...]

    @property
    def says(self) -> str:
        """Add the rules."""
        return f"{self.shape.says}, {' and '.join(rule.says for rule in self.constraints)}"

    def schema(self) -> dict[str, Any]:
        """Add the rules."""
        return self.shape.schema() | {rule.keyword: rule.bound for rule in self.constraints}

    def read(self, value: Any, path: str) -> Read:
        """Take what the shape takes and no rule forbids."""
        read = self.shape.read(value, path)
        broken = [rule.says for rule in self.constraints if not rule.check(read[0])]
        if broken:
            raise Mismatch(f"{place(path)}: expected {self.shape.says}, {' and '.join(broken)}, got {got(value)}")
        return read


def constraints_of(marks: Iterable[Any]) -> list[tuple[str, Any]]:
    """The (name, bound) of every constraint in the marks of an `Annotated`, and in what they hold."""
    found: list[tuple[str, Any]] = []
    for mark in marks:
        parts = getattr(mark, "metadata", ())  # pydantic's Field keeps its constraints there
        for one in (mark, *parts) if isinstance(parts, list | tuple) else (mark,):
            if isinstance(one, str | type):
                continue
            for name in NAMES:
                bound = getattr(one, name, None)
                if bound is not None and not callable(bound) and (name, bound) not in found:
                    found.append((name, bound))
    return found


def constrained(shape: Shape, found: Iterable[tuple[str, Any]], where: str) -> Shape:
    """The shape with these constraints. Raises InvalidArguments for one that its values cannot have."""
    rules = tuple(
        _rule(shape, name, bound, where) for name, bound in found if not (name == "min_length" and bound == 0)
    )
    return ConstrainedShape(shape, rules) if rules else shape


def _rule(shape: Shape, name: str, bound: Any, where: str) -> Constraint:
    kind = shape.schema().get("type")
    if name in _NUMBERS and isinstance(bare(shape), IntegerShape | NumberShape):
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
            raise InvalidArguments(f"{where}: {name}={bound!r:.40} must be a number")
        if name == "multiple_of" and bound <= 0:
            raise InvalidArguments(f"{where}: multiple_of={bound!r:.40} must be above 0")
        keyword, says, check = _NUMBERS[name]
        return Constraint(keyword, bound, says.format(bound), lambda value: check(value, bound))
    if name in _LENGTHS and kind in _COUNTED:
        if type(bound) is not int or bound < 0:
            raise InvalidArguments(f"{where}: {name}={bound!r:.40} must be a whole number")
        (ending, unit), (says, check) = _COUNTED[kind], _LENGTHS[name]
        words = f"{says.format(bound)} {unit if bound != 1 else unit.removesuffix('s')}"
        return Constraint(name.removesuffix("_length") + ending, bound, words, lambda value: check(value, bound))
    if name == "pattern" and bare(shape) is TEXT:
        return _pattern(bound, where)
    raise InvalidArguments(f"{where}: the constraint {name}={bound!r:.40} does not fit {shape.says}; remove it")


def _pattern(bound: Any, where: str) -> Constraint:
    text = getattr(bound, "pattern", bound)
    try:
        compiled = re.compile(text)
    except (re.error, TypeError) as error:
        raise InvalidArguments(f"{where}: the pattern {text!r:.60} is no regular expression: {error}") from None
    return Constraint("pattern", text, f"matching {text}", lambda value: compiled.search(value) is not None)
