"""Canonical JSON and content digests: one text for one value, one name for one body."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def canonical(value: Any) -> str:
    """`value` as canonical JSON text: sorted keys, no spaces, no NaN.

    Raises TypeError (not JSON), ValueError (NaN, infinity, a circular value), RecursionError (nested too deep).
    """
    return _encode(value)


def digest(body: str) -> str:
    """`sha256:<hex>` of the UTF-8 bytes. Raises UnicodeEncodeError for text that is not Unicode (lone surrogates)."""
    return "sha256:" + hashlib.sha256(body.encode()).hexdigest()
