"""From type hints to shapes: which types a tool's parameters may have."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import attrs

from pawl.runtime.agent.constraints import constrained, constraints_of
from pawl.runtime.agent.containers import OPEN, REQUIRED, DictShape, Field, ListShape, RecordShape, TupleShape
from pawl.runtime.agent.docstring import describe
from pawl.runtime.agent.hints import resolve_alias, resolve_fields
from pawl.runtime.agent.mismatch import Mismatch
from pawl.runtime.agent.redaction import is_secret, references_in
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
    NumberShape,
    Reference,
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


@attrs.frozen
class Scope:
    """Where a hint stands: `where` for errors, `names` for annotations written as text, the types around it.

    `references` are the types that contain themselves, shared by everything that becomes one schema.
    """

    where: str
    names: Mapping[str, Any] = attrs.Factory(dict)
    within: tuple[Any, ...] = ()
    references: dict[Any, Reference] = attrs.field(factory=dict, eq=False)

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
    if _is_alias(hint) or _is_alias(origin):
        return _closed(hint, scope, lambda inner: shape_of(_meant(hint, inner), inner))
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
    if isinstance(generic, type) and _is_record(generic):
        return _closed(hint, scope, lambda inner: _record(hint, generic, inner))
    raise _unsupported(hint, scope)


def schema_of(shape: Shape) -> dict[str, Any]:
    """The whole JSON schema of a shape: with the definitions of the types in it that contain themselves."""
    schema, found = shape.schema(), references_in(shape)
    if not found:
        return schema
    return schema | {"$defs": {reference.name: reference.target.schema() for reference in found}}


def default_of(value: Any, shape: Shape) -> Any:
    """A default as canonical JSON, or OPEN when JSON cannot show it or the shape does not take it."""
    try:
        return shape.read(to_json(value), "default")[0]
    except (Mismatch, ToolError):
        return OPEN


def _plain(hint: Any) -> Any:
    """`hint` without the names that only type checkers look at: NewType, Required, ReadOnly."""
    while True:
        if isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif getattr(get_origin(hint), "_name", None) in ("Required", "NotRequired", "ReadOnly"):
            hint = get_args(hint)[0]
        else:
            return hint


def _annotated(inner: Any, metadata: tuple[Any, ...], scope: Scope) -> Shape:
    shape = constrained(shape_of(inner, scope), constraints_of(metadata), scope.where)
    if any(map(is_secret, metadata)):
        shape = SecretShape(shape)
    texts = [text for text in map(_description, metadata) if text]
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


def _is_alias(hint: Any) -> bool:
    return type(hint).__name__ == "TypeAliasType" and get_origin(hint) is None


def _meant(hint: Any, scope: Scope) -> Any:
    """What an alias stands for, with what it was given for its type parameters."""
    alias = hint if _is_alias(hint) else get_origin(hint)
    given = dict(zip(alias.__type_params__, get_args(hint), strict=False))
    return _bound(resolve_alias(alias, scope.names, scope.where), given)


def _closed(hint: Any, scope: Scope, make: Callable[[Scope], Shape]) -> Shape:
    """What `make` makes of a type that has a name; where it contains itself, a reference to that."""
    known = scope.references.get(hint)
    if known is not None:
        return known
    if hint in scope.within:
        taken = {reference.name for reference in scope.references.values()}
        name = re.sub(r"\W+", "_", _name(hint))
        known = Reference(next(one for one in (name, *(f"{name}_{n}" for n in range(2, 99))) if one not in taken))
        scope.references[hint] = known
        return known
    shape = make(attrs.evolve(scope, within=(*scope.within, hint)))
    met = scope.references.get(hint)
    if met is None:
        return shape
    met.target = shape
    return met


def _bound(hint: Any, given: Mapping[Any, Any]) -> Any:
    """`hint` with the type variables of its generic class replaced by what that was given."""
    if isinstance(hint, typing.TypeVar) or type(hint).__name__ == "TypeVar":
        return given.get(hint, hint)
    variables = () if isinstance(hint, type) else getattr(hint, "__parameters__", ())
    return hint[tuple(given.get(one, one) for one in variables)] if variables and given else hint


def _record(generic: Any, cls: Any, inner: Scope) -> Shape:
    scope, variables = inner, dict(zip(getattr(cls, "__parameters__", ()), get_args(generic), strict=False))
    doc = cls.__doc__ or ""
    # Dataclasses and namedtuples without a docstring get their signature as one.
    summary, about = describe("" if doc.startswith(f"{cls.__name__}(") else doc)
    members = list(_members(cls))
    _check_constructor(cls, {argument for _, argument, _ in members}, scope)
    hints = resolve_fields(cls, [name for name, _, _ in members], scope.names, _name(cls))
    fields = []
    for name, argument, default in members:
        hint = _bound(hints.get(name, Any), variables)  # a namedtuple may have no annotations
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
