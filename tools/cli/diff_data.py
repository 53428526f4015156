"""What `pawl diff --json` says: two machines side by side, as data."""

from __future__ import annotations

from typing import Any

import attrs

from pawl.tools.cli.diff_text import unjudged
from pawl.tools.compiler.model import MachineModel, RowModel
from pawl.tools.diff.cells import RowChange
from pawl.tools.diff.difference import Difference, Part
from pawl.tools.diff.verdict import Verdict, Witness


def diff_data(found: Difference, judged: Verdict) -> dict[str, Any]:
    """Two machines side by side, and the verdict."""
    return {
        "ok": True, "same": found.empty, "compatible": judged.compatible,
        "old": _head(found.old), "new": _head(found.new),
        "machine": [_field(field) for field in found.machine],
        "states": [_named(part) for part in found.states],
        "events": [_named(part) for part in found.events],
        "rows": [_changed(each) for each in found.rows],
        "names": {kind: {"added": added, "removed": removed} for kind, (added, removed) in found.names.items()},
        "verdict": {
            "initial": judged.initial,
            "states": {name: {"compatible": each is None} | _why(each) for name, each in judged.states.items()},
            "not_judged": list(unjudged(found)),
        },
    }  # fmt: skip


def _head(model: MachineModel) -> dict[str, Any]:
    return {"machine": model.name, "version": model.version, "file": model.file, "spec_hash": model.spec_hash}


def _field(field: Any) -> dict[str, Any]:
    return {"name": field.name, "old": _value(field.old), "new": _value(field.new)}


def _value(value: Any) -> Any:
    return attrs.asdict(value) if attrs.has(type(value)) else value


def _named(part: Part) -> dict[str, Any]:
    fields = [_field(field) for field in part.fields]
    return {"change": part.change, "name": part.name, "inside": part.inside, "fields": fields}


def _changed(each: RowChange) -> dict[str, Any]:
    return {
        "change": each.change, "from": each.row.source, "on": each.row.event, "moved": each.moved,
        "old_place": each.old_place, "new_place": each.new_place,
        "old": _row_data(each.old), "new": _row_data(each.new),
    }  # fmt: skip


def _row_data(row: RowModel | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "to": row.target, "when": row.when, "unless": row.unless, "do": row.do,
        "file": row.at.file, "line": row.at.line, "protocol": row.expanded,
    }  # fmt: skip


def _why(witness: Witness | None) -> dict[str, Any]:
    if witness is None:
        return {}
    broken = witness.broken
    word = [{"from": row.source, "on": row.event, "to": row.target} for row in witness.path]
    at = {"state": broken.state, "on": broken.event, "answers": dict(broken.answers), "reason": broken.reason}
    return {"word": word, "break": at}
