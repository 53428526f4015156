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
from pawl.runtime.agent.patterns import FEWEST, MOST, Cost, longest
from pawl.runtime.agent.reading import spend
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
    """One rule: its JSON schema keyword with its value, in words, and the check of a canonical value.

    `cost` is what checking may take, where that is to be counted. One that is not `told` stands in no schema: some
    providers enforce only schemas that have no such keyword.
    """

    keyword: str
    bound: Any
    says: str
    check: Callable[[Any], bool]
    cost: Cost | None = None
    told: bool = True


@attrs.frozen
class ConstrainedShape(WrappedShape):
    """A shape that takes not every value of its kind."""

    constraints: tuple[Constraint, ...]

    @property
    def has_pattern(self) -> bool:
        """Whether one of the rules is a pattern."""
        return any(rule.cost for rule in self.constraints)

    @property
    def says(self) -> str:
        """Add the rules."""
        return f"{self.shape.says}, {' and '.join(rule.says for rule in self.constraints)}"

    def schema(self) -> dict[str, Any]:
        """Add the rules."""
        return self.shape.schema() | {rule.keyword: rule.bound for rule in self.constraints if rule.told}

    def read(self, value: Any, path: str) -> Read:
        """Take what the shape takes and no rule forbids."""
        read = self.shape.read(value, path)
        broken = [rule.says for rule in self.constraints if not rule.cost and not rule.check(read[0])]
        for rule in self.constraints:  # a text is not matched if it is too long
            if rule.cost and not broken:
                spend(rule.cost.of(len(read[0])), path)
                broken += [] if rule.check(read[0]) else [rule.says]
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
    rules = [_rule(shape, name, bound, where) for name, bound in found if not (name == "min_length" and bound == 0)]
    for rule in [rule for rule in rules if rule.cost]:
        rules += _short_enough(rule, rules, where)
    return ConstrainedShape(shape, tuple(rules)) if rules else shape


def _short_enough(pattern: Constraint, rules: Iterable[Constraint], where: str) -> tuple[Constraint, ...]:
    """A limit of length for text with a pattern, where it needs one and has none. Raises InvalidArguments."""
    most = longest(re.compile(pattern.bound))
    limit = _rule(TEXT, "max_length", most, where)
    given = min((rule.bound for rule in rules if rule.keyword == "maxLength"), default=None)
    if most >= (FEWEST if given is None else min(given, MOST)):
        return () if given is not None or most >= MOST else (attrs.evolve(limit, told=False),)
    if most < FEWEST:
        raise InvalidArguments(
            f"{where}: the pattern {pattern.bound!r:.60} may try an endless number of ways: two parts of it, one of "
            "them inside of a repeat, take the same characters. Let them differ, put the inner one into an atomic "
            "group (?>…), or check the text in your code"
        )
    raise InvalidArguments(
        f"{where}: the pattern {pattern.bound!r:.60} is too slow for texts of {given} characters; begin it with ^, let "
        f"neighbouring parts differ, or give max_length={most} at most"
    )


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
        if not isinstance(text, str):
            raise TypeError("it must be text")
        compiled = re.compile(text)
    except (re.error, TypeError) as error:
        raise InvalidArguments(f"{where}: the pattern {text!r:.60} is no regular expression: {error}") from None
    return Constraint("pattern", text, f"matching {text}", lambda value: bool(compiled.search(value)), Cost(compiled))
