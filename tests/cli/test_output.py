"""Plain lines for programs, colour for terminals, and text that is never markup."""

from __future__ import annotations

import io
import sys

import pytest

from pawl.tools.cli import main as command
from pawl.tools.cli import output
from pawl.tools.cli.grouping import HEADINGS
from pawl.tools.compiler.findings import Finding, Severity
from pawl.tools.compiler.model import Position

FOUND = Finding("E01", Severity.ERROR, Position("[a].yaml", 3, 7), "unknown [state] 'x' :smile:; did you mean 'y'?")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_finding_is_plain_where_nobody_sees_colour(capsys: pytest.CaptureFixture[str]) -> None:
    output.finding(FOUND)

    assert capsys.readouterr().err == f"{FOUND}\n"


def test_a_finding_on_a_terminal_has_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    output.finding(FOUND)

    shown = stream.getvalue()
    assert "\x1b[" in shown
    words = "".join(part.partition("m")[2] if index else part for index, part in enumerate(shown.split("\x1b[")))
    assert words == f"{FOUND}\n"


def test_a_diff_is_byte_for_byte_itself_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    output.diff("--- [a]\n+++ [b]\n@@ -1 +1 @@\n-x\n+[y]\n")

    assert capsys.readouterr().out == "--- [a]\n+++ [b]\n@@ -1 +1 @@\n-x\n+[y]\n"


def test_a_missing_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)

    with pytest.raises(SystemExit) as left:
        command.main(["--help"])

    assert left.value.code == 2
    assert capsys.readouterr().err.endswith("pip install 'pawl-fsm[tools]'\n")


def test_a_fault_of_ours_is_not_dressed_up_as_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "ROOMS", ("pawl.tools.cli.nowhere",))

    with pytest.raises(ModuleNotFoundError):
        command.main(["--help"])


def test_a_terminal_without_the_letters_gets_escapes_and_a_document_stays_utf8(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bytes_out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(bytes_out, encoding="ascii"))

    output.never_fail_to_print()
    output.out("größe →")
    output.raw("größe →\n")
    sys.stdout.flush()

    assert bytes_out.getvalue() == b"gr\\xf6\\xdfe \\u2192\n" + "größe →\n".encode()


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        command.main(["--version"])

    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("pawl")


def test_help_lists_every_command_once_under_a_heading(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--help"])
    listed: dict[str, list[str]] = {}
    heading = ""
    for line in capsys.readouterr().out.splitlines():
        if line and not line.startswith(" "):
            heading = line.removesuffix(":")
        elif heading in HEADINGS and line.startswith("  ") and line[2] != " ":
            listed.setdefault(heading, []).append(line.split()[0])

    app = command.build()
    made = [one.name or one.callback.__name__ for one in app.registered_commands if one.callback is not None]
    made += [
        str(group.name or group.typer_instance.info.name) for group in app.registered_groups if group.typer_instance
    ]
    assert tuple(listed) == HEADINGS
    assert sorted(name for names in listed.values() for name in names) == sorted(made)
    assert {"new", "watch"} <= set(listed["Machines"])
    assert {"run", "approve", "tail"} <= set(listed["Runs"])
    assert {"fsck", "gc", "dump", "load"} == set(listed["Store"])
    assert {"bench", "scenario"} <= set(listed["Development"])
