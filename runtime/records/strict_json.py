"""Free JSON, strictly: what is written is read back equal, and what is not JSON is refused with a path to it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from json.scanner import make_scanner
from typing import Any, Final, NoReturn

from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import CodecError

DEPTH: Final = 100
"""How deep free JSON (arguments, meta) may nest: far from what any interpreter's stack forbids on reading back."""


def encode_json(value: Any, name: str = "json") -> str:
    """`value` as canonical text; `name` is where it belongs, for the message.

    Exact types only (a tuple or an integer key would come back as something else); an enum of texts counts as text.
    Raises CodecError with the path.
    """
    fault = json_fault(value)
    if fault is not None:
        raise CodecError(f"{name}{fault[0]}: {fault[1]}")
    text = canonical(value)
    check_unicode(text, name)
    return text


def decode_json(text: str, name: str = "json") -> Any:
    """The value of JSON text: no NaN, no number out of range, no duplicate keys, only Unicode. Raises CodecError."""
    if text.__class__ is not str:
        raise CodecError(f"{name}: not text, but {type(text).__name__}")
    check_unicode(text, name)
    try:
        value = _loads(text)
        if "\\ud" in text or "\\uD" in text:  # surrogates as escapes: a pair is text, a lone one is not
            check_unicode(canonical(value), name)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"{name}: not JSON: {error}") from error
    return value


def check_unicode(text: str, name: str) -> None:
    """Refuse text that has no UTF-8 form. Raises CodecError."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 20) : error.start]
        raise CodecError(f"{name}: a lone surrogate, which is not Unicode text, after {near!r}") from None


_PLAIN: Final = frozenset({str, int, bool, type(None)})
"""Whatever is exactly of these is JSON."""


def json_fault(value: Any, depth: int = DEPTH) -> tuple[str, str] | None:
    """Where `value` is not JSON (".a[2]") and why, or None."""
    kind = value.__class__
    if kind in _PLAIN:
        return None
    if kind is float:
        return None if math.isfinite(value) else ("", f"{value} is not a JSON number")
    if kind is not dict and kind is not list:
        return None if isinstance(value, str) else ("", f"a {kind.__name__} is not JSON")
    if not depth:
        return "", f"nested deeper than {DEPTH} levels"
    for key, item in value.items() if kind is dict else enumerate(value):
        if kind is dict and not isinstance(key, str):
            return "", f"key {key!r} is not text"
        if item.__class__ in _PLAIN:
            continue
        fault = json_fault(item, depth - 1)
        if fault is not None:
            return (f".{key}" if kind is dict else f"[{key}]") + fault[0], fault[1]
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"number {text} is out of range")
    return value


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


_decoder: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant)
_scan: Final[Callable[[str, int], tuple[Any, int]]] = make_scanner(_decoder)  # type: ignore[arg-type]  # typeshed asks for a scanner


def _loads(text: str) -> Any:
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        return _decoder.decode(text)
    # Canonical text has nothing around its value. `decode` looks for that first: a third of the time of a small object.
    return value if end == len(text) else _decoder.decode(text)
