"""What is found wrong with fragments and includes: where, how often, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compiler.parts import COURIER, NIGHT, RETRY, TWICE, WHOLE, compiled, said, written
from compiler.specs import edited
from pawl.tools.compiler.compile import compile_files


def test_a_finding_in_a_fragment_is_told_once_for_all_machines_and_refuses_each_of_them(tmp_path: Path) -> None:
    other = edited(COURIER, ("machine: courier", "machine: bearer"))
    broken = edited(RETRY, ("to: pausing", "to: pausng"))
    result = compiled(tmp_path, bearer=other, courier=COURIER, retry=broken)
    assert [f"{Path(f.position.file).name}:{f.position.line} {f.rule}" for f in result.findings] == [
        "retry.yaml:12 E01"
    ]
    assert result.machines == ()
    assert str(result.findings[0]).endswith(f"(used in {tmp_path / 'bearer.yaml'}:6:5)")


def test_a_broken_fragment_leaves_other_machines_alone(tmp_path: Path) -> None:
    alone = edited(WHOLE, ("machine: door", "machine: gate"))
    result = compiled(tmp_path, courier=COURIER, gate=alone, retry=RETRY.replace("from: trying", "frm: trying"))
    assert [machine.name for machine in result.machines] == ["gate"]
    assert {finding.rule for finding in result.findings} == {"Y12"}


def test_a_fragment_that_is_included_from_elsewhere_is_read_once(tmp_path: Path) -> None:
    paths = written(tmp_path, twice=TWICE, courier=COURIER, parts__night=NIGHT, retry=RETRY)
    result = compile_files(paths)
    assert result.findings == ()
    assert sorted(Path(file).name for file in result.included) == ["night.yaml", "retry.yaml"]
    assert compile_files(paths[:2]) == result


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(RETRY)
    inside = tmp_path / "specs"
    inside.mkdir()
    (inside / "retry.yaml").symlink_to(tmp_path / "secret.yaml")
    (finding,) = compiled(inside, courier=COURIER).findings
    assert (finding.rule, finding.position.line) == ("Y16", 4)
    assert "outside of the folder" in finding.message


def test_a_folder_a_device_and_an_unreadable_path_are_no_fragments(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    for include in ("folder.yaml", "x/" * 3000 + "a.yaml"):
        (finding,) = compiled(tmp_path, courier=edited(COURIER, ("retry.yaml", include))).findings
        assert (finding.rule, finding.position.line) == ("Y16", 4)


def test_what_lies_where_a_fragment_should_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "gone.yaml").symlink_to("nowhere.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    for include, told in (
        ("folder.yaml", "'folder.yaml' is a folder"),
        ("loop.yaml", "'loop.yaml' is a link that leads round to itself"),
        ("gone.yaml", "'gone.yaml' is a link to a file that is not there"),
        ("pipe.yaml", "'pipe.yaml' is no regular file"),
    ):
        (finding,) = compiled(tmp_path, courier=edited(COURIER, ("retry.yaml", include))).findings
        assert (finding.rule, finding.position.line) == ("Y16", 4)
        assert finding.message.startswith(told)


def test_includes_lead_so_deep_and_no_deeper(tmp_path: Path) -> None:
    chain = {f"f{n}": f"pawl: 1\nfragment: f{n}\ninclude: f{n + 1}.yaml\nuse: f{n + 1}\n" for n in range(40)}
    door = edited(WHOLE, ("version: 1\n", "version: 1\ninclude: f0.yaml\nuse: f0\n"))
    written(tmp_path, **chain)
    assert said(tmp_path, door=door) == ["f15.yaml:3 Y16"]
    written(tmp_path, f12="pawl: 1\nfragment: f12\n")
    assert said(tmp_path, door=door) == []


def test_files_that_include_each_other_in_very_many_ways_are_read_once_each(tmp_path: Path) -> None:
    wide = 12
    for level in range(15):
        below = [f"l{level + 1}n{n}" for n in range(wide)] if level < 14 else []
        include = (
            f"include: [{', '.join(f'{name}.yaml' for name in below)}]\nuse: [{', '.join(below)}]\n" if below else ""
        )
        for n in range(wide):
            written(tmp_path, **{f"l{level}n{n}": f"pawl: 1\nfragment: l{level}n{n}\n{include}"})
    door = edited(WHOLE, ("version: 1\n", "version: 1\ninclude: l0n0.yaml\nuse: l0n0\n"))
    assert said(tmp_path, door=door) == []
    assert len(compiled(tmp_path, door=edited(door, ("use: l0n0\n", ""))).included) == 14 * wide + 1


def test_a_file_includes_so_many_and_no_more(tmp_path: Path) -> None:
    names = ", ".join(f"f{n}.yaml" for n in range(5000))
    result = compiled(tmp_path, door=edited(WHOLE, ("version: 1\n", f"version: 1\ninclude: [{names}]\n")))
    assert {finding.rule for finding in result.findings} == {"Y16"}
    assert len(result.findings) == 101


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("to: done", "to: doen"), ["retry.yaml:11 E01"]),
        (("initial: true, ", ""), []),
        (("pausing: {", "pausing: {initial: true, "), ["retry.yaml:7 E03"]),
        (("pausing: {", "pausing: {final: true, "), ["retry.yaml:7 E04", "retry.yaml:14 E04"]),
        (("parameters: {", "parameters: {late: , "), []),
        (("when: may_try_again", "when: attempt"), []),
        (
            ("  - {from: trying, on: late, to: failed}\n", "  - {from: trying, on: late, to: failed}\n" * 2),
            ["retry.yaml:14 E08"],
        ),
        (("pausing: {", "pausing: {barrier: write, "), ["retry.yaml:7 E14"]),
        (("pausing: {", "pausing: {barrier: write, refused: failed, stop: done, "), []),
        (("on: worked", "on: what_the_user_declares"), []),
    ],
)
def test_a_fragment_that_nothing_uses_is_checked_as_far_as_it_goes_alone(
    tmp_path: Path, change: tuple[str, str], found: list[str]
) -> None:
    assert said(tmp_path, retry=edited(RETRY, change)) == found
    assert not any(each.position.uses for each in compiled(tmp_path, retry=edited(RETRY, change)).findings)


def test_a_fragment_that_is_used_is_not_checked_alone_as_well(tmp_path: Path) -> None:
    broken = edited(RETRY, ("to: pausing", "to: pausng"))
    assert said(tmp_path, courier=COURIER, retry=broken) == ["retry.yaml:12 E01"]
    assert compiled(tmp_path, courier=COURIER, retry=broken).findings[0].position.uses


def test_one_that_includes_others_is_not_followed_alone(tmp_path: Path) -> None:
    assert said(tmp_path, night=edited(NIGHT, ("to: gone", "to: went"))) == []
