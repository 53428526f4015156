"""Types are API: what type checkers know of an agent's output, all the way to the value."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

SNIPPET = """
import asyncio
import dataclasses
from typing import Annotated, Literal, Optional

import attrs
from typing_extensions import assert_never, assert_type

from pawl import Agent, AgentHandle, Completed, Execution, NeedsResolution, Outcome, Rest, Runtime, Suspended, scripted
from pawl import sync
from pawl.testing import World


@attrs.frozen
class Weather:
    city: str


@dataclasses.dataclass
class Point:
    x: float


model = scripted(["x"])
text = Agent(name="text", model=model)
weather = Agent(name="weather", model=model, output_type=Weather)
points = Agent(name="points", model=model, output_type=list[Point])
assert_type(text, Agent[str])
assert_type(weather, Agent[Weather])
assert_type(points, Agent[list[Point]])
either = Agent(name="either", model=model, output_type=int | Weather)
word = Agent(name="word", model=model, output_type=Literal["yes", "no"])
assert_type(either, Agent[int | Weather])
assert_type(word, Agent[Literal["yes", "no"]])
assert_type(Agent(name="noted", model=model, output_type=Annotated[int, "in cents"]), Agent[int])
assert_type(Agent(name="perhaps", model=model, output_type=dict[str, int] | None), Agent[dict[str, int] | None])
assert_type(Agent(name="older", model=model, output_type=Optional[Weather]), Agent[Weather | None])
Agent(name="value", model=model, output_type=5)  # WRONG


def one_of(value: int | Weather) -> str:
    return str(value) if isinstance(value, int) else value.city


async def unions(runtime: Runtime) -> None:
    rest = await runtime.run(either, "?")
    if isinstance(rest, Completed):
        one_of(rest.value)
    said = await runtime.run(word, "?")
    if isinstance(said, Completed):
        assert_type(said.value, Literal["yes", "no"])


def city(rest: Rest[Weather]) -> str:
    match rest:
        case Completed(value=value):
            return value.city
        case Suspended(request=request):
            return request.id
        case NeedsResolution():
            return ""
        case _:
            return "" if rest.execution_id else assert_type(rest.agent_id, str)


async def main() -> None:
    async with Runtime("memory://", agents=[text, weather, points]) as runtime:
        handle = await runtime.open(weather, "w")
        assert_type(handle, AgentHandle[Weather])
        execution = await handle.start("?")
        assert_type(execution, Execution[Weather])
        assert_type(await execution, Rest[Weather])
        assert_type(await execution.terminal(), Outcome[Weather])
        city(await runtime.run(weather, "?"))
        city(await execution.decide(approve=True))
        end = await (await runtime.start(points, "?")).terminal()
        if isinstance(end, Completed):
            assert_type(end.value, list[Point])
        plain = await runtime.run(text, "?")
        if isinstance(plain, Completed):
            assert_type(plain.value, str)
        city(plain)  # WRONG
        await runtime.run("weather", "?")  # WRONG


def blocking() -> None:
    with sync.Runtime("memory://", agents=[weather]) as runtime:
        city(runtime.run(weather, "?"))
        city(runtime.open(weather, "w").start("?").wait())
        city(runtime.run(points, "?"))  # WRONG


def tested() -> None:
    with World(text, weather, points) as world:
        world.restart(weather, points)


def exhaustive(rest: Outcome[Weather]) -> None:
    match rest:
        case Completed():
            pass
        case _:
            assert_never(rest)  # WRONG


asyncio.run(main())
"""

WRONG = {number for number, line in enumerate(SNIPPET.splitlines(), 1) if line.endswith("# WRONG")}


@pytest.fixture
def snippet(tmp_path: pathlib.Path) -> pathlib.Path:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    return file


def test_mypy_knows_the_value_of_every_agent(snippet: pathlib.Path) -> None:
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--hide-error-context", str(snippet)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = {
        int(line.split(":")[1])
        for line in done.stdout.splitlines()
        if line.split(":")[0].endswith("snippet.py") and ": error: " in line
    }
    assert found == WRONG, done.stdout + done.stderr


def test_pyright_in_strict_mode_knows_the_value_of_every_agent(snippet: pathlib.Path) -> None:
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT / ".src")]}
    (snippet.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, str(snippet)]
    done = subprocess.run(command, cwd=snippet.parent, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    found = {
        problem["range"]["start"]["line"] + 1
        for problem in report["generalDiagnostics"]
        if problem["severity"] == "error"
    }
    assert found == WRONG, done.stdout
