"""The coverage file: how often each row of some machines was taken, as JSON that any program can write.

    {"pawl_coverage": 1,
     "machines": [
       {"machine": "order", "version": 1, "spec_hash": "9f2c…",
        "started": {"cart": 3},
        "rows": [{"from": "cart", "on": "checkout", "to": "paying", "unless": ["empty"], "count": 3}]}]}

`machine`, and `from` and `count` of a row, are needed. A row is named by what the spec says of it after expansion: one
source, one event (none: automatic), one target (none: it stays), and its guards in their order. `started` counts the
sessions that began in a state. The same machine and row may come again: counts are added.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

FORMAT = 1
_HEAD = "pawl_coverage"


class CoverageFileError(ValueError):
    """The file is no coverage file; the message says where and why."""


@attrs.frozen(order=True)
class RowKey:
    """What names a row of a machine."""

    source: str
    event: str | None
    target: str | None
    when: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


@attrs.frozen
class Counts:
    """What was recorded of one machine; `version` and `spec_hash` are None where the recorder did not know them."""

    machine: str
    version: int | None = None
    spec_hash: str | None = None
    rows: Counter[RowKey] = attrs.field(factory=Counter)
    started: Counter[str] = attrs.field(factory=Counter)


def merged(many: Iterable[Counts]) -> list[Counts]:
    """One for each machine and spec hash, by name, with all counts added."""
    found: dict[tuple[str, int | None, str | None], Counts] = {}
    for each in many:
        key = each.machine, each.version, each.spec_hash
        into = found.setdefault(key, Counts(*key))
        into.rows.update(each.rows)
        into.started.update(each.started)
    return [found[key] for key in sorted(found, key=lambda key: tuple(map(str, key)))]


def to_data(many: Iterable[Counts]) -> dict[str, Any]:
    """The file as JSON data, the same for the same counts."""
    return {_HEAD: FORMAT, "machines": [_machine(each) for each in merged(many)]}


def save(path: Path, many: Iterable[Counts]) -> None:
    """Write the file. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(to_data(many), indent=1) + "\n", encoding="utf-8", newline="\n")


def load(path: Path) -> list[Counts]:
    """Read the file. Raises CoverageFileError, also for a file that cannot be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CoverageFileError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise CoverageFileError(f"{path} is not JSON: {error}") from None
    return from_data(data, str(path))


def from_data(data: object, place: str) -> list[Counts]:
    """The counts in JSON data that came from `place`. Raises CoverageFileError."""
    if not isinstance(data, dict) or data.get(_HEAD) != FORMAT:
        raise CoverageFileError(f'{place} is not a coverage file: it does not begin with {{"{_HEAD}": {FORMAT}')
    machines = _typed(data.get("machines"), list, f"{place}: machines", "a list")
    return merged(_counts(each, f"{place}: machines[{number}]") for number, each in enumerate(machines))


def _machine(counts: Counts) -> dict[str, Any]:
    said: dict[str, Any] = {"machine": counts.machine}
    said |= {"version": counts.version} if counts.version is not None else {}
    said |= {"spec_hash": counts.spec_hash} if counts.spec_hash is not None else {}
    ordered = sorted(counts.rows.items(), key=lambda item: str(item[0]))
    return said | {"started": dict(sorted(counts.started.items())), "rows": [_row(*each) for each in ordered]}


def _row(key: RowKey, count: int) -> dict[str, Any]:
    said: dict[str, Any] = {"from": key.source}
    said |= {"on": key.event} if key.event is not None else {}
    said |= {"to": key.target} if key.target is not None else {}
    said |= {"when": list(key.when)} if key.when else {}
    said |= {"unless": list(key.unless)} if key.unless else {}
    return said | {"count": count}


def _counts(data: object, place: str) -> Counts:
    said = _typed(data, dict, place, "an object")
    counts = Counts(
        _typed(said.get("machine"), str, f"{place}.machine", "a name"),
        _optional(said, "version", int, place, "a whole number"),
        _optional(said, "spec_hash", str, place, "a text"),
    )
    for name, count in _typed(said.get("started", {}), dict, f"{place}.started", "an object").items():
        counts.started[name] += _count(count, f"{place}.started.{name}")
    for number, row in enumerate(_typed(said.get("rows"), list, f"{place}.rows", "a list")):
        where = f"{place}.rows[{number}]"
        known = _typed(row, dict, where, "an object")
        counts.rows[_key(known, where)] += _count(known.get("count"), f"{where}.count")
    return counts


def _key(row: dict[str, Any], place: str) -> RowKey:
    return RowKey(
        _typed(row.get("from"), str, f"{place}.from", "a name"),
        _optional(row, "on", str, place, "a name"),
        _optional(row, "to", str, place, "a name"),
        _names(row, "when", place),
        _names(row, "unless", place),
    )


def _names(row: dict[str, Any], key: str, place: str) -> tuple[str, ...]:
    names = _typed(row.get(key, []), list, f"{place}.{key}", "a list of names")
    return tuple(_typed(name, str, f"{place}.{key}", "a list of names") for name in names)


def _count(value: object, place: str) -> int:
    count: int = _typed(value, int, place, "a whole number")
    if count < 0:
        raise CoverageFileError(f"{place} is {count}; nothing happens less than 0 times")
    return count


def _optional(said: dict[str, Any], key: str, kind: type, place: str, what: str) -> Any:
    return None if said.get(key) is None else _typed(said[key], kind, f"{place}.{key}", what)


def _typed(value: object, kind: type, place: str, what: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        shown = "missing" if value is None else json.dumps(value)[:40]
        raise CoverageFileError(f"{place} is {shown}; write {what}")
    return value
