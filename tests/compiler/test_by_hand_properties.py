"""Random specs with fragments and wildcards mean what the same spec means when somebody writes it out by hand.

The writing out here is a plain one, of texts and truth tables, and shares nothing with the compiler's.
"""

from __future__ import annotations

import itertools
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.parts import written
from compiler.test_front_properties import valid
from pawl.tools.compiler.assemble import assemble
from pawl.tools.compiler.checks.subject import Subject
from pawl.tools.compiler.compile import compile_files, compile_text
from pawl.tools.compiler.compose import compose
from pawl.tools.compiler.crosscheck import cross_check
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.include import Library
from pawl.tools.compiler.load import load
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.scope import Scope
from pawl.tools.compiler.spec import Spec
from pawl.tools.compiler.verify import verify

Row = dict[str, Any]
GUARDS = ["g", "h"]
EVENTS = ["e", "f", "late"]


@attrs.frozen
class Part:
    """A random file: its kinds of states, its rows, and its uses (prefix to what the fragment's exit stands for)."""

    states: dict[str, str]
    rows: list[Row]
    uses: dict[str, str]


def rows(states: list[str], targets: list[str], wild: list[str]) -> st.SearchStrategy[list[Row]]:
    sources = st.lists(st.sampled_from(states), min_size=1, max_size=2, unique=True) | st.sampled_from(
        [[w] for w in wild]
    )
    row = st.fixed_dictionaries(
        {"from": sources, "on": st.lists(st.sampled_from(EVENTS), min_size=1, max_size=2, unique=True)},
        optional={
            "to": st.sampled_from(targets),
            "when": st.lists(st.sampled_from(GUARDS), min_size=1, max_size=1),
            "unless": st.lists(st.sampled_from(GUARDS), min_size=1, max_size=1),
            "do": st.sampled_from([["act"], ["ask", "act"]]),
        },
    )
    return st.lists(row.filter(lambda row: row.get("when") != row.get("unless") or "when" not in row), max_size=6)


KINDS = st.sampled_from(["plain", "wait", "final", "halt"])


@st.composite
def parts(draw: st.DrawFn) -> tuple[Part, Part, Part]:
    """A machine, the fragment that it uses twice, and the one that this one uses."""
    inner = {"s": "plain", "t": draw(KINDS)}
    middle = {"s": draw(KINDS), "u": "plain"}
    outer = {"a": "plain", "b": draw(KINDS), "s": draw(KINDS)}
    small = Part(inner, draw(rows(["s", "t"], ["s", "t", "out"], ["*"])), {})
    between = ["s", "u", "in", "in.s", "in.t"]
    medium = Part(
        middle,
        draw(rows(between, ["s", "u", "out", "in", "in.t"], ["*", "in.*"])),
        {"in": draw(st.sampled_from(["s", "out", "in"]))},
    )
    all_names = ["a", "b", "s", "x", "y", "x.u", "y.in", "y.in.s"]
    large = Part(
        outer,
        draw(rows(all_names, ["a", "b", "x", "y", "y.in.t"], ["*", "x.*", "y.in.*"])),
        {"x": draw(st.sampled_from(["a", "y"])), "y": draw(st.sampled_from(["b", "x", "x.in.s"]))},
    )
    return large, medium, small


def text(part: Part, head: dict[str, Any], fragment: str, entry: str) -> str:
    states = {name: {} if kind == "plain" else {kind: True} for name, kind in part.states.items()}
    states[entry] |= {"initial": True}
    uses = [{"fragment": fragment, "as": prefix, "with": {"out": target}} for prefix, target in part.uses.items()]
    if part.uses:
        head |= {"include": f"{fragment}.yaml", "use": uses}
    return json.dumps({"pawl": 1, **head, "states": states, "transitions": part.rows}, indent=1)


def flat(
    part: Part, below: list[Part], prefix: str, entry: dict[str, str], out: str
) -> Iterator[tuple[int, Part, Any]]:
    """Every use as (depth, part, how it names a state)."""
    entries = {use: f"{prefix}{use}.s" if below[0].uses == {} else f"{prefix}{use}.u" for use in part.uses}

    def named(name: str) -> str:
        if name == "out":
            return out
        return entries.get(name, f"{prefix}{name}")

    yield prefix.count("."), part, (prefix, named)
    for use, target in part.uses.items():
        yield from flat(below[0], below[1:], f"{prefix}{use}.", entry, named(target))


def by_hand(large: Part, medium: Part, small: Part) -> dict[str, list[Row]]:
    """State to its rows in order, each for one event, under whole names."""
    uses = list(flat(large, [medium, small], "", {}, ""))
    kinds = {f"{prefix}{name}": kind for _, part, (prefix, _) in uses for name, kind in part.states.items()}
    specific: dict[tuple[str, str], list[tuple[int, Row]]] = {}
    wild: list[tuple[str, str, Row]] = []
    for depth, part, (prefix, named) in uses:
        for row in part.rows:
            whole = row | ({"to": named(row["to"])} if "to" in row else {})
            sources: dict[str, None] = {}
            for source in row["from"]:
                if source.endswith("*"):
                    wild += [(f"{prefix}{source}", event, whole) for event in row["on"]]
                elif source == "out":
                    raise AssertionError
                else:
                    inside = [name for name in kinds if name.startswith(f"{prefix}{source}.")]
                    sources |= dict.fromkeys(inside or [f"{prefix}{source}"])
            for source, event in itertools.product(sources, row["on"]):
                specific.setdefault((source, event), []).append((depth, whole))
    made: dict[str, list[Row]] = {name: [] for name in kinds}
    for (source, event), found in specific.items():
        nearest = min(depth for depth, _ in found)
        made[source] += [row | {"on": event} for depth, row in found if depth == nearest]
    for level in sorted({pattern for pattern, _, _ in wild}, key=lambda pattern: -pattern.count(".")):
        before = {name: list(rows) for name, rows in made.items()}
        for pattern, event, row in wild:
            for name, kind in kinds.items():
                if pattern == level and name.startswith(pattern[:-1]) and kind not in ("final", "halt"):
                    earlier = [each for each in before[name] if each["on"] == event]
                    if not always_before(row, earlier):
                        made[name].append(row | {"on": event})
    return made


def agrees(row: Row, holds: dict[str, bool]) -> bool:
    return all(holds[name] for name in row.get("when", ())) and not any(holds[name] for name in row.get("unless", ()))


def always_before(row: Row, earlier: list[Row]) -> bool:
    """Whether one of `earlier` agrees whenever `row` does, by a truth table."""
    tables = [dict(zip(GUARDS, values, strict=True)) for values in itertools.product([False, True], repeat=len(GUARDS))]
    alone = any(
        set(each.get("when", ())) <= set(row.get("when", ()))
        and set(each.get("unless", ())) <= set(row.get("unless", ()))
        for each in earlier
    )
    return alone or all(any(agrees(each, holds) for each in earlier) for holds in tables if agrees(row, holds))


def model_of(folder: Path, large: Part, medium: Part, small: Part) -> tuple[Scope, MachineModel]:
    """The machine as the compiler writes it out; what the checks would say about random rows does not matter here."""
    files = {
        "machine": text(large, {"machine": "m", "version": 1, "events": {name: {} for name in EVENTS}}, "medium", "a"),
        "medium": text(medium, {"fragment": "medium", "exits": {"out": "Away."}}, "small", "u"),
        "small": text(small, {"fragment": "small", "exits": {"out": "Away."}}, "", "s"),
    }
    document = load(written(folder, **files)[0])
    library = Library([document])
    spec = library.part(document)
    assert isinstance(spec, Spec)
    whole, wrong = compose(spec, library.includes(spec))
    assert [*map(str, library.findings), *map(str, wrong)] == []
    scope = Scope(whole, None)
    return scope, assemble(scope)


def same(found: MachineModel, wanted: dict[str, list[Row]]) -> None:
    """Cell by cell: rows for other events in between mean nothing."""
    assert {state.name for state in found.states} == set(wanted)
    for state, event in itertools.product(wanted, EVENTS):
        ours = [(row.target, row.when, row.unless, row.do) for row in found.rows_of(state) if row.event == event]
        theirs = [
            (row.get("to"), tuple(row.get("when", ())), tuple(row.get("unless", ())), tuple(row.get("do", ())))
            for row in wanted[state]
            if row["on"] == event
        ]
        assert ours == theirs, (state, event)


@given(parts())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_fragments_and_wildcards_are_what_somebody_would_have_written_out(drawn: tuple[Part, Part, Part]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _, found = model_of(Path(folder), *drawn)
    same(found, by_hand(*drawn))


@given(parts())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_table_of_what_was_written_out_by_hand_is_the_same_table(drawn: tuple[Part, Part, Part]) -> None:
    """The hand's version compiled, too: a flat spec with `_` for `.` in its names."""
    with tempfile.TemporaryDirectory() as folder:
        _, found = model_of(Path(folder), *drawn)
        plain = by_hand(*drawn)
        kinds = {state.name: str(state.kind) for state in found.states}
        rename = {name: name.replace(".", "_") for name in plain}
        flat_rows = [
            {**row, "from": [rename[state]], "on": [row["on"]], **({"to": rename[row["to"]]} if "to" in row else {})}
            for state, rows in plain.items()
            for row in rows
        ]
        flat_part = Part({rename[name]: kind for name, kind in kinds.items()}, flat_rows, {})
        _, hand = model_of(Path(folder), flat_part, drawn[1], drawn[2])
    back = {new: old for old, new in rename.items()}

    def rows_of(model: MachineModel, names: dict[str, str]) -> list[Any]:
        return [
            (names[r.source], r.event, names[r.target] if r.target else None, r.when, r.unless, r.do)
            for r in model.rows
        ]

    cell = lambda row: (row[0], row[1])  # noqa: E731
    ours, theirs = rows_of(found, {name: name for name in plain}), rows_of(hand, back)
    assert sorted(ours, key=cell) == sorted(theirs, key=cell)


@given(parts())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_both_engines_agree_on_random_fragments_and_wildcards(drawn: tuple[Part, Part, Part]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _, found = model_of(Path(folder), *drawn)
    assert cross_check(found, verify(found, emit_python(found))).differences == ()


@given(parts())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_check_can_be_asked_about_them(drawn: tuple[Part, Part, Part]) -> None:
    from pawl.tools.compiler.checks.rules import check

    with tempfile.TemporaryDirectory() as folder:
        scope, found = model_of(Path(folder), *drawn)
    for finding in check(Subject(scope, found, (scope.spec,)), whole=True):
        assert finding.position.outermost.file.endswith("machine.yaml")
        assert finding.position.file.rpartition("/")[2] in ("machine.yaml", "medium.yaml", "small.yaml")
        assert finding.rule not in ("E01", "E02", "E09", "E10", "E05", "E06"), str(finding)


@given(valid(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_a_spec_that_is_cut_into_two_files_is_the_same_spec(tree: dict[str, Any], chance: random.Random) -> None:
    """Any states and events, and the last rows, in a fragment that is used without a prefix."""
    (whole,) = compile_text(json.dumps(tree)).machines
    states, events, transitions = tree["states"], tree["events"], tree["transitions"]
    place = chance.randrange(len(transitions) + 1)
    moved: list[dict[str, Any]] = [{}, {}]
    kept: list[dict[str, Any]] = [{}, {}]
    for place_of, table in enumerate((states, events)):
        for name, value in table.items():
            chance.choice((moved, kept))[place_of][name] = value
    more = {"pawl": 1, "fragment": "more", "states": moved[0], "events": moved[1], "transitions": transitions[place:]}
    own = {"states": kept[0], "events": kept[1], "transitions": transitions[:place]}
    machine = {**tree, **own, "include": "more.yaml", "use": "more"}

    with tempfile.TemporaryDirectory() as folder:
        result = compile_files(written(Path(folder), machine=json.dumps(machine), more=json.dumps(more))[:1])

    assert [str(error) for error in result.errors] == []
    (cut,) = result.machines
    assert cut.spec_hash == whole.spec_hash
    assert cut.initial == whole.initial
    for state in whole.states:
        ours, theirs = cut.rows_of(state.name), whole.rows_of(state.name)
        assert [(r.event, r.target, r.when, r.unless, r.do) for r in ours] == [
            (r.event, r.target, r.when, r.unless, r.do) for r in theirs
        ]
