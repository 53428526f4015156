"""`pawl simulate`: how many seeds found nothing, or what one of them found, as a file that shows it again."""

from __future__ import annotations

import pytest

from cli.shell import Shell
from pawl.runtime.records.tools import ToolRow


def test_what_found_nothing_is_one_line(shell: Shell) -> None:
    ran = shell("simulate", "--seeds", "5", "-j", "1")

    assert ran.code == 0
    assert ran.out.startswith("5 seeds from 0 on memory: found nothing (")


def test_the_same_seeds_are_the_same_traces_on_every_store(shell: Shell) -> None:
    told = [
        shell("simulate", "--seeds", "5", "--start", "40", "--store", store, "-j", "1", "--json").json
        for store in ("memory", "memory", "sqlite")
    ]

    assert [(one["ok"], one["seeds"], one["start"]) for one in told] == [(True, 5, 40)] * 3
    assert len({one["trace_digest"] for one in told}) == 1


def test_a_finding_is_told_with_its_seed_its_command_and_a_file_that_shows_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToolRow, "repeatable", property(lambda row: True))
    ran = shell("simulate", "--seeds", "60", "-j", "1", "--json")

    assert ran.code == 1
    found = next(one for one in ran.json["violations"] if one["reproduces"])
    assert found["command"] == f"pawl simulate --seeds 1 --start {found['seed']}"
    shell.write("found.yaml", found["scenario"])
    order = [] if found["order"] is None else ["--seed", str(found["order"])]
    again = shell("scenario", "run", "found.yaml", *order)
    assert (again.code, "I14" in again.out) == (1, True)


def test_a_store_for_one_time_is_refused(shell: Shell) -> None:
    ran = shell("simulate", "--store", "sqlite:///new.db")

    assert ran.code == 2
    assert ran.err.startswith("pawl: --store sqlite:///new.db is for one time")
    assert shell("simulate", "--store", "memry").err.startswith("pawl: --store memry is no store, and many new ones")
