"""What `pawl diff` says of sessions in flight: where each state leads, and what the new spec would have to say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from pawl.tools.cli.words import printable
from pawl.tools.compiler.model import MachineModel
from pawl.tools.diff.flight import SHOWN, Becomes, Fate, Flight, folded

_STYLES = {Becomes.CONTINUES: "green", Becomes.MAPPED: "green", Becomes.REFUSED: "red"}


def flight_lines(old: MachineModel, new: MachineModel, found: Flight) -> Iterator[tuple[str, str]]:
    """The section, as (line, style)."""
    file, name = printable(Path(new.file).name), f"{old.spec_hash[:SHOWN]} (version {old.version})"
    if found.same:
        return  # nothing has to be said
    if found.declared:
        yield f"as `migrations` of {file} says of {name}", ""
        yield from _states(old, found.fates)
    else:
        yield f"all are refused: {file} has no migration from {name}", "red"
    if found.proposal is not None:
        yield f"the verdict vouches for this, to be put into {file}:", ""
        yield from ((f"  {line}", "bold") for line in found.proposal.yaml.splitlines())
        yield "then:", ""
        yield from _states(old, found.proposal.fates)
    elif not found.declared and old.name == new.name:
        yield "the verdict vouches for no state of theirs; what you write into `migrations` is judged here", ""
    if found.behind:
        hashes = ", ".join(each[:SHOWN] for each in found.behind)
        yield f"not brought up to this version: {hashes}; add `to: {old.spec_hash[:SHOWN]}` there", "yellow"


def _states(old: MachineModel, fates: Iterable[Fate]) -> Iterator[tuple[str, str]]:
    lines = list(folded(old, fates))
    width = max((len(fate.state) for fate, _ in lines), default=0)
    for fate, around in lines:
        said = f"{fate.state.ljust(width)}  {fate.becomes}{f' to {fate.to}' if fate.becomes is Becomes.MAPPED else ''}"
        inside = "  (and inside of its barrier)" if around else ""
        doubt = f"  but: {fate.doubt}" if fate.doubt is not None else ""
        yield f"  {said}{inside}{doubt}", "yellow" if doubt else _STYLES[fate.becomes]


def flight_data(found: Flight) -> dict[str, Any]:
    """The same as JSON data."""
    proposal = found.proposal
    return {
        "same_spec": found.same,
        "declared": found.declared,
        "states": _data(found.fates),
        "proposal": {"yaml": proposal.yaml, "states": _data(proposal.fates)} if proposal is not None else None,
        "behind": list(found.behind),
    }


def _data(fates: Iterable[Fate]) -> dict[str, Any]:
    return {fate.state: {key: value for key, value in attrs.asdict(fate).items() if key != "state"} for fate in fates}
