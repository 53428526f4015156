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
from collections.abc import Mapping, Set
from typing import Any, Final

import attrs

from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import ToolError

MAX_RESULT_BYTES: Final = 1 << 20
"""Default limit of a result, in UTF-8 bytes."""

_DEEPEST: Final = 64


def result_text(tool: str, value: object, limit: int = MAX_RESULT_BYTES) -> str:
    """What the model reads: text as it is, None as the empty text, anything else as canonical JSON.

    Raises ToolError when `value` cannot be written or is longer than `limit` bytes; its text is the call's error.
    """
    if value is None:
        return ""
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it
    try:
        text = value if type(value) is str else _written(to_json(value))
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ToolError(f"{tool} returned text that is not Unicode (a lone surrogate)") from None
    except ToolError as error:
        raise ToolError(f"{tool} returned {error}") from None
    except Exception as error:  # the value's own code: a mapping, a model_dump
        kind = type(value).__name__
        raise ToolError(f"{tool} returned a {kind} that cannot be written: {type(error).__name__}: {error}") from error
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
    return _convert(value, path, 0)


def _convert(value: Any, path: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ToolError("a value that is nested too deep, or contains itself")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _convert(value.value, path, depth + 1)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _integer(value, path)
    if isinstance(value, float):
        return _number(value, path)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID | pathlib.PurePath):
        return str(value)
    return _container(value, path, depth)


def _integer(value: int, path: str) -> int:
    if abs(value).bit_length() > 4096:
        raise ToolError(f"a number of more than a thousand digits{_at(path)}")
    return int(value)


def _number(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise ToolError(f"{value}{_at(path)}, which JSON cannot write; return None or text for it")
    return float(value)


def _container(value: Any, path: str, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {_key(key, path): _convert(item, f"{path}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((_convert(item, f"{path}[…]", depth + 1) for item in value), key=canonical)
    if isinstance(value, type):
        raise _foreign(value, path)
    if dataclasses.is_dataclass(value):
        return _fields(value, [field.name for field in dataclasses.fields(value)], path, depth)
    if attrs.has(type(value)):
        return _fields(value, [field.name for field in attrs.fields(type(value))], path, depth)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _fields(value, list(value._fields), path, depth)
    if isinstance(value, list | tuple):
        return [_convert(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    if callable(getattr(value, "model_dump", None)):  # pydantic
        return _convert(value.model_dump(mode="json"), path, depth + 1)
    raise _foreign(value, path)


def _fields(value: Any, names: list[str], path: str, depth: int) -> dict[str, Any]:
    return {name: _convert(getattr(value, name), f"{path}.{name}", depth + 1) for name in names}


def _key(key: Any, path: str) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    if type(key) is int:
        return str(key)
    raise ToolError(f"a dict with the key {key!r:.60}{_at(path)}; JSON has text as keys")


def _foreign(value: Any, path: str) -> ToolError:
    kind = type(value).__name__
    advice = {
        "bytes": "decode it, or return base64 text",
        "bytearray": "decode it, or return base64 text",
        "generator": "return a list",
        "async_generator": "return a list",
        "coroutine": "await it, or make the tool `async def`",
    }.get(kind, "return text, JSON data, a dataclass or an attrs instance")
    shown = f"the class {value.__name__}" if isinstance(value, type) else f"a {kind}"
    return ToolError(f"{shown}{_at(path)}, which JSON cannot write; {advice}")


def _at(path: str) -> str:
    return f" at {path.removeprefix('.')}" if path else ""
