"""Large arguments and results in a run: a thread reads and writes them, and where none is free the loop does."""

from __future__ import annotations

import json
import threading
from typing import Any

import attrs
import pytest

from pawl import Agent, Cancelled, Completed, ModelAnswer, ToolCall, scripted, sync, tool
from pawl.runtime.simulation.world import World

WHERE: list[str] = []


@attrs.frozen
class Point:
    x: int

    def __attrs_post_init__(self) -> None:
        WHERE.append(threading.current_thread().name)


@tool
async def count(points: list[Point]) -> str:
    """Count points."""
    return str(len(points))


@tool(redact=["points"])
async def hide(points: list[Point]) -> str:
    """Count points in secret."""
    return str(len(points))


@tool
async def many(n: int) -> list[dict[str, int]]:
    """Return many."""
    return [{"x": at} for at in range(n)]


MUCH = json.dumps({"points": [{"x": at} for at in range(1200)]})


def asking(name: str, raw: str) -> Agent:
    answer = ModelAnswer(calls=(ToolCall("c1", name, raw),))
    return Agent(
        name="a", model=scripted([answer, lambda request: request.messages[-1].text]), tools=[count, hide, many]
    )


@pytest.mark.parametrize("name", ["count", "hide"])
@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/runs.db"])
def test_no_constructor_of_large_arguments_runs_on_the_loop(name: str, url: str, tmp_path: Any) -> None:
    agent = asking(name, MUCH)
    WHERE.clear()
    with sync.Runtime(url.format(tmp_path), agents=[agent]) as runtime:
        end = runtime.run(agent, "go")
        assert isinstance(end, Completed)
        assert end.output == "1200"
    assert len(WHERE) == 2 * 1200  # to see whether they fit, and for the body
    assert set(WHERE) == {"pawl-offload"}


def test_a_large_result_is_written_off_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = asking("many", '{"n": 1000}')
    where: list[str] = []
    written = type(many).result_text

    def noted(self: Any, value: object) -> str:
        where.append(threading.current_thread().name)
        return written(self, value)

    monkeypatch.setattr(type(many), "result_text", noted)
    with sync.Runtime("memory://", agents=[agent]) as runtime:
        end = runtime.run(agent, "go")
        assert isinstance(end, Completed)
        assert end.output.startswith('[{"x":0},')
    assert where == ["pawl-offload"]


@pytest.mark.parametrize("raw", [MUCH, '{"points": [' + "7, " * 5000 + "7]}"])
def test_read_by_a_thread_or_by_the_loop_it_comes_to_the_same(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = []
    for full in (False, True):
        agent = asking("count", raw)
        with World(agent) as world:
            process = world.open()
            process.environment.full = full
            end = process.do(process.runtime.run(agent, "go"))
            assert isinstance(end, Completed)
            outputs.append((end.output, [(str(one.kind), one.body) for one in world.journal("a")]))
    assert outputs[0] == outputs[1]


def test_where_no_thread_comes_free_the_loop_reads_after_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = asking("count", MUCH)
    with World(agent) as world:
        process = world.open()
        read, waiting = process.environment.read, []

        class Queued:
            """A body that waits for a thread for as long as it likes."""

            def __init__(self, body: Any, done: Any) -> None:
                waiting.append(body)
                self._skip = lambda: read(_never, lambda *_: done(None, RuntimeError("skipped")))

            def cancel(self) -> bool:
                self._skip()
                return True

        monkeypatch.setattr(
            process.environment, "offload", lambda body, done: Queued(body, done) if not waiting else read(body, done)
        )
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Completed)
        assert end.output == "1200"
        assert 5 <= world.clock.time < 6


def _never() -> None:
    """A body that is skipped."""


def test_a_cancellation_while_a_large_result_is_written_is_too_late_for_the_call() -> None:
    agent = asking("many", '{"n": 1000}')
    with World(agent) as world:
        process = world.open()
        offload = process.environment.offload
        process.environment.offload = lambda body, done: process.environment.later(9, lambda: offload(body, done))  # type: ignore[assignment,method-assign,return-value]
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(1)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution.terminal()), Cancelled)
        (row,) = world.rows(execution.id)
        assert row.status == "completed"
        assert 9 <= world.clock.time < 10
