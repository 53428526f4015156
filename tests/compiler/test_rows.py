"""The list of every row as compiled: columns, and where each comes from."""

from __future__ import annotations

import json
from pathlib import Path

from compiler.parts import COURIER, RETRY, model
from compiler.specs import WRITER, edited
from compiler.specs import model as one
from pawl.tools.compiler.emit_rows import emit_rows, rows_data

SMALL = """\
pawl: 1
machine: small
version: 1
states:
  a: {initial: true}
  longer: {auto: true}
  end: {final: true}
events: {go: {}, stop_it: {}}
transitions:
  - {from: a, on: go, to: longer, when: [g, h], unless: i, do: [x, y]}
  - {from: a, on: go}
  - {from: longer, to: end}
  - {from: "*", on: stop_it, to: end}
"""


def test_rows_are_in_columns_with_guards_actions_and_places() -> None:
    assert emit_rows(one(SMALL)) == (
        "a       go       [g, h, not i]  -> longer  / x, y  spec.yaml:10\n"
        "a       go                      stay               spec.yaml:11\n"
        "a       stop_it                 -> end             spec.yaml:13 (from *)\n"
        "longer  -                       -> end             spec.yaml:12\n"
    )


def test_rows_of_a_barrier_name_it_and_those_that_replace_them_do_not() -> None:
    own = "  - {from: idle, to: writing}\n  - {from: writing.retrying, on: cancel, to: lost}\n"
    machine = one(edited(WRITER, ("  - {from: idle, to: writing}\n", own)))
    told = {(row["from"], row["on"]): row["barrier"] for row in rows_data(machine)}
    assert told["writing.committing", "uncertain"] == "write"
    assert told["writing.retrying", "evicted"] == "write"
    assert told["writing.retrying", "cancel"] is None
    assert told["writing", "finished"] is None
    lines = emit_rows(machine).splitlines()
    assert sum(line.endswith("(barrier write)") for line in lines) == sum(row.expanded for row in machine.rows) > 20


def test_the_data_is_plain_and_names_file_use_and_wildcard(tmp_path: Path) -> None:
    text = (
        edited(COURIER, ("{cancel: {}}", "{cancel: {}, burn: {}}"))
        + '  - {from: "send.*", on: burn, to: lost}\nunhandled: {ignore: burn}\n'
    )
    data = rows_data(model(tmp_path, courier=text, retry=RETRY))
    assert json.loads(json.dumps(data)) == data
    (found, _) = (row for row in data if row["wildcard"] is not None)
    assert (found["from"], found["wildcard"], found["used_in"]) == ("send.trying", "send.*", [])
    (worked, _) = (row for row in data if row["on"] == "worked")
    assert worked["at"].endswith("retry.yaml:11:5")
    assert [place.rpartition("/")[2] for place in worked["used_in"]] == ["courier.yaml:6:5"]


def test_a_machine_without_rows_lists_nothing() -> None:
    alone = "pawl: 1\nmachine: m\nversion: 1\nstates: {a: {initial: true, final: true}}\n"
    assert emit_rows(one(alone)) == ""
