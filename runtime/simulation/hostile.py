"""A corpus for strict codecs: texts that are no record, values that are none, and every small change of a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

TEXTS: Final = (
    "", " ", "null", "true", "0", '"execution"', "[]", "{}", "{", "}", "nul", "NaN", "[1,]", "{'a':1}", "\x00",
    "\ufeff{}",
    '{"data":{},"type":"execution"}', '{"data":{},"type":"execution","v":1,"x":0}',
    '{"data":null,"type":null,"v":null}',
    '{"data":{},"data":{},"type":"execution","v":1}', '{"data":{},"type":"execution","v":true}',
    '{"data":{},"type":"execution","v":1.0}', '{"data":{},"type":"execution","v":"1"}',
    '{"data":[],"type":"execution","v":1}', '{"data":{},"type":"os.system","v":1}',
    '{"data":{},"type":"execution","v":999}',
    '{"data":{"__class__":"os.system"},"type":"execution","v":1}', '{"data":NaN,"type":"execution","v":1}',
    '{"data":1e999,"type":"execution","v":1}', '{"data":-Infinity,"type":"execution","v":1}',
    '{"data":"\\ud800","type":"execution","v":1}', '{"data":"\ud800","type":"execution","v":1}', "[" * 100_000,
    '{"a":' * 100_000, "[" * 50_000 + "]" * 50_000, "9" * 10_000, '{"data":{},"type":"execution","v":1}garbage',
)  # fmt: skip
"""No record of any kind."""


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


VALUES: Final[tuple[Any, ...]] = (
    float("nan"), float("inf"), -float("inf"), "\ud800", {"\udfff": 1}, {1: 2}, {None: 1}, (1, 2), {1, 2}, b"bytes",
    object(), _nested(10_000), 1j, {"deep": {"er": [float("nan")]}}, range(3), Exception("no"),
)  # fmt: skip
"""Nothing of this is JSON, wherever it stands in arguments or meta."""

FITTING: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 2**53 + 1, 10**400, 0.1, -0.0, 1e308, 5e-324, "", "\x00", "\x7f\u2028\u202e",
    "\U0001f980", "\ud7ff\ue000\uffff", "e\u0301\u212b",
    "'; DROP TABLE agents; --", "%s%n", "x" * 100_000, [], {}, [[[]]],
    {"": {"": ""}}, _nested(50),
    {"__class__": "os.system", "$ref": "#", "\u0000": 1}, {"a.b[0]": ["c"]},
)  # fmt: skip
"""All of this is JSON, and comes back as it was."""

OTHERS: Final[tuple[Any, ...]] = (None, True, 0, -1, 1.5, "", "text", [], {}, [0], {"a": 0})
"""What a changed text has in the place of a value."""


def changes(text: str) -> Iterator[str]:
    """Small changes of a record's text: each key left out, added or doubled, each value another, the text cut off."""
    value = json.loads(text)
    for changed in _changed(value):
        yield json.dumps(changed)
    for length in (1, len(text) // 2, len(text) - 1):
        yield text[:length]
    yield text.replace("{", '{"data":0,', 1)


def _changed(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield {**value, "more": 0}
        for name, item in value.items():
            yield {key: kept for key, kept in value.items() if key != name}
            for changed in _changed(item):
                yield {**value, name: changed}
    elif isinstance(value, list):
        yield [*value, {"more": 0}]
        for place, item in enumerate(value):
            for changed in _changed(item):
                yield [*value[:place], changed, *value[place + 1 :]]
    for other in OTHERS:
        if not (other == value and type(other) is type(value)):
            yield other
