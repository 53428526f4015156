"""What a module says of the runtime that its agents want: `runtime_options`."""

from __future__ import annotations

import pytest

from cli.shell import Shell

BOOKED = '''\
from pawl import Agent, ToolContext, call, scripted, tool

class Books:
    def __init__(self) -> None:
        self.owner = "ann"

@tool(approval=True, recovery="replay")
def refund(cents: int, ctx: ToolContext[Books]) -> str:
    """Refund."""
    return f"{ctx.deps.owner} refunded {cents}"

clerk = Agent(name="clerk", model=scripted([call("refund", cents=5), "done"]), tools=[refund])
'''

HEARD = """\
def heard(event):
    with open("heard.txt", "a") as file:
        file.write(event.kind + "\\n")
"""


@pytest.mark.parametrize(
    "options",
    [
        'runtime_options = {"deps": Books()}',
        'def runtime_options():\n    return {"deps": Books()}',
        'async def runtime_options():\n    return {"deps": Books(), "close_timeout": 1.0}',
    ],
)
def test_deps_come_from_the_module(shell: Shell, options: str) -> None:
    shell.write("booked.py", f"{BOOKED}\n{options}\n")

    ran = shell("run", "booked:clerk", "go", "--json")
    assert ran.code == 3, ran.err
    approved = shell("approve", ran.json["execution_id"], "--app", "booked")

    assert approved.code == 0, approved.err
    assert "ann refunded 5" in approved.out


def test_a_listener_of_the_module_hears_beside_the_one_that_prints(shell: Shell) -> None:
    shell.write("booked.py", f"{BOOKED}\n{HEARD}\nruntime_options = {{'deps': Books(), 'on_event': heard}}\n")

    ran = shell("run", "booked", "go")

    assert "approval_required" in ran.out
    assert "approval_required" in (shell.folder / "heard.txt").read_text()


def test_who_has_no_deps_is_told_where_they_come_from(shell: Shell) -> None:
    shell.write("booked.py", BOOKED)

    ran = shell("run", "booked", "go")

    assert ran.code == 2
    assert "tool refund wants deps (ToolContext[Books])" in ran.err
    assert "booked: runtime_options = {'deps': …}" in ran.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("runtime_options = 5", "runtime_options of booked is of the type int; make it a dict"),
        ("runtime_options = {'dps': 5}", "runtime_options of booked has 'dps', which is none of its options: deps"),
        ("runtime_options = {'agents': []}", "has 'agents', which is none of its options"),
        ("def runtime_options():\n    return 1 / 0", "calling runtime_options of booked failed at "),
        ("def runtime_options():\n    return 1 / 0", "booked.py:15: ZeroDivisionError"),
        ("runtime_options = {'deps': Books(), 'on_event': 5}", "a listener is a plain function of an Event"),
    ],
)
def test_options_that_are_none_are_told_and_nothing_runs(shell: Shell, options: str, said: str) -> None:
    shell.write("booked.py", f"{BOOKED}\n{options}\n")

    ran = shell("run", "booked", "go")

    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
