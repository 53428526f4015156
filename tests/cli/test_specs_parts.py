"""Fragments, wildcards and the schema on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from cli.test_specs import SPEC, Pawl
from compiler.as_editors import data

FRAGMENT = """\
pawl: 1
fragment: blink
exits: {over: }
states:
  bright: {initial: true}
  dim: {}
events: {tick: {}, enough: {}}
transitions:
  - {from: bright, on: tick, to: dim}
  - {from: dim, on: tick, to: bright}
  - {from: "*", on: enough, to: over}
"""

LAMP = """\
pawl: 1
machine: lamp
version: 1
include: parts/blink.yaml
use: [{fragment: blink, as: warn, with: {over: dark}}]
states:
  dark: {initial: true}
  off: {final: true}
events: {press: {}, stop: {}}
transitions:
  - {from: dark, on: press, to: warn}
  - {from: "*", on: stop, to: off}
unhandled: {ignore: [press, tick, enough]}
"""


@pytest.fixture
def pawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Pawl:
    monkeypatch.chdir(tmp_path)
    made = Pawl(tmp_path, capsys)
    made.write("specs/lamp.yaml", LAMP)
    made.write("specs/parts/blink.yaml", FRAGMENT)
    return made


def test_a_machine_with_fragments_and_wildcards_is_checked_and_made(pawl: Pawl) -> None:
    checked = pawl("check", "specs", "--strict")
    assert (checked.code, checked.err) == (0, "")
    assert "lamp: 8 cells compared" in checked.out

    assert pawl("generate", "specs").out == "created   specs/lamp.py\n"
    text = (pawl.folder / "specs" / "lamp.py").read_text()
    assert [line.split(",  # ")[1] if ",  # " in line else "" for line in text.splitlines() if "  Row(" in line] == [
        "", "from *", "blink.yaml:9", "blink.yaml:11, from warn.*", "from *", "blink.yaml:10",
        "blink.yaml:11, from warn.*", "from *",
    ]  # fmt: skip


def test_a_changed_fragment_makes_the_module_stale(pawl: Pawl) -> None:
    pawl("generate", "specs")
    assert pawl("generate", "specs", "--check").code == 0
    pawl.write("specs/parts/blink.yaml", FRAGMENT.replace("to: dim}", "to: dim, do: [click]}"))

    ran = pawl("generate", "specs", "--check")

    assert ran.code == 1
    assert "+" in ran.out
    assert "click" in ran.out


def test_expand_lists_every_row_with_where_it_comes_from(pawl: Pawl) -> None:
    ran = pawl("check", "specs/lamp.yaml", "--expand")

    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()[:8]]
    assert [" ".join(line) for line in lines] == [
        "dark press -> warn.bright specs/lamp.yaml:11",
        "dark stop -> off specs/lamp.yaml:12 (from *)",
        "warn.bright tick -> warn.dim specs/parts/blink.yaml:9 (used in specs/lamp.yaml:5)",
        "warn.bright enough -> dark specs/parts/blink.yaml:11 (used in specs/lamp.yaml:5, from warn.*)",
        "warn.bright stop -> off specs/lamp.yaml:12 (from *)",
        "warn.dim tick -> warn.bright specs/parts/blink.yaml:10 (used in specs/lamp.yaml:5)",
        "warn.dim enough -> dark specs/parts/blink.yaml:11 (used in specs/lamp.yaml:5, from warn.*)",
        "warn.dim stop -> off specs/lamp.yaml:12 (from *)",
    ]


def test_expand_as_json_says_the_same(pawl: Pawl) -> None:
    (machine,) = json.loads(pawl("check", "specs/lamp.yaml", "--expand", "--json").out)["machines"]

    assert len(machine["rows"]) == 8
    assert machine["rows"][3] == {
        "from": "warn.bright", "on": "enough", "to": "dark", "when": [], "unless": [], "do": [],
        "at": "specs/parts/blink.yaml:11:5", "used_in": ["specs/lamp.yaml:5:7"], "wildcard": "warn.*", "barrier": None,
    }  # fmt: skip
    assert "rows" not in json.loads(pawl("check", "specs/lamp.yaml", "--json").out)["machines"][0]


def test_a_finding_in_a_fragment_names_its_line_and_the_use(pawl: Pawl) -> None:
    pawl.write("specs/parts/blink.yaml", FRAGMENT.replace("to: dim", "to: dimm"))

    ran = pawl("check", "specs", "--json")

    assert ran.code == 1
    assert ran.err == (
        "specs/parts/blink.yaml:9:34: E01 unknown state 'dimm'; did you mean 'dim'? (used in specs/lamp.yaml:5:7)\n"
    )
    (found,) = json.loads(ran.out)["findings"]
    assert (found["file"], found["line"], found["used_in"]) == ("specs/parts/blink.yaml", 9, ["specs/lamp.yaml:5:7"])


def test_a_fragment_alone_is_no_machine_and_no_mistake(pawl: Pawl) -> None:
    ran = pawl("check", "specs/parts")
    assert (ran.code, ran.err, ran.out) == (0, "", "1 spec, 0 errors, 0 warnings\n")
    assert pawl("generate", "specs/parts").code == 0
    assert [path.name for path in (pawl.folder / "specs" / "parts").iterdir()] == ["blink.yaml"]


def test_a_module_whose_spec_has_become_a_fragment_is_stale(pawl: Pawl) -> None:
    pawl.write("specs/light.yaml", SPEC)
    pawl("generate", "specs")
    pawl.write("specs/light.yaml", "pawl: 1\nfragment: light\n")

    ran = pawl("generate", "specs", "--check")

    assert (ran.code, "specs/light.py: its spec is gone" in ran.err) == (1, True)
    assert "removed   specs/light.py" in pawl("generate", "specs", "--prune").out


# the schema


def test_the_schema_goes_to_stdout_or_to_a_file_that_is_kept_fresh(pawl: Pawl) -> None:
    text = pawl("schema").out
    assert json.loads(text)["$schema"] == "https://json-schema.org/draft/2020-12/schema"

    assert pawl("schema", "--out", "specs/pawl.schema.json").out == "created   specs/pawl.schema.json\n"
    assert (pawl.folder / "specs" / "pawl.schema.json").read_text() == text
    assert pawl("schema", "--out", "specs/pawl.schema.json").out == "unchanged specs/pawl.schema.json\n"
    assert pawl("schema", "--out", "specs/pawl.schema.json", "--check").code == 0
    assert pawl("schema", "--check").code == 0


def test_a_stale_or_missing_schema_fails_the_check_and_is_written_anew(pawl: Pawl) -> None:
    assert pawl("schema", "--check", "--out", "nowhere.json").code == 1
    old = pawl.write("old.json", pawl("schema").out.replace("1", "2"))

    ran = pawl("schema", "--check", "--out", "old.json")

    assert ran.code == 1
    assert "run `pawl schema --out old.json`" in ran.err
    assert pawl("schema", "--out", "old.json").out == "updated   old.json\n"
    assert pawl("schema", "--check", "--out", "old.json").code == 0
    assert "2020-12" in old.read_text()


def test_a_schema_never_overwrites_what_pawl_did_not_write(pawl: Pawl) -> None:
    mine = pawl.write("mine.json", "{}\n")

    ran = pawl("schema", "--out", "mine.json")

    assert ran.code == 2
    assert "mine.json was not written by pawl" in ran.err
    assert mine.read_text() == "{}\n"


def test_a_new_machine_names_the_schema_beside_it_and_fits_it(pawl: Pawl) -> None:
    pawl("new", "order", "--out", "shop")
    pawl("new", "parcel", "--out", "shop")

    text = (pawl.folder / "shop" / "order.yaml").read_text()
    found = (pawl.folder / "shop" / "pawl.schema.json").read_text()

    assert text.startswith("# yaml-language-server: $schema=pawl.schema.json\n")
    jsonschema.validate(data(text), json.loads(found), jsonschema.Draft202012Validator)
    assert pawl("schema", "--check", "--out", "shop/pawl.schema.json").code == 0
