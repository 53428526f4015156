"""From type hints to shapes: which types a tool's parameters may have."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import attrs

from pawl.runtime.agent.containers import OPEN, REQUIRED, DictShape, Field, ListShape, RecordShape, TupleShape
from pawl.runtime.agent.docstring import describe
from pawl.runtime.agent.hints import resolve_fields
from pawl.runtime.agent.redaction import is_secret
from pawl.runtime.agent.results import to_json
from pawl.runtime.agent.shapes import (
    BOOLEAN,
    NULL,
    TEXT,
    WRITTEN,
    AnyShape,
    ChoiceShape,
    DescribedShape,
    IntegerShape,
    Mismatch,
    NumberShape,
    SecretShape,
    Shape,
    UnionShape,
)
from pawl.runtime.records.errors import InvalidArguments, ToolError

_SUPPORTED: Final = (
    "use str, int, float, bool, None, Literal, Enum, list, tuple, set, dict[str, …], TypedDict, NamedTuple, "
    "a dataclass or attrs class, datetime, date, time, Decimal, UUID, Path, a union of these, or Any"
)
_SCALARS: Final[dict[Any, Shape]] = {
    Any: AnyShape(),
    object: AnyShape(),
    str: TEXT,
    int: IntegerShape(),
    float: NumberShape(),
    bool: BOOLEAN,
    None: NULL,
    type(None): NULL,
    **WRITTEN,
}
_LISTS: Final[dict[Any, Callable[[Iterable[Any]], Any]]] = {
    list: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Collection: list,
    collections.abc.Iterable: list,
    set: set,
    collections.abc.Set: frozenset,
    collections.abc.MutableSet: set,
    frozenset: frozenset,
}
_DICTS: Final = frozenset({dict, collections.abc.Mapping, collections.abc.MutableMapping})
_CONSTRAINTS: Final = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")


@attrs.frozen
class Scope:
    """Where a hint stands: `where` for errors, `names` for annotations written as text, the classes around it."""

    where: str
    names: Mapping[str, Any] = attrs.Factory(dict)
    within: tuple[Any, ...] = ()

    def at(self, part: str) -> Scope:
        """The scope of a part."""
        return attrs.evolve(self, where=f"{self.where}{part}")


def shape_of(hint: Any, scope: Scope) -> Shape:
    """The shape that `hint` asks for. Raises InvalidArguments when JSON cannot give such a value."""
    hint = _plain(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(arguments[0], hint.__metadata__, scope)
    if not isinstance(hint, collections.abc.Hashable):
        raise _unsupported(hint, scope)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if origin is Union or origin is types.UnionType:
        return UnionShape(tuple(shape_of(member, scope) for member in arguments))
    if origin is Literal:
        return _choice(((_literal(value, scope), value) for value in arguments), hint, scope)
    generic = hint if origin is None else origin
    if generic is tuple:
        return _tuple(hint, arguments, scope)
    if generic in _LISTS:
        return _list(generic, arguments, scope)
    if generic in _DICTS:
        return _dict(arguments, scope)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choice(((member.value, member) for member in hint), hint, scope)
    if isinstance(hint, type) and _is_record(hint):
        return _record(hint, scope)
    raise _unsupported(hint, scope)


def default_of(value: Any, shape: Shape) -> Any:
    """A default as canonical JSON, or OPEN when JSON cannot show it or the shape does not take it."""
    try:
        return shape.read(to_json(value), "default")[0]
    except (Mismatch, ToolError):
        return OPEN


def _plain(hint: Any) -> Any:
    """`hint` without the names that only type checkers look at: NewType, `type X = …`, Required, ReadOnly."""
    while True:
        if isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType" and get_origin(hint) is None:
            hint = hint.__value__
        elif getattr(get_origin(hint), "_name", None) in ("Required", "NotRequired", "ReadOnly"):
            hint = get_args(hint)[0]
        else:
            return hint


def _annotated(inner: Any, metadata: tuple[Any, ...], scope: Scope) -> Shape:
    shape = shape_of(inner, scope)
    if any(map(is_secret, metadata)):
        shape = SecretShape(shape)
    texts = [text for text in map(_description, metadata) if text]
    for mark in metadata:
        parts = getattr(mark, "metadata", ())  # pydantic's Field keeps its constraints there
        marks = (mark, *parts) if isinstance(parts, list | tuple) else (mark,)
        if any(getattr(one, name, None) is not None for one in marks for name in _CONSTRAINTS):
            raise InvalidArguments(
                f"{scope.where}: {mark!r} looks like a constraint, and constraints are not enforced here; "
                "check the value in the tool, or in a dataclass's __post_init__, and say it in the description"
            )
    return DescribedShape(shape, "\n".join(texts)) if texts else shape


def _description(mark: Any) -> str | None:
    """The words in `Annotated[int, "words"]`, `Doc("words")` and `Field(description="words")`."""
    for text in (mark, getattr(mark, "documentation", None), getattr(mark, "description", None)):
        if isinstance(text, str):
            return text
    return None


def _literal(value: Any, scope: Scope) -> Any:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, bytes):
        raise InvalidArguments(f"{scope.where}: the literal {value!r} cannot come from JSON; use text")
    return value


def _choice(options: Iterable[tuple[Any, Any]], hint: Any, scope: Scope) -> Shape:
    pairs = tuple(options)
    if not pairs:
        raise InvalidArguments(f"{scope.where}: {_name(hint)} has no members to choose from")
    for value, member in pairs:
        if type(value) not in (str, int, float, bool, type(None)):
            raise InvalidArguments(
                f"{scope.where}: the value {value!r} of {member!r} cannot come from JSON; "
                "give the enum's members text or numbers as values"
            )
    return ChoiceShape(pairs)


def _list(generic: Any, arguments: tuple[Any, ...], scope: Scope) -> Shape:
    item = arguments[0] if arguments else Any
    shape = shape_of(item, scope.at("[]"))
    make = _LISTS[generic]
    unique = make is not list
    if unique and not _fits_a_set(item):
        raise InvalidArguments(f"{scope.where}: a set cannot hold {_name(item)}, which has no hash; use a list")
    return ListShape(shape, make, unique)


def _fits_a_set(item: Any) -> bool:
    """Whether values of this type have a hash; what is not known is refused."""
    item = _plain(item)
    origin, arguments = get_origin(item), get_args(item)
    if origin is Annotated:
        return _fits_a_set(arguments[0])
    if origin in (Union, types.UnionType, tuple, frozenset, collections.abc.Set):
        return all(_fits_a_set(part) for part in arguments if part is not ...)
    if origin is Literal or item is None:
        return True
    return item not in (Any, object) and isinstance(item, type) and item.__hash__ is not None and origin is None


def _tuple(hint: Any, arguments: tuple[Any, ...], scope: Scope) -> Shape:
    if hint is tuple or hint is typing.Tuple:  # noqa: UP006 - the bare old name
        return ListShape(AnyShape(), tuple)
    if len(arguments) == 2 and arguments[1] is ...:
        return ListShape(shape_of(arguments[0], scope.at("[]")), tuple)
    return TupleShape(tuple(shape_of(item, scope.at(f"[{at}]")) for at, item in enumerate(arguments)))


def _dict(arguments: tuple[Any, ...], scope: Scope) -> Shape:
    key, value = arguments or (str, Any)
    if _plain(key) is not str:
        raise InvalidArguments(f"{scope.where}: JSON objects have text as keys; use dict[str, …], not {_name(key)}")
    return DictShape(shape_of(value, scope.at("{}")))


def _is_record(hint: type) -> bool:
    return (
        _is_typed_dict(hint)
        or dataclasses.is_dataclass(hint)
        or attrs.has(hint)
        or (issubclass(hint, tuple) and hasattr(hint, "_fields"))
    )


def _is_typed_dict(hint: type) -> bool:
    # Not typing.is_typeddict: typing_extensions has a class of its own.
    return issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def _record(cls: Any, scope: Scope) -> Shape:
    if cls in scope.within:
        raise InvalidArguments(f"{scope.where}: {_name(cls)} contains itself; recursive types are not supported")
    inner = attrs.evolve(scope, within=(*scope.within, cls))
    doc = cls.__doc__ or ""
    # Dataclasses and namedtuples without a docstring get their signature as one.
    summary, about = describe("" if doc.startswith(f"{cls.__name__}(") else doc)
    members = list(_members(cls))
    _check_constructor(cls, {argument for _, argument, _ in members}, scope)
    hints = resolve_fields(cls, [name for name, _, _ in members], scope.names, _name(cls))
    fields = []
    for name, argument, default in members:
        hint = hints.get(name, Any)  # a namedtuple may have no annotations
        shape = shape_of(hint, inner.at(f".{argument}"))
        given = _presence(hint, default) if _is_typed_dict(cls) else default
        shown = given if given is REQUIRED or given is OPEN else default_of(given, shape)
        fields.append(Field(argument, shape, shown, about.get(name, "")))
    return RecordShape(tuple(fields), dict if _is_typed_dict(cls) else cls, summary)


def _members(cls: Any) -> Iterable[tuple[str, str, Any]]:
    """Attribute name, argument name and default of everything that the constructor takes."""
    if _is_typed_dict(cls):
        for name in cls.__annotations__:
            yield name, name, REQUIRED if name in cls.__required_keys__ else OPEN
    elif attrs.has(cls):
        for field in attrs.fields(cls):
            if field.init:
                factory = isinstance(field.default, attrs.Factory)  # type: ignore[arg-type]  # typed as a function
                missing = REQUIRED if field.default is attrs.NOTHING else OPEN if factory else field.default
                yield field.name, field.alias or field.name, missing
    elif dataclasses.is_dataclass(cls):
        for entry in dataclasses.fields(cls):
            if entry.init:
                made = entry.default_factory is not dataclasses.MISSING
                default = REQUIRED if entry.default is dataclasses.MISSING else entry.default
                yield entry.name, entry.name, OPEN if made else default
    else:
        for name in cls._fields:
            yield name, name, cls._field_defaults.get(name, REQUIRED)


def _presence(hint: Any, default: Any) -> Any:
    """Whether a TypedDict key must be there: the class does not know it when its annotations are text."""
    spelled = getattr(get_origin(hint), "_name", None)
    return {"Required": REQUIRED, "NotRequired": OPEN}.get(spelled or "", default)


def _check_constructor(cls: Any, known: set[str], scope: Scope) -> None:
    """An InitVar or an `__init__` of one's own takes what is no field: then nobody knows its type."""
    if _is_typed_dict(cls):
        return
    takes = set(inspect.signature(cls).parameters)
    if takes != known:
        raise InvalidArguments(
            f"{scope.where}: the constructor of {_name(cls)} takes ({', '.join(sorted(takes))}) and its fields are "
            f"({', '.join(sorted(known))}); only generated constructors are supported"
        )


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)


def _unsupported(hint: Any, scope: Scope) -> InvalidArguments:
    advice = "bytes cannot be JSON; take text, base64 for instance" if hint in (bytes, bytearray) else _SUPPORTED
    return InvalidArguments(f"{scope.where}: the type {_name(hint)} cannot come from JSON; {advice}")
