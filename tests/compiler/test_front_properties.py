"""Whatever is written, the compiler answers with machines and findings, the same ones each time, and never raises."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compiler.parts import COURIER, RETRY, written
from compiler.specs import DOOR, WRITER
from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.compile import Compiled, compile_documents, compile_files, compile_text
from pawl.tools.compiler.graph import Graph, path
from pawl.tools.compiler.load import load_bytes

ROOT = Path(__file__).parents[2]
SPECS = [
    DOOR,
    WRITER,
    COURIER,
    RETRY,
    *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "fsm_specs").glob("*.yaml"))),
]
WORDS = sorted({word for spec in SPECS for word in spec.replace(",", " ").replace(":", " ").split()})
PIECES = [
    "{", "}", "[", "]", ": ", "- ", "\n", "  ", ", ", "&a ", "*a", "!!x ", "<<: ", "'", '"', "|\n", "# ", "? ", "--- ",
    "\t", "~", "12:30", "\0", "é", "\u2028", "\\ud800", "*", ".", "__", "true", "on: ", "barrier: x, ", "final: true, ",
]  # fmt: skip


def holds(result: Compiled) -> None:
    """What is true of every result."""
    places = [(f.position.file, f.position.line, f.position.column) for f in result.findings]
    assert places == sorted(places)
    for finding in result.findings:
        assert finding.message.isprintable() or "\n" not in finding.message
        assert finding.position.line >= 1
        assert finding.position.column >= 1
    refused = {finding.position.outermost.file for finding in result.errors}
    for machine in result.machines:
        assert machine.file not in refused
        names = {state.name for state in machine.states}
        events = {event.name for event in machine.events}
        assert machine.initial in names
        for row in machine.rows:
            assert row.source in names
            assert row.target is None or row.target in names
            assert row.event is None or row.event in events
            assert set(row.when) | set(row.unless) <= set(machine.guards)
            assert set(row.do) <= set(machine.actions)
        for state in machine.states:
            assert set(state.enter) <= set(machine.actions)
            assert state.after is None or (state.after.delay in machine.delays and state.after.event in events)


def compile_twice(text: str) -> Compiled:
    result = compile_text(text)
    assert compile_text(text) == result
    holds(result)
    return result


@st.composite
def mutated(draw: st.DrawFn, specs: list[str] = SPECS) -> str:
    """One of `specs` after a few words were changed, moved, lost or doubled."""
    text: str = draw(st.sampled_from(specs))
    chance = random.Random(draw(st.integers(0, 2**32)))
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.choice([0, 1, 2, 5, 20, 80]))
        match chance.randrange(5):
            case 0:
                text = text[:at] + chance.choice(PIECES) + text[at:]
            case 1:
                text = text[:at] + text[end:]
            case 2:
                text = text[:at] + text[at:end] * 2 + text[end:]
            case 3:
                word = chance.choice(WORDS)
                text = text.replace(word, chance.choice(WORDS), chance.randint(1, 3))
            case 4:
                lines = text.splitlines(keepends=True)
                chance.shuffle(lines) if chance.random() < 0.1 else lines.insert(
                    chance.randrange(len(lines) + 1), lines.pop(chance.randrange(len(lines)))
                )
                text = "".join(lines)
    return text


@given(mutated())
@settings(max_examples=150, deadline=None)
def test_a_mutated_spec_is_answered_and_never_raises(text: str) -> None:
    compile_twice(text)


@given(mutated([COURIER]) | st.just(COURIER), mutated([RETRY]) | st.just(RETRY))
@settings(max_examples=150, deadline=None)
def test_a_mutated_fragment_is_answered_and_never_raises(courier: str, retry: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = written(Path(folder), courier=courier, retry=retry)
        alone, together = compile_files(paths[:1]), compile_files(paths)
        assert compile_files(paths[:1]) == alone
        holds(alone)
        holds(together)
        assert together.machines == alone.machines


@given(st.binary(max_size=400))
@example(b"\xff\xfe")
@example(b"\x00" * 10)
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_answered(data: bytes) -> None:
    result = compile_documents([load_bytes(data, "spec.yaml")])
    holds(result)
    assert result.findings


@given(st.lists(st.sampled_from(PIECES + WORDS[:40]), max_size=60).map("".join))
@settings(max_examples=150, deadline=None)
def test_any_pieces_of_yaml_are_answered(text: str) -> None:
    assert compile_twice(text).findings


KEYS = [
    "pawl", "machine", "version", "states", "events", "groups", "guards", "actions", "delays", "barriers",
    "transitions", "error", "unhandled", "checks", "doc", "context", "from", "to", "on", "when", "unless", "do",
    "initial", "auto", "wait", "final", "halt", "enter", "after", "delay", "resume", "barrier", "refused", "stop",
    "unwritten", "conflict", "superseded", "records", "effect", "behind", "outcome", "label", "payload", "authority",
    "correlate", "lost", "ignore", "stale", "refuse", "a", "b", "a.committing", "W15", "include", "use", "fragment",
    "exits", "parameters", "with", "as",
]  # fmt: skip
LEAVES = st.sampled_from(
    ["true", "1", "a", "b", "c", "STOP", "a.committing", "", "*", "x:Y", "12:30", "A b", "é", "a as b", "a.*", "a.yaml"]
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*KEYS[:16], *KEYS[-7:-2]], TREES)))
@settings(max_examples=150, deadline=None)
def test_any_tree_under_the_right_keys_is_answered(tree: dict[str, object]) -> None:
    compile_twice(yaml.safe_dump(tree, allow_unicode=True))


# -- random valid specs ----------------------------------------------------------------------------------------

NAMES = ["s0", "s1", "s2", "s3", "s4"]
EVENTS = ["e0", "e1", "e2"]


@st.composite
def valid(draw: st.DrawFn) -> dict[str, object]:
    """A spec that keeps every rule that is an error, made of random rows."""
    kinds = {name: draw(st.sampled_from(["", "", "auto", "wait", "barrier"])) for name in NAMES}
    kinds["s0"] = draw(st.sampled_from(["", "auto"]))
    states: dict[str, dict[str, object]] = {"end": {"final": "true"}, "fail": {"halt": "true"}}
    for name, kind in kinds.items():
        match kind:
            case "barrier":
                stops = draw(st.sampled_from([{"stop": "fail"}, {"records": "true"}]))
                states[name] = {"barrier": f"b_{name}", "refused": "fail", **stops}
            case "":
                states[name] = {}
            case flag:
                states[name] = {flag: "true"}
    states["s0"]["initial"] = "true"
    rows: list[dict[str, object]] = []
    for place, name in enumerate(NAMES):
        if kinds[name] == "auto":
            ahead = [*NAMES[place + 1 :], "end"]
            guarded = draw(
                st.lists(
                    st.tuples(st.sampled_from(["g0", "g1"]), st.sampled_from(ahead)),
                    max_size=2,
                    unique_by=lambda x: x[0],
                )
            )
            rows += [{"from": name, "to": target, "when": guard} for guard, target in guarded]
            rows.append({"from": name, "to": draw(st.sampled_from(ahead))})
        else:
            for event in draw(st.lists(st.sampled_from(EVENTS), unique=True)):
                if draw(st.booleans()):
                    rows.append(
                        {"from": name, "on": event, "to": draw(st.sampled_from([*NAMES, "end"])), "unless": ["g0"]}
                    )
                rows.append({"from": name, "on": event, **draw(st.sampled_from([{}, {"to": "end"}, {"do": ["act"]}]))})
    return {
        "pawl": "1", "machine": "made", "version": "1", "states": states,
        "events": {name: {} for name in [*EVENTS, "stop"]},
        "barriers": {"stop": "stop", "conflict": "fail", "superseded": "fail"},
        "transitions": rows, "error": "fail", "unhandled": {"ignore": "*"},
    }  # fmt: skip


@given(valid(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_a_valid_spec_compiles_to_the_same_machine_however_its_keys_are_ordered(
    tree: dict[str, object], chance: random.Random
) -> None:
    result = compile_twice(yaml.safe_dump(tree, sort_keys=False))
    assert [str(error) for error in result.errors] == []
    (machine,) = result.machines

    def shuffled(value: object) -> object:
        if isinstance(value, dict):
            keys = list(value)
            chance.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    again = compile_twice(yaml.safe_dump(shuffled(tree), sort_keys=False)).machines[0]
    assert again.spec_hash == machine.spec_hash
    for state in machine.states:
        ours, theirs = machine.rows_of(state.name), again.rows_of(state.name)
        assert [(r.event, r.target, r.when, r.unless, r.do) for r in ours] == [
            (r.event, r.target, r.when, r.unless, r.do) for r in theirs
        ]


@given(valid())
@settings(max_examples=100, deadline=None)
def test_no_way_leads_into_a_barrier_state_but_through_its_commit(tree: dict[str, object]) -> None:
    (machine,) = compile_twice(yaml.safe_dump(tree, sort_keys=False)).machines
    for state in machine.states:
        if state.barrier is None:
            continue
        into = [row for row in machine.rows if row.target == state.name]
        assert {(row.source, row.event) for row in into} == {
            (f"{state.name}.committing", "committed"), (f"{state.name}.reconciling", "read_committed"),
        }  # fmt: skip
        assert all(row.do[-1] == f"apply_{state.barrier}" for row in into)
        for row in machine.rows:
            if row.target == f"{state.name}.committing" and row.source != f"{state.name}.retrying":
                assert row.do[-1] == f"prepare_{state.barrier}"
        graph = Graph(machine)
        assert path(graph.possible, [machine.initial], state.name, {f"{state.name}.committing"}) is None


@given(valid(), st.sampled_from(NAMES[1:]))
@settings(max_examples=100, deadline=None)
def test_an_effect_is_refused_exactly_when_some_path_meets_no_barrier(tree: dict[str, object], effect: str) -> None:
    (machine,) = compile_twice(yaml.safe_dump(tree, sort_keys=False)).machines
    states: dict[str, dict[str, object]] = tree["states"]  # type: ignore[assignment]
    states[effect]["effect"] = "call"
    found = [f for f in compile_text(yaml.safe_dump(tree, sort_keys=False)).findings if f.rule == "E13"]
    barriers = {state.name for state in machine.states if state.barrier is not None}
    edges = {state.name: set[str]() for state in machine.states}
    for row in machine.rows:
        if row.target is not None:
            edges[row.source].add(row.target)
    for state in machine.states:
        if state.kind not in (Kind.FINAL, Kind.HALT):
            edges[state.name].add("fail")

    def loose(name: str, seen: frozenset[str]) -> bool:
        """Whether a path without a barrier leads on from `name` to the effect."""
        if name in barriers or name in seen:
            return False
        return name == effect or any(loose(target, seen | {name}) for target in edges[name])

    once, again = loose(machine.initial, frozenset()), any(loose(target, frozenset()) for target in edges[effect])
    assert bool(found) is (effect not in barriers and (once or again))
