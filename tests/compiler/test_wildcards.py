"""Rows from `*`: for which states, after which rows, and what is left of them in every check."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from compiler.parts import COURIER, RETRY, model, said, table
from compiler.specs import WRITER, compiled, edited
from compiler.specs import model as one
from compiler.specs import said as lines
from pawl.tools.compiler.compile import compile_text
from pawl.tools.compiler.crosscheck import cross_check
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.verify import verify

HOUSE = """\
pawl: 1
machine: house
version: 1
states:
  sorting: {initial: true, auto: true}
  asking: {auto: true}
  dark: {}
  lit: {wait: true}
  sold: {final: true}
  burnt: {halt: true}
events: {press: {}, fire: {}, cancel: {}}
transitions:
  - {from: sorting, to: asking}
  - {from: asking, to: dark, when: night}
  - {from: asking, on: press, to: lit}
  - {from: "*", on: fire, to: burnt, do: [ring]}
  - {from: dark, on: press, to: lit}
  - {from: lit, on: fire, to: dark, when: small}
  - {from: dark, on: [fire, cancel], to: sold}
  - {from: [lit, asking], on: cancel, to: sold}
unhandled: {ignore: [press, fire, cancel]}
"""

FIRE = '  - {from: "*", on: fire, to: burnt, do: [ring]}\n'


def fires(text: str) -> list[str]:
    """The rows on `fire`; warnings do not matter here."""
    result = compile_text(text)
    assert result.errors == (), [str(error) for error in result.errors]
    return [row for row in table(result.machines[0]) if " fire " in row]


def test_a_wildcard_is_a_row_of_every_state_that_can_get_the_event() -> None:
    assert fires(HOUSE) == [
        "asking fire -> burnt ring",
        "dark fire -> sold",  # decided there
        "lit fire small -> dark",
        "lit fire -> burnt ring",  # for when no guard of its own agrees
    ]


def test_a_wildcard_means_the_same_in_every_place_of_the_list() -> None:
    head, rows, tail = HOUSE.partition("transitions:\n")[0], HOUSE.split("transitions:\n")[1], ""
    rows, tail = rows.split("unhandled:")
    items = rows.splitlines(keepends=True)
    rest = [item for item in items if item != FIRE]
    tables = set()
    for place in range(len(items)):
        text = "".join([*rest[:place], FIRE, *rest[place:]])
        tables.add(tuple(table(one(f"{head}transitions:\n{text}unhandled:{tail}"))))
    assert len(tables) == 1


def test_states_that_are_declared_after_it_get_it_too() -> None:
    moved = edited(HOUSE, ("transitions:\n", f"transitions:\n{FIRE}"), (f"to: lit}}\n{FIRE}", "to: lit}\n"))
    assert sorted(fires(moved)) == sorted(fires(HOUSE))


def test_it_never_stands_for_the_end_and_for_a_halt_only_beside_its_name() -> None:
    assert not any(row.startswith(("sold ", "burnt ")) for row in table(one(HOUSE)))
    named = edited(
        HOUSE, ('from: "*", on: fire', 'from: ["*", burnt], on: fire'), ("[press, fire, cancel]", "[press, cancel]")
    )
    assert [row for row in fires(named) if row.startswith("burnt")] == ["burnt fire -> burnt ring"]
    final = edited(HOUSE, ('from: "*", on: fire', 'from: ["*", sold], on: fire'))
    assert lines(final) == ["16 E04"]


def test_it_leads_a_state_that_is_its_own_target_out_and_in_again() -> None:
    again = edited(HOUSE, ("to: burnt, do: [ring]", "to: asking, do: [ring]"))
    assert "asking fire -> asking ring" in fires(again)


def test_a_wildcard_without_an_event_is_refused() -> None:
    assert lines(edited(HOUSE, ('from: "*", on: fire, to: burnt', 'from: "*", to: burnt'))) == ["16 Y15"]


@pytest.mark.parametrize(
    "change",
    [
        ("to: burnt, do: [ring]", 'to: "*"'),
        ("on: fire, to: burnt, do: [ring]", 'on: "*", to: burnt'),
        ("transitions:", 'groups: {ALL: ["*"]}\ntransitions:'),
        ("do: [ring]", 'do: ["*"]'),
        ("do: [ring]", 'when: "*"'),
        ("unhandled:", 'error: "*"\nunhandled:'),
    ],
)
def test_a_star_means_nothing_anywhere_else(change: tuple[str, str]) -> None:
    assert "E10" in {line.split()[1] for line in lines(edited(HOUSE, change))}


def test_wildcards_are_tried_in_order_among_themselves() -> None:
    two = edited(HOUSE, (FIRE, f'  - {{from: "*", on: fire, to: dark, unless: big}}\n{FIRE}'))
    assert [row for row in fires(two) if row.startswith(("asking", "lit"))] == [
        "asking fire !big -> dark",
        "asking fire -> burnt ring",
        "lit fire small -> dark",
        "lit fire !big -> dark",
        "lit fire -> burnt ring",
    ]


def test_a_wildcard_is_left_out_where_rows_together_decide_everything() -> None:
    small = "  - {from: lit, on: fire, to: dark, when: small}\n"
    both = edited(HOUSE, (small, f"{small}  - {{from: lit, on: fire, to: sold, unless: small}}\n"))
    assert [row for row in fires(both) if row.startswith("lit")] == [
        "lit fire small -> dark",
        "lit fire !small -> sold",
    ]


def test_a_guarded_wildcard_is_left_out_where_a_row_asks_for_less() -> None:
    asks = edited(HOUSE, ("to: burnt, do: [ring]", "to: burnt, when: [small, windy]"))
    assert fires(asks) == ["asking fire small windy -> burnt", "dark fire -> sold", "lit fire small -> dark"]
    assert lines(asks) == ["16 W18", "18 W18"]


def test_a_wildcard_that_nothing_is_left_of_is_dead() -> None:
    result = compiled(
        HOUSE,
        ("  - {from: lit, on: fire, to: dark, when: small}\n", "  - {from: [asking, lit], on: fire, to: burnt}\n"),
    )
    assert [f"{f.position.line} {f.rule}" for f in result.findings] == ["16 E08"]
    assert "every state that can get it has rows that are always taken first" in result.findings[0].message


def test_the_states_that_it_leaves_out_still_need_a_decision() -> None:
    assert lines(edited(HOUSE, ("[press, fire, cancel]", "[press, cancel]"))) == ["11 E11"]


def test_an_event_that_wildcards_decide_everywhere_is_not_unhandled_as_well() -> None:
    final = ("  burnt: {halt: true}\n", "  burnt: {final: true}\n")
    assert lines(edited(HOUSE, final, ("[press, fire, cancel]", "press"))) == []
    assert lines(edited(HOUSE, final, ("[press, fire, cancel]", "[press, fire]"))) == ["21 E12"]


def test_automatic_states_that_never_wait_get_it_for_an_error_alone() -> None:
    text = edited(HOUSE, ("transitions:\n", 'transitions:\n  - {from: "*", on: internal_error, to: sold}\n'))
    assert [row for row in table(one(text)) if row.startswith("sorting")] == [
        "sorting - -> asking",
        "sorting internal_error -> sold",
    ]


def test_a_write_that_is_under_way_is_not_left_by_a_wildcard() -> None:
    text = edited(
        WRITER,
        ("{finished: {}, ", "{finished: {}, again: {}, "),
        ("  - {from: writing, on: STOP, to: failed}\n", '  - {from: "*", on: [STOP, again], to: failed}\n'),
        ("[finished, STOP]", "[finished, STOP, again]"),
    )
    machine = one(text)
    inner = {row.source for row in machine.rows if row.wildcard}
    assert inner == {"writing"}
    before = {tuple(table(one(WRITER))[n] for n, row in enumerate(one(WRITER).rows) if "." in row.source)}
    assert before == {tuple(table(machine)[n] for n, row in enumerate(machine.rows) if "." in row.source)}


def test_a_wildcard_into_a_barrier_goes_through_its_commit() -> None:
    text = edited(
        WRITER,
        ("{finished: {}, ", "{finished: {}, again: {}, "),
        ("unhandled: {stale: [finished", "unhandled: {stale: [again, finished"),
        (
            "  - {from: writing, on: STOP, to: failed}\n",
            '  - {from: writing, on: STOP, to: failed}\n  - {from: "*", on: again, to: writing}\n',
        ),
    )
    assert "writing again -> writing.committing prepare_write" in table(one(text))


def test_a_wildcard_of_a_use_is_nearer_than_one_of_the_machine(tmp_path: Path) -> None:
    own = '  - {from: "*", on: burn, to: lost}\n  - {from: "fetch.*", on: burn, to: sent, when: wet}\n'
    text = edited(COURIER, ("{cancel: {}}", "{cancel: {}, burn: {}}")) + own
    assert [row for row in table(model(tmp_path, courier=text, retry=RETRY)) if " burn " in row] == [
        "fetch.trying burn wet -> sent",
        "fetch.trying burn -> lost",
        "fetch.pausing burn wet -> sent",
        "fetch.pausing burn -> lost",
        "send.trying burn -> lost",
        "send.pausing burn -> lost",
    ]
    assert said(tmp_path, courier=text.replace("fetch.*", "*"), retry=RETRY) == ["courier.yaml:18 E08"] * 4


def test_a_star_in_a_fragment_is_its_own_states_in_that_use(tmp_path: Path) -> None:
    retry = edited(
        RETRY,
        ("pause_over: {}}", "pause_over: {}, drop: {}}"),
        ("unhandled:", '  - {from: "*", on: drop, to: failed}\nunhandled:'),
    )
    machine = model(tmp_path, courier=COURIER, retry=retry)
    assert [(row.source, row.target, row.wildcard) for row in machine.rows if row.event == "drop"] == [
        ("fetch.trying", "lost", "fetch.*"), ("fetch.pausing", "lost", "fetch.*"),
        ("send.trying", "lost", "send.*"), ("send.pausing", "lost", "send.*"),
    ]  # fmt: skip
    assert cross_check(machine, verify(machine, emit_python(machine))).differences == ()


def test_both_engines_agree_on_a_machine_with_wildcards() -> None:
    machine = one(HOUSE)
    assert cross_check(machine, verify(machine, emit_python(machine))).differences == ()


def test_wildcards_count_towards_the_largest_machine() -> None:
    states = "".join(f"  s{n}: {{}}\n" for n in range(900))
    events = ", ".join(f"e{n}: {{}}" for n in range(120))
    names = ", ".join(f"e{n}" for n in range(120))
    text = f"pawl: 1\nmachine: m\nversion: 1\nstates:\n  a: {{initial: true}}\n{states}events: {{{events}}}\n"
    result = compile_text(f"{text}transitions:\n  - {{from: '*', on: [{names}], to: a}}\n")
    assert [finding.rule for finding in result.findings] == ["Y03"]


EVERY = '"*"'
GUARDS = [(when, unless) for when, unless in itertools.product(["", "a", "b"], repeat=2) if not when or when != unless]


@pytest.mark.parametrize(("specific", "wild"), [*itertools.product(GUARDS, GUARDS)])
def test_a_cell_is_decided_as_by_trying_its_rows_in_order(specific: tuple[str, str], wild: tuple[str, str]) -> None:
    def row(source: str, target: str, guards: tuple[str, str]) -> str:
        asked = "".join(f", {key}: {name}" for key, name in zip(("when", "unless"), guards, strict=True) if name)
        return f"  - {{from: {source}, on: e, to: {target}{asked}}}\n"

    machine = one(
        "pawl: 1\nmachine: m\nversion: 1\nstates: {x: {initial: true}, y: {}, z: {}}\nevents: {e: {}}\ntransitions:\n"
        f"{row(EVERY, 'z', wild)}{row('x', 'y', specific)}checks: {{W15: off, W16: off, W18: off}}\n"
    )

    for a, b in itertools.product([False, True], repeat=2):
        holds = {"a": a, "b": b}
        agree = [(not yes or holds[yes]) and not (no and holds[no]) for yes, no in (specific, wild)]
        taken = (
            row.target
            for row in machine.rows_of("x")
            if all(holds[name] for name in row.when) and not any(holds[name] for name in row.unless)
        )
        assert next(taken, None) == ("y" if agree[0] else "z" if agree[1] else None)
