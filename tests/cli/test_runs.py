"""`pawl run`, `worker`, `ls` and `show`: exit codes, JSON, and what other processes see."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import attrs
import pytest

from cli.shell import CLERK, Shell, command, environment
from pawl import Runtime
from pawl.generated.agent_invocation import MACHINE
from pawl.runtime.fsm.table import Migration
from pawl.runtime.records import evolution
from pawl.tools.cli import opening

ENDINGS = '''\
from pawl import Agent, ModelError, call, scripted, tool

@tool(approval="reject")
def forbidden() -> str:
    """Nobody may."""
    return ""

@tool(on_error="fail")
def broken() -> str:
    """Breaks."""
    raise RuntimeError("out of \\x1b[31mstock")

done = Agent(name="done", model=scripted(["well\\x1b[2J done"]))
failed = Agent(name="failed", model=scripted([call("broken")]), tools=[broken])
rejected = Agent(name="rejected", model=scripted([call("forbidden")]), tools=[forbidden])
'''


@pytest.mark.parametrize(
    ("agent", "code", "said"),
    [("done", 0, "completed"), ("failed", 1, "failed"), ("rejected", 1, "rejected")],
)
def test_the_exit_code_says_how_a_run_ended(shell: Shell, agent: str, code: int, said: str) -> None:
    shell.write("endings.py", ENDINGS)

    ran = shell("run", f"endings:{agent}", "hello")

    assert ran.code == code
    assert f"\n{said}  x" in ran.out
    assert shell("run", f"endings:{agent}", "hello", "--json", "--db", "other.db").json["rest"] == said


def test_what_a_model_or_a_tool_says_cannot_move_the_cursor(shell: Shell) -> None:
    shell.write("endings.py", ENDINGS)

    told = [shell("run", "endings:done", "a\x1b]0;b"), shell("run", "endings:failed", "hello")]
    told += [shell("show", shell("ls", "--json").json["executions"][place]["execution_id"]) for place in (0, 1)]
    told.append(shell("ls"))

    assert all(ran.code in (0, 1) for ran in told)
    assert not any("\x1b" in ran.out + ran.err for ran in told)
    assert "well\\x1b[2J done" in told[0].out
    assert "a\\x1b]0;b" in told[4].out


def test_the_same_start_id_is_the_same_run(shell: Shell) -> None:
    first, _ = shell.started("--id", "r1")
    again, _ = shell.started("--id", "r1")

    assert again == first
    assert len(shell("ls", "--json").json["executions"]) == 1


def test_a_busy_agent_is_told_with_the_run_that_keeps_it(shell: Shell) -> None:
    name, _ = shell.started()

    ran = shell("run", "clerk", "more")

    assert ran.code == 1
    assert ran.err == (
        f"pawl: the agent is busy with execution {name} (suspended), and does one run at a time; that one waits: "
        f"`pawl show {name}` says for what, and how it goes on; `--agent ID` starts beside it\n"
    )


def test_another_logical_agent_runs_beside_it(shell: Shell) -> None:
    shell.started()
    shell.started("--agent", "second")

    assert {one["agent_id"] for one in shell("ls", "--json").json["executions"]} == {"clerk", "second"}
    (line,) = shell("ls", "--json", "--agent", "second").json["executions"]
    assert line["agent_id"] == "second"
    assert shell("ls", "--json", "--agent", "third").json["executions"] == []


def test_the_context_reaches_the_tools(shell: Shell) -> None:
    _, request = shell.started("--durable-context", '{"to": "ann"}')

    assert "paid 500 to ann" in shell("approve", request, "--app", "clerk").out


@pytest.mark.parametrize(("text", "why"), [("{", "is not JSON"), ("[1]", "must be a JSON object")])
def test_a_context_that_is_no_json_object_is_refused(shell: Shell, text: str, why: str) -> None:
    shell.write("clerk.py", CLERK)

    ran = shell("run", "clerk", "hello", "--durable-context", text)

    assert ran.code == 2
    assert why in ran.err
    assert not (shell.folder / "pawl.db").exists()


def test_the_input_may_come_from_stdin(shell: Shell) -> None:
    shell.write("clerk.py", CLERK)

    done = subprocess.run(
        command("run", "clerk", "-", "--json"), input="from a file", cwd=shell.folder, env=environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 3, done.stderr
    assert shell("show", json.loads(done.stdout)["execution_id"], "--json").json["input"] == "from a file"


def test_a_trace_shows_the_rows_on_stderr(shell: Shell) -> None:
    shell.write("clerk.py", CLERK)

    ran = shell("run", "clerk", "hello", "--trace")

    assert "calling_llm.committing -> calling_llm on committed" in ran.err
    assert "calling_llm" not in ran.out


def test_the_json_of_a_run_has_its_rest_and_its_events(shell: Shell) -> None:
    shell.write("clerk.py", CLERK)

    said = shell("run", "clerk", "hello", "--json").json

    assert said["rest"] == "suspended"
    assert said["undecided"] == ["c2", "c3"]
    assert [event["kind"] for event in said["events"]] == ["tool_call"] * 3 + ["approval_required"]


def test_the_json_of_show_has_all_that_is_on_disk(shell: Shell) -> None:
    name, request = shell.started("--id", "r1")

    said = shell("show", name[:8], "--json").json

    assert (said["execution_id"], said["start_id"], said["state"]) == (name, "r1", "suspended")
    on_disk = {key: said["on_disk"][key] for key in ("barrier", "status", "phase", "revision", "awaiting", "holder")}
    assert on_disk == {
        "barrier": "suspension", "status": "suspended", "phase": "approval", "revision": 2, "awaiting": "approval",
        "holder": "nobody",
    }  # fmt: skip
    assert said["request"]["id"] == request
    assert said["rest"]["undecided"] == ["c2", "c3"]
    assert [entry["revision"] for entry in said["journal"]] == [0, 1, 2, 2, 2]
    assert [row["tool_call_id"] for row in said["tools"]] == ["c1", "c2", "c3"]
    assert said["usage"] == {"input": 30, "output": 12, "answers": 1, "lost": 0, "model_calls": 1, "tool_calls": 3}


def test_what_is_open_is_listed_and_what_has_ended_is_not(shell: Shell) -> None:
    shell.write("endings.py", ENDINGS)
    shell("run", "endings:done", "one")
    name, _ = shell.started()

    listed = shell("ls", "--open", "--json").json["executions"]

    assert [one["execution_id"] for one in listed] == [name]
    assert [line.split()[2] for line in shell("ls").out.splitlines()] == ["STATE", "completed", "suspended"]


def test_the_last_ones_are_listed_and_the_others_are_counted(shell: Shell) -> None:
    shell.write("endings.py", ENDINGS)
    for number in range(3):
        shell("run", "endings:done", f"number {number}", "--agent", str(number))

    ran = shell("ls", "--limit", "2")

    assert [line.rpartition(" ")[2] for line in ran.out.splitlines()[1:]] == ["1", "2"]
    assert ran.err == "1 earlier ones are not shown; `--limit 3` shows them\n"
    assert shell("ls", "--limit", "2", "--json").json["earlier"] == 1


def test_an_empty_store_is_no_error(shell: Shell) -> None:
    shell.write("endings.py", ENDINGS)
    shell("run", "endings:done", "one")

    ran = shell("ls", "--open")

    assert (ran.code, ran.out, ran.err) == (0, "", "no open executions\n")


def test_the_diagram_shows_where_a_run_stands_and_how_it_came_there(shell: Shell) -> None:
    name, _ = shell.started()

    assert shell("show", name, "--diagram", "here.svg").code == 0
    assert shell("show", name, "--diagram", "here.dot").code == 0
    assert "<svg" in (shell.folder / "here.svg").read_text(encoding="utf-8")
    suspended = [line for line in (shell.folder / "here.dot").read_text(encoding="utf-8").splitlines()
                 if 'tooltip=suspended' in line]  # fmt: skip
    assert len(suspended) == 1
    assert "penwidth=3" in suspended[0]
    assert (shell.folder / "here.dot").read_text(encoding="utf-8").count("penwidth=2.2") > 8
    assert shell("show", name, "--diagram", "here.png").code == 2


def test_an_open_run_of_another_pawl_is_shown_as_one(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    name, request = shell.started()
    assert "this Pawl has another" not in shell("show", name).out
    why = f"execution {name} was written under agent_invocation {MACHINE.spec_hash[:12]}, this is agent_invocation 0000"

    with monkeypatch.context() as patched:
        patched.setattr(evolution, "MACHINE", attrs.evolve(MACHINE, spec_hash="0" * 64))
        said = shell("show", name).out
        assert "; this Pawl has another, and leaves the run to the version that wrote it\n" in said
        assert f"left alone  {why}" in said
        assert "pawl approve" not in said
        listed = shell("ls")
        assert "suspended, left alone" in listed.out
        assert listed.err.startswith(f"left alone: {why}")
        assert shell("show", name, "--json").json["on_disk"]["refused"].startswith(why)
        assert shell("ls", "--json").json["executions"][0]["refused"].startswith(why)
        for app in ((), ("--app", "clerk")):
            refused = shell("reject", request, *app)
            assert (refused.code, why in refused.err) == (1, True)
        noted = shell("cancel", name)
        assert (noted.code, "by a Pawl of the version that wrote the run" in noted.out) == (0, True)

    assert shell("show", name, "--json").json["on_disk"]["refused"] is None
    assert shell("reject", request, "--app", "clerk").code == 1
    assert "this Pawl has another" not in shell("show", name).out


def test_a_run_that_another_pawl_wrote_and_this_one_takes_over_is_shown_as_one(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, request = shell.started()
    before = Migration(MACHINE.spec_hash[:12], 1, compatible=True)
    newer = attrs.evolve(MACHINE, spec_hash="0" * 64, migrations=(before,))
    monkeypatch.setattr(evolution, "MACHINE", newer)

    said = shell("show", name).out
    assert "; this Pawl has another, and goes on with the run, in 'suspended'\n" in said
    assert "pawl approve" in said
    assert ", left alone" not in shell("ls").out
    assert shell("approve", request).code == 0
    assert shell("show", name, "--json").json["on_disk"]["spec_hash"] == "0" * 64


def test_a_worker_goes_on_with_what_was_decided_elsewhere_until_it_is_told_to_stop(shell: Shell) -> None:
    name, request = shell.started()
    assert shell("approve", request).code == 0
    assert shell("show", name, "--json").json["state"] == "unclaimed"

    with subprocess.Popen(
        command("worker", "clerk"), cwd=shell.folder, env=environment() | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, text=True,
    ) as worker:  # fmt: skip
        try:
            assert worker.stdout is not None
            said = next(line for line in worker.stdout if "done" in line)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(30) == 0
        finally:
            worker.kill()

    assert name[:9] in said
    assert shell("show", name, "--json").json["state"] == "completed"


SLOW = """\
import asyncio
from pawl import Agent, call, scripted, tool


async def asked(request):
    print("asked", flush=True)
    await asyncio.get_running_loop().create_future()


@tool(approval=True)
def pay(cents: int) -> str:
    return "paid"


slow = Agent(name="slow", model=scripted([asked]))
payer = Agent(name="payer", model=scripted([call("pay", cents=5), asked]), tools=[pay])
"""


def test_a_run_that_is_cancelled_from_outside_is_stopped_by_the_process_that_runs_it(shell: Shell) -> None:
    shell.write("slow.py", SLOW)
    with subprocess.Popen(
        command("run", "slow:slow", "hello"), cwd=shell.folder, env=environment() | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, text=True,
    ) as run:  # fmt: skip
        try:
            assert run.stdout is not None
            assert "asked\n" in iter(run.stdout.readline, "")
            (one,) = shell("ls", "--json").json["executions"]
            ran = shell("cancel", one["execution_id"])
            said, _ = run.communicate(timeout=30)
        finally:
            run.kill()

    assert ran.out.endswith("recorded; the process that runs it stops it\n")
    assert run.returncode == 1
    assert f"cancelled  {one['execution_id']}" in said


def interrupted_twice(shell: Shell, *words: str) -> str:
    """What a command says on stderr when Ctrl-C is pressed twice while its model is being asked."""
    with subprocess.Popen(
        command(*words), cwd=shell.folder, env=environment() | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as run:  # fmt: skip
        try:
            assert run.stdout is not None
            assert "asked\n" in iter(run.stdout.readline, "")
            run.send_signal(signal.SIGINT)
            assert run.stderr is not None
            assert "Ctrl-C again stops at once" in run.stderr.readline()
            run.send_signal(signal.SIGINT)
            _, said = run.communicate(timeout=30)
        finally:
            run.kill()
    assert run.returncode == 130
    assert "Traceback" not in said
    return said


def test_a_run_that_is_interrupted_twice_is_on_record_and_says_how_to_go_on(shell: Shell) -> None:
    shell.write("slow.py", SLOW)

    said = interrupted_twice(shell, "run", "slow:slow", "hello")

    (one,) = shell("ls", "--json").json["executions"]
    assert one["state"] == "unclaimed"
    assert f"interrupted: {one['execution_id']} is on record" in said
    assert "pawl worker slow:slow" in said


def test_an_answer_that_is_interrupted_while_it_goes_on_says_how_to_go_on(shell: Shell) -> None:
    shell.write("slow.py", SLOW)
    ran = shell("run", "slow:payer", "hello", "--json")

    said = interrupted_twice(shell, "approve", ran.json["request"]["id"], "--app", "slow:payer")

    assert f"interrupted: {ran.json['execution_id']} is on record" in said
    assert "pawl worker slow:payer" in said


BESIDE = '''\
import asyncio, os, signal
from pawl import Agent, ToolContext, call, scripted, tool


@tool(recovery="replay")
async def mail(to: str, ctx: ToolContext) -> str:
    """Mail; the first time, the process dies."""
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for _ in range(100):
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)
    return f"mailed {to}"


def answer(request):
    return call("mail", to="ann") if request.messages[-1].text == "mail it" else "done"


beside = Agent(name="beside", model=scripted([answer, "mailed"]), tools=[mail])
'''


def test_what_a_run_adopts_beside_itself_is_not_left_in_the_middle_of_a_call(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.write("beside.py", BESIDE)
    assert shell.process("run", "beside", "mail it", "--agent", "first").code == -9
    monkeypatch.setattr(opening, "Runtime", partial(Runtime, close_timeout=0))

    assert shell("run", "beside", "hello", "--agent", "second").code == 0

    assert [one["state"] for one in shell("ls", "--json").json["executions"]] == ["completed", "completed"]


def test_a_run_that_keeps_the_agent_goes_on_first_and_that_is_said(shell: Shell) -> None:
    shell.write("beside.py", BESIDE.replace('"mailed"]', '"mailed", "hello to you"]'))
    assert shell.process("run", "beside", "mail it").code == -9
    (left,) = shell("ls", "--json").json["executions"]

    ran = shell("run", "beside", "hello")

    assert ran.code == 0, ran.err
    note = f"note: execution {left['execution_id']} of this agent was left open by another process; it "
    assert f"{note}goes on here first\n" in ran.err
    assert f"{note.replace(' of this agent', '')}went on here, and ended: done completed\n" in ran.err
    assert [one["state"] for one in shell("ls", "--json").json["executions"]] == ["completed", "completed"]


def test_a_run_that_another_process_left_and_that_asks_is_told_with_what_to_do(shell: Shell) -> None:
    name = shell.crashed()

    ran = shell("run", "crasher", "again")

    assert ran.code == 1
    assert f"the agent is busy with execution {name} (" in ran.err
    assert f"that one waits: `pawl show {name}` says for what" in ran.err


def test_help_is_quick_and_knows_nothing_of_the_runtime(tmp_path: Path) -> None:
    program = (
        "import sys; from pawl.tools.cli.main import build; build();"
        "print([name for name in sys.modules if name.startswith('pawl.runtime')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["run", "worker", "ls", "show", "approve", "reject", "cancel", "resolve", "demo"])
def test_every_command_is_taught_with_examples(shell: Shell, name: str) -> None:
    ran = shell(name, "--help")

    assert ran.code == 0
    assert f"pawl {name}" in ran.out.partition("Examples:")[2]
