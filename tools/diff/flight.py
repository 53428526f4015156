"""What becomes of sessions that the old machine has saved: state by state, as the new spec says, and as it could."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import attrs

from pawl.runtime.fsm.evolution import led, within
from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.migrations import same_hash
from pawl.tools.compiler.model import MachineModel, MigrationModel, StateModel
from pawl.tools.diff.verdict import Verdict

SHOWN = 12
"""Characters of a hash that say which one it is."""


class Becomes(StrEnum):
    """What becomes of a session that stands in a state."""

    CONTINUES = "continues"
    MAPPED = "mapped"
    REFUSED = "refused"


@attrs.frozen
class Fate:
    """One state of the old machine: what becomes of a session there, and where it goes on."""

    state: str
    becomes: Becomes
    to: str | None = None
    doubt: str | None = None
    """What speaks against going on there."""


@attrs.frozen
class Proposal:
    """What the new spec could say of the old one, in YAML as well, and what would become of sessions then."""

    item: MigrationModel
    yaml: str
    fates: tuple[Fate, ...]


@attrs.frozen
class Flight:
    """What becomes of sessions, state by state; of those that have not ended.

    `same`: one spec, nothing has to be said. `declared`: the new spec says something about sessions of the old one;
    else all are refused, and there may be a `proposal`. `behind`: hashes of older versions about which both specs say
    the same, though more than their names has changed: that was not brought up to this version.
    """

    same: bool
    declared: bool
    fates: tuple[Fate, ...]
    proposal: Proposal | None = None
    behind: tuple[str, ...] = ()


def declared(old: MachineModel, new: MachineModel) -> MigrationModel | None:
    """What `new` says about sessions of `old`."""
    return next((each for each in new.migrations if same_hash(each.spec_hash, old.spec_hash)), None)


def renames(old: MachineModel, new: MachineModel) -> dict[str, str]:
    """The states of `old` that `new` leads on under another name, but for those where several would have one."""
    said, names = declared(old, new), {state.name for state in old.states}
    moves = {before: after for before, after in said.states if before in names} if said is not None else {}
    while True:
        now = Counter(moves.get(name, name) for name in names)
        clear = {before: after for before, after in moves.items() if now[after] == 1}
        if clear == moves:
            return moves
        moves = clear


def flight(old: MachineModel, named: MachineModel, new: MachineModel, judged: Verdict) -> Flight:
    """Judge every state of `old`; `named` is the same machine with the names of today, which was `judged`."""
    today = {before.name: after.name for before, after in zip(old.states, named.states, strict=True)}
    said = declared(old, new)
    if old.name == new.name and old.spec_hash == new.spec_hash:
        same = MigrationModel(old.spec_hash, old.version, old.states[0].at, compatible=True)
        return Flight(True, False, tuple(_fates(old, new, same, judged, today)))
    behind = tuple(each.spec_hash for each in new.migrations if _also(each, old.migrations))
    could = _proposed(old, judged, today) if old.name == new.name else None
    by = said or could
    if by is None or not (by.states or by.refuse):
        behind = ()
    if said is not None and old.name == new.name:
        return Flight(False, True, tuple(_fates(old, new, said, judged, today)), behind=behind)
    none = tuple(Fate(state.name, Becomes.REFUSED) for state in _going(old))
    proposal = None
    if could is not None:
        text = yaml(could, {state.name for state in old.states if state.kind is Kind.WAIT})
        proposal = Proposal(could, text, tuple(_fates(old, new, could, judged, today)))
    return Flight(False, False, none, proposal, behind)


def folded(old: MachineModel, fates: Iterable[Fate]) -> Iterator[tuple[Fate, bool]]:
    """The fates without those of inner states of barriers that share what becomes of their own; True marks that."""
    inside = {state.name: state.inside for state in old.states}
    by_name = {fate.state: fate for fate in fates}
    shared = {fate.state for fate in by_name.values() if _shares(fate, by_name.get(inside[fate.state] or ""))}
    for fate in by_name.values():
        if fate.state not in shared:
            yield fate, any(inside[name] == fate.state for name in shared)


def yaml(item: MigrationModel, waits: set[str]) -> str:
    """An item of `migrations:`, as it is to be written; `waits` are the wait states of its version."""
    states = dict(item.states)
    written = [each for each in item.states if not _goes_along(*each, states)]
    moves = [dict(each for each in written if (each[0] in waits) is waiting) for waiting in (False, True)]
    parts = {"from": item.spec_hash[:SHOWN], "version": str(item.version)}
    parts |= {"compatible": "true"} if item.compatible else {}
    for word, moved in zip(("states", "waits"), moves, strict=True):
        parts |= {word: f"{{{', '.join(f'{before}: {after}' for before, after in moved.items())}}}"} if moved else {}
    parts |= {"refuse": f"[{', '.join(item.refuse)}]"} if item.refuse else {}
    lines = [f"{key}: {value}" for key, value in parts.items()]
    line = f"  - {{{', '.join(lines)}}}"
    if len(line) > 100:
        line = "  - " + "\n    ".join(lines)
    return f"migrations:\n{line}\n"


def _goes_along(name: str, to: str, states: Mapping[str, str]) -> bool:
    """Whether a state need not be named, as it is inside of one that is, and stays there."""
    around = (head for head in within(name) if head != name and head in states)
    return any(to == states[head] + name.removeprefix(head) for head in around)


def _also(one: MigrationModel, others: Iterable[MigrationModel]) -> bool:
    return any(attrs.evolve(one, at=other.at) == other for other in others)


def _going(old: MachineModel) -> Iterator[StateModel]:
    """The states of sessions that have not ended."""
    return (state for state in old.states if state.kind is not Kind.FINAL)


def _fates(
    old: MachineModel, new: MachineModel, by: MigrationModel, judged: Verdict, today: Mapping[str, str]
) -> Iterator[Fate]:
    kinds = {state.name: state.kind for state in new.states}
    for state in _going(old):
        to = led(by, state.name)
        if to is None or to not in kinds:
            yield Fate(state.name, Becomes.REFUSED)
            continue
        becomes = Becomes.CONTINUES if to == state.name else Becomes.MAPPED
        yield Fate(state.name, becomes, to, _doubt(state, to, kinds[to], judged, today[state.name]))


def _doubt(state: StateModel, to: str, kind: Kind, judged: Verdict, judged_as: str) -> str | None:
    if (state.kind is Kind.WAIT) is not (kind is Kind.WAIT):
        return f"it waits, and '{to}' does not" if state.kind is Kind.WAIT else f"it does not wait, and '{to}' does"
    if judged_as != to:
        return "not judged, as it is compared under another name"
    witness = judged.states[judged_as]
    if witness is None:
        return None
    broken = witness.broken
    where = f"in '{broken.state}' " if broken.state != judged_as else ""
    event = f"on '{broken.event}' " if broken.event is not None else ""
    return f"{where}{event}{broken.reason}"


def _proposed(old: MachineModel, judged: Verdict, today: Mapping[str, str]) -> MigrationModel | None:
    """The widest that the verdict vouches for; None where it vouches for no state of a session in flight."""
    good = {state.name for state in old.states if judged.states[today[state.name]] is None}
    if not any(state.name in good for state in _going(old)):
        return None
    moves: dict[str, str] = {}
    refused: list[str] = []
    for state in sorted(old.states, key=lambda state: state.inside is not None):  # what is around them comes first
        name, now = state.name, today[state.name]
        if name not in good:
            refused += [] if state.inside in refused else [name]
        elif now != name:
            moves[name] = now
    return MigrationModel(
        spec_hash=old.spec_hash,
        version=old.version,
        at=old.states[0].at,
        compatible=any(today[name] == name for name in good),
        states=tuple(moves.items()),
        refuse=tuple(refused),
    )


def _shares(fate: Fate, around: Fate | None) -> bool:
    if around is None or (fate.becomes, fate.doubt is None) != (around.becomes, around.doubt is None):
        return False
    inner = fate.state.removeprefix(around.state)
    return fate.to == (around.to + inner if around.to is not None else None)
