"""`replace`: a changed copy of a frozen value, cheap enough for every step of the heart.

`attrs.evolve` runs the initialiser, so its cost grows with the number of fields; a live context has dozens and
is replaced several times an event. This copies the instance dict instead. Values that use it are declared
`@attrs.frozen(slots=False)` and have no converters.
"""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")

_new: Any = object.__new__
_set: Any = object.__setattr__  # a frozen class refuses its own


def replace(value: T, **changes: Any) -> T:
    """A copy of `value` with `changes`; unknown names are an AssertionError."""
    fields = value.__dict__
    changed = fields | changes
    assert len(changed) == len(fields), f"{type(value).__name__} has no {changes.keys() - fields.keys()}"
    copy: T = _new(value.__class__)
    _set(copy, "__dict__", changed)  # a third of the time that filling the dict of `copy` takes
    return copy
