"""Options of all commands, side by side: one name is one thing, told in one way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pawl.tools.cli.main import build


def _options(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Each with the command that it is of. Typer may have a click of its own, so types are not looked at."""
    for each, inner in getattr(command, "commands", {}).items():
        yield from _options(inner, f"{name} {each}")
    yield from ((name, one) for one in command.params if one.param_type_name == "option" and one.name != "help")


OPTIONS = tuple(_options(typer.main.get_command(build()), "pawl"))


def test_an_option_has_the_same_short_form_wherever_it_is() -> None:
    forms = defaultdict(set)
    for _, option in OPTIONS:
        names = sorted(option.opts, key=len, reverse=True)
        forms[names[0]].add(tuple(names[1:]))
    assert {name: short for name, short in forms.items() if len(short) > 1} == {}


def test_a_short_form_stands_for_one_option() -> None:
    longs = defaultdict(set)
    for _, option in OPTIONS:
        for short in (one for one in option.opts if len(one) == 2):
            longs[short].add(max(option.opts, key=len))
    assert {short: names for short, names in longs.items() if len(names) > 1} == {}


def test_whatever_takes_a_value_says_of_what_kind() -> None:
    silent = [(name, option.opts[0]) for name, option in OPTIONS if not option.is_flag and option.metavar is None]
    assert silent == [("pawl diagram", "--format")]  # its help lists what it can be


def test_what_is_written_goes_where_out_says() -> None:
    said = {(name, option.metavar) for name, option in OPTIONS if "--out" in option.opts}
    assert {kind for _, kind in said} == {"FILE", "FOLDER"}
    assert [name for name, option in OPTIONS if {"--output", "--dir", "--folder", "--file"} & set(option.opts)] == []


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("scenario run", "FILE..."),
        ("coverage", "FILES..."),
        ("check", "[SPECS]..."),
        ("run", "MODULE[:ATTR] INPUT"),
        ("resolve", "ID SUBJECT outcome"),
    ],
)
def test_help_calls_an_argument_what_it_is_and_by_no_type_of_python(command: str, usage: str) -> None:
    ran = CliRunner().invoke(build(), [*command.split(), "--help"], prog_name="pawl")
    assert ran.output.splitlines()[0].strip() == f"Usage: pawl {command} [OPTIONS] {usage}"
    assert not {"<list[", "<str>", "<path>"} & set(ran.output.split())
    assert "list[" not in ran.output
