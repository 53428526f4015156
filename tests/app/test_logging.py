"""What the library logs: where a run stands, with its ids, and never what people, models or tools said."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from pawl import (
    Agent,
    Completed,
    Event,
    Failed,
    ModelAnswer,
    ModelError,
    Runtime,
    Suspended,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.loop.log import about, place_of
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World

SECRET = "hunter2-4711"


@tool(recovery="replay")
def use(password: str) -> str:
    """Use it, and give it back."""
    return f"used {password}"


@tool(approval=True, recovery="replay")
def approve_use(password: str) -> str:
    """Approved."""
    return f"used {password}"


@tool
def break_on(password: str) -> str:
    """Fails, and says with what."""
    raise ValueError(f"cannot use {password}")


def whispering(*answers: Any, **options: Any) -> Agent:
    script = answers or (
        ModelError(f"busy with {SECRET}", retry_safe=True),
        calls(call("use", password=SECRET), call("break_on", password=SECRET), call("approve_use", password=SECRET)),
        f"done with {SECRET}",
    )
    return Agent(
        name="a",
        model=scripted(script, record=False),
        tools=[use, break_on, approve_use],
        instructions=f"know {SECRET}",
        model_recovery="replay",
        **options,
    )


def listener(event: Event) -> None:
    if event.kind == "tool_result":
        raise ValueError(f"heard {SECRET} in {event.data}")


def trace(*_: object) -> None:
    raise ValueError(f"saw {SECRET}")


def see_through(agent: Agent, *faults: Fault, **options: Any) -> Any:
    with World(agent, faults=faults, **options) as world:
        for _ in range(8):
            process = world.ready()
            start = process.begin(
                process.runtime.start(agent, f"say {SECRET}", id="r1", durable_context={"password": SECRET})
            )
            world.advance(40)
            if not start.done() or start.exception() is not None or not process.alive:
                continue
            rest = process.begin(process.runtime.result(start.result().id))
            world.advance(10)
            found = rest.result() if rest.done() and not rest.exception() else None
            if isinstance(found, Suspended):
                process.begin(process.runtime.decide(found.request.id, approve=True, message=f"as {SECRET} said"))
                world.advance(40)
            elif found is not None:
                return found
    return None


SCENARIOS: dict[str, Callable[[], Any]] = {
    "a run": lambda: see_through(whispering()),
    "a listener that raises": lambda: see_through(whispering(), on_event=listener),
    "a listener that fails the run": lambda: see_through(whispering(), on_event=listener, on_listener_error="fail"),
    "a store that is away": lambda: see_through(whispering(), Fault("provider_dispatch#1", "unavailable", times=4)),
    "a lost reply": lambda: see_through(whispering(), Fault("tool_dispatch#1", "lose_reply_committed")),
    "a refusal": lambda: see_through(
        whispering(), Fault("outcome#1", "refuse", error=ValueError(f"no {SECRET} in here"))
    ),
    "a refusal that closes the run": lambda: see_through(
        whispering(), Fault("outcome#1", "refuse", error=RuntimeError(f"no {SECRET} in here"))
    ),
    "a lost process": lambda: see_through(whispering(), Fault("tool_outcome#1", "crash_before_commit")),
    "another owner": lambda: see_through(whispering(), Fault("tool_dispatch#1", "superseded")),
    "a model that fails": lambda: see_through(whispering(ModelError(f"no {SECRET}"), "never")),
    "a provider with a bug": lambda: see_through(whispering(ValueError(f"no {SECRET}"), "never")),
    "a deadline": lambda: see_through(whispering(run_timeout=0.001)),
    "an expiry": lambda: see_through(whispering(approval_timeout=1)),
}


def told(records: Iterable[logging.LogRecord]) -> list[str]:
    formatter = logging.Formatter("%(message)s")
    return [f"{formatter.format(record)} {sorted(record.__dict__.items())}" for record in records]


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_record_holds_a_secret(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        SCENARIOS[name]()
    ours = [record for record in caplog.records if record.name.startswith("pawl")]
    assert ours, "nothing was logged"
    said = told(record for record in ours if record.name != "pawl.app")
    assert [line for line in said if SECRET in line] == []
    # What application code raised is told with its text at DEBUG alone, and under a name of its own.
    assert all(record.levelno == logging.DEBUG for record in ours if record.name == "pawl.app")


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_record_about_a_run_carries_its_ids(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        SCENARIOS[name]()
    for record in caplog.records:
        if record.name in ("pawl.execution", "pawl.events"):
            if "the trace" in record.getMessage():
                continue
            assert str(record.__dict__["execution_id"]).startswith("x")
            assert record.__dict__["agent_id"] == "a"
            assert record.__dict__["execution_id"] in record.getMessage()


def levels(caplog: pytest.LogCaptureFixture) -> set[tuple[str, str]]:
    """Which words were said at which level."""
    words = {
        "admitted": "admitted", "at rest": "at rest", "ended": "ended", "adopted": "adopted",
        "made again": "retry", "cannot be written": "unavailable", "listener raised": "listener", "closed in": "closed",
    }  # fmt: skip
    found = set()
    for record in caplog.records:
        for phrase, word in words.items():
            if phrase in record.getMessage():
                found.add((record.levelname, word))
    return found


def test_levels_are_those_that_an_operator_wants(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for scenario in SCENARIOS.values():
            scenario()
    assert levels(caplog) == {
        ("INFO", "admitted"), ("INFO", "at rest"), ("INFO", "ended"), ("INFO", "adopted"),
        ("WARNING", "retry"), ("WARNING", "unavailable"), ("WARNING", "listener"), ("ERROR", "closed"),
    }  # fmt: skip


def test_a_plain_run_is_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(name="a", model=scripted(["done"], record=False))
    with caplog.at_level(logging.DEBUG), World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Completed)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("pawl")]
    name = end.execution_id
    assert ours == [f"execution {name} of agent a: admitted", f"execution {name} of agent a: ended: completed"]


def test_a_trace_that_raises_is_called_once_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> Any:
        agent = Agent(name="a", model=scripted(["done"]))
        async with Runtime("memory://", [agent], trace=trace) as runtime:
            return await runtime.run(agent, "go")

    assert isinstance(asyncio.run(main()), Completed)
    said = [record.getMessage() for record in caplog.records]
    place = f"test_logging.py:{trace.__code__.co_firstlineno + 1}"
    assert [line for line in said if "trace" in line] == [
        f"the trace, which is not called any more, raised ValueError at {place}"
    ]


def test_what_a_listener_raised_is_there_for_who_looks_for_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "pawl.app"):
        SCENARIOS["a listener that raises"]()
    (record,) = [record for record in caplog.records if record.name == "pawl.app" and "listener" in record.getMessage()]
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)
    assert record.__dict__["execution_id"].startswith("x")


def test_a_failure_is_named_by_its_type(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        end = SCENARIOS["a deadline"]()
    assert isinstance(end, Failed)
    assert f"execution {end.execution_id} of agent a: ended: failed (DeadlineExceeded)" in caplog.messages


QUIET = """
import asyncio, logging
from pawl import Agent, Runtime, scripted, ModelError, Retries

async def main():
    agent = Agent(name="a", model=scripted([ModelError("busy", retry_safe=True), "done"]), retries=Retries(first=0.01))
    def deaf(event):
        raise ValueError
    async with Runtime("memory://", [agent], on_event=deaf) as runtime:
        print(type(await runtime.run(agent, "go")).__name__)
    print(logging.getLogger().handlers, logging.getLogger("pawl").level, logging.getLogger().level)

asyncio.run(main())
"""


def test_the_library_configures_no_logging_and_is_silent_without_it(tmp_path: Path) -> None:
    path = {"PYTHONPATH": str(Path(__file__).parents[2] / ".src")}
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, env=path, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("Completed\n[] 0 30\n", "")


def test_where_the_agent_is_not_known_a_record_says_so() -> None:
    assert about("x1", "a") == {"execution_id": "x1", "agent_id": "a"}
    assert about("x1") == {"execution_id": "x1", "agent_id": None}


def test_a_place_is_the_innermost_line_and_no_text() -> None:
    def inner() -> None:
        raise ValueError(SECRET)

    with pytest.raises(ValueError, match=SECRET) as caught:
        inner()
    assert place_of(caught.value) == f"test_logging.py:{inner.__code__.co_firstlineno + 1}"
    assert place_of(ValueError()) == "an unknown place"


def test_where_nobody_listens_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disabled level costs its check, and no text."""
    from pawl.runtime.execution import observed

    logging.getLogger("pawl").setLevel(logging.CRITICAL)
    try:
        monkeypatch.setattr(observed.Observer, "_say", None)
        agent = Agent(name="a", model=scripted([ModelError("busy", retry_safe=True), "done"], record=False))
        with World(agent) as world:
            process = world.open()
            assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
    finally:
        logging.getLogger("pawl").setLevel(logging.NOTSET)


def test_answers_of_models_are_not_logged_even_when_they_make_no_sense(caplog: pytest.LogCaptureFixture) -> None:
    class Odd:
        name = "odd"

        async def complete(self, request: Any) -> Any:
            return ModelAnswer(SECRET, calls=SECRET)  # type: ignore[arg-type]

        async def aclose(self) -> None:
            pass

    with caplog.at_level(logging.DEBUG):
        see_through(Agent(name="a", model=Odd()))
    assert [line for line in told(caplog.records) if SECRET in line] == []
