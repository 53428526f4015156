"""Deep-frozen JSON: what user code may read and never change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar, cast

T = TypeVar("T")


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError(f"this {type(self).__mro__[1].__name__} is frozen; change a copy: copy.deepcopy(value)")


class FrozenDict(dict[str, Any]):
    """A dict that refuses changes. Equal to, and serialised like, a plain one; copies are plain again."""

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def copy(self) -> dict[str, Any]:
        """Copy one level into a plain dict."""
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: thaw(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, ({key: thaw(value) for key, value in self.items()},)


class FrozenList(list[Any]):
    """A list that refuses changes. Equal to, and serialised like, a plain one; copies are plain again."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse

    def copy(self) -> list[Any]:
        """Copy one level into a plain list."""
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [thaw(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, ([thaw(value) for value in self],)


def freeze(value: T) -> T:
    """A deep-frozen copy of a JSON value; scalars are returned as they are, and so is what is frozen already."""
    if isinstance(value, FrozenDict | FrozenList):
        return value
    if isinstance(value, dict):
        return cast(T, FrozenDict({key: freeze(item) for key, item in value.items()}))
    if isinstance(value, list | tuple):
        return cast(T, FrozenList([freeze(item) for item in value]))
    return value


def thaw(value: T) -> T:
    """A deep copy of a JSON value in plain dicts and lists."""
    if isinstance(value, dict):
        return cast(T, {key: thaw(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return cast(T, [thaw(item) for item in value])
    return value


def freeze_mapping(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same for an object of any mapping class; typed for use as a converter."""
    return freeze(value if isinstance(value, dict) else dict(value))
