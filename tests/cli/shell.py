"""Running `pawl` in a test: in this process, in another one, or as a story that is compared with a golden file."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pawl.tools.cli.main import main

SOURCES = Path(__file__).parents[2] / ".src"
GOLDEN = Path(__file__).parents[1] / "golden" / "cli"

CLERK = '''\
"""A clerk who adds at once, and pays when somebody has said so."""

from pawl import Agent, ToolContext, Usage, call, calls, scripted, tool


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(approval=True, recovery="replay")
def pay(cents: int, ctx: ToolContext) -> str:
    """Pay."""
    return f"paid {cents} to {ctx.durable_context.get('to', 'nobody')}"


clerk = Agent(
    name="clerk",
    model=scripted([
        calls(call("add", a=1, b=2), call("pay", cents=500), call("pay", cents=7), usage=Usage(30, 12)),
        "all [bold]done[/bold]",
        "second",
    ]),
    tools=[add, pay],
)
'''

CRASHER = '''\
"""An agent one of whose tools takes its process down, the first time."""

import os
import signal

from pawl import Agent, ToolContext, call, calls, scripted, tool


@tool
def charge(cents: int, ctx: ToolContext) -> str:
    """Charge a card. There is no telling whether it happened."""
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"charged {cents}"


crasher = Agent(name="crasher", model=scripted([call("charge", cents=5), "done"]), tools=[charge])
'''


class Ran(NamedTuple):
    """What a command left: its exit code and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What stands on stdout, and nothing beside it."""
        return json.loads(self.out)


class Shell:
    """Runs commands in a folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def __call__(self, *arguments: str) -> Ran:
        """`pawl …` in this process."""
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(arguments)
        said = self._capsys.readouterr()
        code = left.value.code
        return Ran(code if isinstance(code, int) else int(code is not None), said.out, said.err)

    def process(self, *arguments: str) -> Ran:
        """`pawl …` in a process of its own."""
        done = subprocess.run(
            command(*arguments), cwd=self.folder, env=environment(), capture_output=True, text=True, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, text: str) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def started(self, *options: str) -> tuple[str, str]:
        """A run of the clerk that waits for decisions; the ids of the execution and of its request."""
        if not (self.folder / "clerk.py").exists():
            self.write("clerk.py", CLERK)
        rest = self("run", "clerk", "hello", "--json", *options)
        assert rest.code == 3, rest.err
        return rest.json["execution_id"], rest.json["request"]["id"]

    def crashed(self) -> str:
        """A run whose process died inside a tool; its id."""
        self.write("crasher.py", CRASHER)
        assert self.process("run", "crasher", "charge it", "--id", "r1").code == -9
        (found,) = self("ls", "--json").json["executions"]
        name: str = found["execution_id"]
        return name

    def story(self, commands: Sequence[str], values: Callable[[], dict[str, str]]) -> str:
        """The commands, each with what it said and its exit code, as one text with ids and times made the same."""
        told = []
        for line in commands:
            words = line
            for name, value in values().items():
                words = words.replace(f"{{{name}}}", value)
            ran = self(*shlex.split(words))
            told.append(f"$ pawl {line}\n{ran.out}{ran.err}[exit {ran.code}]\n")
        return normal("\n".join(told))


def command(*arguments: str) -> list[str]:
    """`pawl …` as an operating system's process."""
    return [sys.executable, "-m", "pawl.tools.cli.main", *arguments]


def environment() -> dict[str, str]:
    """The environment of a process: this checkout, and no settings."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith("PAWL_")}
    return {**ours, "PYTHONPATH": str(SOURCES), "TZ": "UTC"}


def normal(text: str) -> str:
    """`text` with what differs between two runs replaced, the same for the same."""
    for kind, pattern in (
        ("execution", r"\bx[0-9a-f]{32}\b"), ("request", r"request-[0-9a-f]{32}"), ("key", r"key-[0-9a-f]{32}"),
    ):  # fmt: skip
        known = list(dict.fromkeys(re.findall(pattern, text)))
        for place, name in enumerate(known, 1):
            text = text.replace(name, f"<{kind} {place}>")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}", "<moment>", text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\.\d{3}\b", "<time>      ", text)
    text = re.sub(r"\b\d+\.\d (ms|s)\b", "<span>", text)
    text = re.sub(r"agent_invocation [0-9a-f]{12}", "agent_invocation <hash>", text)
    return re.sub(r"pid \d+ on \S+, (\w+)", r"pid <pid>, \1", text)


def agrees(name: str, text: str, rewrite: bool) -> None:
    """`text` is what the golden file holds; with --rewrite it becomes that."""
    path = GOLDEN / name
    if rewrite:
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.is_file(), f"{path} is missing: run pytest --rewrite, then read it"
    assert path.read_text(encoding="utf-8") == text, f"{path} differs: run pytest --rewrite, then read the diff"
