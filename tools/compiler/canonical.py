"""The identity of a spec: a hash over what it means, not over how it was typed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import attrs

from pawl.tools.compiler.nodes import Scalar
from pawl.tools.compiler.spec import Spec

_SILENT = frozenset({"at", "doc", "label", "checks", "include", "use", "fragments", "prefixes", "migrations"})
"""Fields that change nothing about what the machine does; what is used of other files is in the others by now.

`migrations` is about sessions of other versions. A version that learns of one more is the same machine; and were it
not, two versions could never name each other.
"""


def spec_hash(spec: Spec, protocol_hash: str | None) -> str:
    """sha-256 hex of the canonical content.

    Comments, spacing, line endings, quotes, the order of keys, `doc`, `label`, `checks` and `migrations` do not count;
    the order of rows and lists does. Fragments count as what they bring, wherever it is written. A machine with
    barriers also has the barrier protocol in its hash.
    """
    content = json.dumps(meaning(spec), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(f"{protocol_hash or ''}\n{content}".encode()).hexdigest()


def meaning(value: Any) -> Any:
    """What a part of a spec means, as plain data: equal for two that were only typed in different ways."""
    if isinstance(value, Scalar):
        return value.text
    if attrs.has(type(value)):
        fields = ((f.name, getattr(value, f.name)) for f in attrs.fields(type(value)) if f.name not in _SILENT)
        return {name: meaning(found) for name, found in fields if found not in (None, False, ())}
    if isinstance(value, dict):
        return {key: meaning(found) for key, found in value.items()}
    if isinstance(value, tuple):
        return [meaning(item) for item in value]
    return value
