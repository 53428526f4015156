"""Results of tools as text for a model."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import math
import pathlib
import uuid
from collections.abc import Mapping, Sequence, Set, ValuesView
from typing import Any, Final, NoReturn

import attrs

from pawl.runtime.agent.spoken import said
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import ToolError

MAX_RESULT_BYTES: Final = 1 << 20
"""Default limit of a result, in UTF-8 bytes."""

_DEEPEST: Final = 64


def result_text(tool: str, value: object, limit: int = MAX_RESULT_BYTES) -> str:
    """What the model reads: text as it is, None as the empty text, anything else as canonical JSON.

    Raises ToolError when `value` cannot be written or is longer than `limit` bytes; its text is the call's error. A
    value that is much too long is left where that is known: it is neither read nor written to its end.
    """
    if value is None:
        return ""
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it
    try:
        text = value if type(value) is str else _written(_Writer(limit).convert(value, "", 0))
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ToolError(f"{tool} returned text that is not Unicode (a lone surrogate)") from None
    except ToolError as error:
        raise ToolError(f"{tool} returned {error}") from None
    except Exception as error:  # the value's own code: a mapping, a model_dump
        why = f"{type(error).__name__}: {said(error)}"
        raise ToolError(f"{tool} returned a {type(value).__name__} that cannot be written: {why}") from error
    if size > limit:
        raise ToolError(f"{tool} returned {size} bytes, more than the {limit} that a result may have; return less")
    return text


def _written(value: Any) -> str:
    # A str subclass or a text-valued enum is text, not JSON.
    return value if isinstance(value, str) else canonical(value)


def to_json(value: object, path: str = "") -> Any:
    """`value` as JSON data: records become objects, sets sorted lists, dates, decimals and ids text.

    Raises ToolError whose text continues "returned …".
    """
    return _Writer(None).convert(value, path, 0)


class _Writer:
    """Makes JSON data. `limit` is in bytes: what is spent of it is never more than will be written."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._left = math.inf if limit is None else limit

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ToolError(f"more than the {self._limit} bytes that a result may have; return less")

    def convert(self, value: Any, path: str, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ToolError("a value that is nested too deep, or contains itself")
        self._spend(1)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, enum.Enum):
            return self.convert(value.value, path, depth + 1)
        if isinstance(value, str):
            text = str.__str__(value)
            self._spend(len(text) - 1)
            return text
        if isinstance(value, int):
            return _integer(value, path)
        if isinstance(value, float):
            return _number(value, path)
        if isinstance(value, datetime.datetime | datetime.date | datetime.time):
            return value.isoformat()
        if isinstance(value, decimal.Decimal):
            return str(value) if value.is_finite() else _not_finite(value, path)
        if isinstance(value, uuid.UUID | pathlib.PurePath):
            return str(value)
        return self._container(value, path, depth)

    def _container(self, value: Any, path: str, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self._mapping(value, path, depth)
        if isinstance(value, Set):
            return sorted((self.convert(item, f"{path}[…]", depth + 1) for item in value), key=canonical)
        if isinstance(value, type):
            raise _foreign(value, path)
        if dataclasses.is_dataclass(value):
            return self._fields(value, [field.name for field in dataclasses.fields(value)], path, depth)
        if attrs.has(type(value)):
            return self._fields(value, [field.name for field in attrs.fields(type(value))], path, depth)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._fields(value, list(value._fields), path, depth)
        if isinstance(value, Sequence | ValuesView) and not isinstance(value, bytes | bytearray | memoryview):
            return [self.convert(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
        if callable(getattr(value, "model_dump", None)):  # pydantic
            return self.convert(value.model_dump(mode="json"), path, depth + 1)
        if callable(getattr(value, "tolist", None)) and not isinstance(value, memoryview):  # numpy, array
            return self.convert(value.tolist(), path, depth + 1)
        raise _foreign(value, path)

    def _mapping(self, value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, item in value.items():
            name = _key(key, path)
            if name in made:
                raise ToolError(f"a dict with two keys that are {name!r:.60} as text{_at(path)}; JSON has text as keys")
            self._spend(len(name))
            made[name] = self.convert(item, f"{path}.{name:.60}", depth + 1)
        return made

    def _fields(self, value: Any, names: list[str], path: str, depth: int) -> dict[str, Any]:
        return {name: self.convert(getattr(value, name), f"{path}.{name}", depth + 1) for name in names}


def _integer(value: int, path: str) -> int:
    if abs(value).bit_length() > 4096:
        raise ToolError(f"a number of more than a thousand digits{_at(path)}")
    return int(value)


def _number(value: float, path: str) -> float:
    return float(value) if math.isfinite(value) else _not_finite(value, path)


def _not_finite(value: object, path: str) -> NoReturn:
    raise ToolError(f"{value}{_at(path)}, which JSON cannot write; return None or text for it")


def _key(key: Any, path: str) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    if type(key) is int:
        return str(_integer(key, path))
    raise ToolError(f"a dict with the key {key!r:.60}{_at(path)}; JSON has text as keys")


_BYTES: Final = "decode it, or return base64 text"
_ADVICE: Final = {
    "bytes": _BYTES,
    "bytearray": _BYTES,
    "memoryview": _BYTES,
    "DataFrame": "return its rows: frame.to_dict('records')",
}


def _foreign(value: Any, path: str) -> ToolError:
    kind = type(value).__name__
    advice = _ADVICE.get(kind, "return text, JSON data, a dataclass or an attrs instance")
    if hasattr(type(value), "__await__"):
        advice = "await it, or make the tool `async def`"
    elif hasattr(type(value), "__next__") or hasattr(type(value), "__anext__"):
        advice = "return a list"  # a generator, a map, a file: what it gives is not known before it has given it
    shown = f"the class {value.__name__}" if isinstance(value, type) else f"a {kind}"
    return ToolError(f"{shown}{_at(path)}, which JSON cannot write; {advice}")


def _at(path: str) -> str:
    return f" at {path.removeprefix('.')}" if path else ""
