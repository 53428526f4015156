"""A schema for the output, as `response_format` of chat completions takes it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pawl.runtime.llm.port import OutputSchema
from pawl.runtime.records.canonical import canonical

WRAPPER: Final = "value"
"""The key of the object around an output that is none itself: at the root only objects are taken."""

_STRICT: Final = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "$ref", "$defs"),
        *("title", "description", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("multipleOf", "minItems", "maxItems"),
    }
)
"""Keywords of the subset that strict mode enforces. Anything else is refused there, and only a hint elsewhere."""

_FORMATS: Final = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_MOST_DEEP: Final = 10
_MOST_PROPERTIES: Final = 5000


def response_format(output: OutputSchema) -> dict[str, Any]:
    """Strict where the schema is within what strict mode knows; else the same schema as a hint, which is checked
    behind the answer like every answer.
    """
    wrapped = _wrapped(output.schema) if is_wrapped(output) else output.schema
    closed = _closed(wrapped)
    strict = closed is not None
    return {
        "type": "json_schema",
        "json_schema": {
            "name": re.sub(r"[^a-zA-Z0-9_-]", "_", output.name)[:64] or "output",
            "schema": closed if strict else wrapped,
            "strict": strict,
        },
    }


def is_wrapped(output: OutputSchema | None) -> bool:
    """Whether the answer comes as an object around the value, since the value is none."""
    return output is not None and output.schema.get("type") != "object"


def unwrap(text: str) -> str:
    """The value inside the object around it, as JSON; `text` as it is when there is no such object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict) or value.keys() != {WRAPPER}:
        return text
    try:
        return canonical(value[WRAPPER])
    except (TypeError, ValueError, RecursionError):
        return text


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in schema.items() if key not in {"$defs", "$schema"}}
    outer = {"type": "object", "properties": {WRAPPER: inner}, "required": [WRAPPER], "additionalProperties": False}
    return {**outer, "$defs": schema["$defs"]} if "$defs" in schema else outer


def _closed(schema: dict[str, Any]) -> dict[str, Any] | None:
    """`schema` with every object closed, or None when strict mode would refuse it.

    An object that says nothing of further keys may be closed: that only forbids. Optional keys may not be made
    required, since the model would have to invent what the type has a default for.
    """
    counted = [0]
    try:
        closed = _close(schema, 0, counted)
    except _TooLoose:
        return None
    return closed if counted[0] <= _MOST_PROPERTIES else None


class _TooLoose(Exception):
    """Strict mode would refuse this schema."""


def _close(node: Any, depth: int, counted: list[int]) -> Any:
    if not isinstance(node, dict) or not node or node.keys() - _STRICT or depth > _MOST_DEEP:
        raise _TooLoose
    if not node.keys() & {"type", "anyOf", "enum", "const", "$ref"}:
        raise _TooLoose  # anything goes
    if node.get("format", "date") not in _FORMATS:
        raise _TooLoose
    closed = dict(node)
    types = node.get("type", ())
    types = types if isinstance(types, list) else (types,)
    if "array" in types and "items" not in node:
        raise _TooLoose
    if "items" in node:
        closed["items"] = _close(node["items"], depth + 1, counted)
    if "anyOf" in node:
        closed["anyOf"] = [_close(part, depth, counted) for part in node["anyOf"]]
    if "$defs" in node:
        closed["$defs"] = {name: _close(part, depth, counted) for name, part in node["$defs"].items()}
    if "object" in types or "properties" in node:
        properties = node.get("properties", {})
        counted[0] += len(properties)
        if node.get("additionalProperties", False) is not False or set(node.get("required", ())) != set(properties):
            raise _TooLoose
        closed["properties"] = {name: _close(part, depth + 1, counted) for name, part in properties.items()}
        closed["additionalProperties"] = False
        closed["required"] = list(properties)
    return closed
