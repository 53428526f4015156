"""Agent(output_type=…): the schema on its way to the model, corrections, and the value at the end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import attrs
import pytest

from execution.programs import named, single_faults
from pawl import (
    Agent,
    Cancelled,
    Completed,
    Failed,
    InvalidOutput,
    ModelRequest,
    Usage,
    UsageLimits,
    call,
    hang,
    scripted,
    tool,
)
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World
from pawl.sync import Runtime


@attrs.frozen
class Weather:
    """What the weather is."""

    city: str
    celsius: float


ROME = '{"city": "Rome", "celsius": 21}'


@tool(recovery="replay")
def look(city: str) -> str:
    """Look at the sky."""
    return f"sun over {city}"


def forecaster(*answers: Any, output_schema: bool = False, **options: Any) -> Agent[Weather]:
    model = scripted(answers, record=False, output_schema=output_schema)
    return Agent(name="weather", model=model, output_type=Weather, tools=[look], **options)


@attrs.frozen
class Ran:
    """What a run came to, and what is left of it."""

    rest: Any
    requests: list[ModelRequest]
    kinds: list[str]
    iterations: int


def ran(agent: Agent[Any]) -> Ran:
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "how is it?"))
        record = world.record(rest.execution_id)
        return Ran(rest, world.witness.requests, world.kinds(record.agent_id), record.iterations)


def test_the_answer_is_a_value() -> None:
    rest = ran(forecaster(call("look", city="Rome"), ROME)).rest
    assert isinstance(rest, Completed)
    assert rest.value == Weather("Rome", 21.0)
    assert rest.output == ROME


def test_without_an_output_type_the_value_is_the_text() -> None:
    rest = ran(Agent(name="a", model=scripted(["hello"]))).rest
    assert rest.value == "hello"


def test_an_invalid_answer_goes_back_to_the_model_with_what_is_wrong() -> None:
    seen = ran(forecaster("warm", '{"city": "Rome"}', ROME))
    assert seen.rest.value == Weather("Rome", 21.0)
    said = [(message.role, message.text) for message in seen.requests[-1].messages]
    assert [role for role, _ in said] == ["user", "assistant", "user", "assistant", "user"]
    assert "not JSON" in said[2][1]
    assert "celsius: missing" in said[4][1]
    assert seen.iterations == 3
    assert seen.kinds.count("correction") == 2


def test_a_correction_counts_as_an_iteration() -> None:
    seen = ran(forecaster("warm", "warmer", "hot", ROME, max_iterations=3))
    assert isinstance(seen.rest, Failed)
    assert seen.rest.error.type == InvalidOutput.__name__
    assert "not JSON" in seen.rest.error.message
    assert len(seen.requests) == 3


def test_what_was_wrong_is_told_again_where_the_call_behind_it_was_lost() -> None:
    agent = forecaster("warm", ROME)
    with World(agent, faults=[Fault("model#2", "crash_during_effect")]) as world:
        assert isinstance(Client(world, agent).see_through(), Completed)
        lost, again = world.witness.requests[1:]
        assert list(again.messages) == list(lost.messages)
        assert "not JSON" in again.messages[-1].text


def test_a_run_at_a_usage_limit_corrects_nothing() -> None:
    seen = ran(forecaster("warm", ROME, limits=UsageLimits(model_calls=1)))
    assert isinstance(seen.rest, Failed)
    assert seen.rest.error.type == "UsageLimitExceeded"
    assert len(seen.requests) == 1


def test_a_provider_that_takes_a_schema_gets_it_beside_the_instructions() -> None:
    seen = ran(forecaster(ROME, instructions="Be brief.", output_schema=True))
    (request,) = seen.requests
    assert request.instructions == "Be brief."
    assert request.output is not None
    assert request.output.schema["required"] == ["city", "celsius"]


def test_a_provider_that_takes_none_is_told_in_words() -> None:
    agent = Agent(name="a", model=scripted([ROME]), output_type=Weather, instructions="Be brief.")
    ran(agent)
    (request,) = agent.model.requests  # type: ignore[union-attr]
    assert request.instructions.startswith("Be brief.\n\n")
    assert '"celsius"' in request.instructions


def test_a_later_process_gives_the_value_too_and_one_without_the_code_says_so(tmp_path: Path) -> None:
    store, agent = f"sqlite:///{tmp_path}/runs.db", forecaster(ROME)
    with Runtime(store, agents=[agent]) as runtime:
        execution_id = runtime.start(agent, "how is it?").id
        assert runtime.execution(execution_id).wait()
    with Runtime(store, agents=[agent]) as runtime:
        rest = runtime.result(execution_id)
        assert isinstance(rest, Completed)
        assert rest.value == Weather("Rome", 21.0)
    with Runtime(store, agents=[]) as runtime:
        rest = runtime.result(execution_id)
        assert isinstance(rest, Completed)
        assert rest.output == ROME
        with pytest.raises(InvalidOutput, match="no code of its agent"):
            assert rest.value


def test_a_type_that_has_changed_since_is_an_error_at_the_value(tmp_path: Path) -> None:
    store, agent = f"sqlite:///{tmp_path}/runs.db", forecaster(ROME)
    with Runtime(store, agents=[agent]) as runtime:
        execution_id = runtime.start(agent, "how is it?").id
        runtime.execution(execution_id).wait()
    changed = Agent(name="weather", model=scripted([ROME]), output_type=int)
    with Runtime(store, agents=[changed]) as runtime:
        rest = runtime.result(execution_id)
        assert isinstance(rest, Completed)
        with pytest.raises(InvalidOutput):
            assert rest.value


@attrs.frozen
class Slow:
    """Takes for ever to be made."""

    number: int

    def __attrs_post_init__(self) -> None:
        _GATE.wait(60)


_GATE = threading.Event()


def test_a_constructor_that_hangs_holds_neither_the_loop_nor_the_run() -> None:
    agent = Agent(name="a", model=scripted(['{"number": 1}']), output_type=Slow, preparation_timeout=0.05)
    try:
        with Runtime("memory://", agents=[agent], close_timeout=1.0) as runtime:
            rest = runtime.run(agent, "go")
            assert isinstance(rest, Failed)
            assert rest.error.type == "PreparationTimeout"
            _GATE.set()
    finally:
        _GATE.set()


@attrs.frozen
class Exits:
    """Raises what no constructor should."""

    number: int

    def __attrs_post_init__(self) -> None:
        raise SystemExit(self.number)


def test_a_constructor_that_raises_anything_fails_the_run_alone() -> None:
    agent = Agent(name="a", model=scripted(['{"number": 1}']), output_type=Exits)
    with Runtime("memory://", agents=[agent]) as runtime:
        rest = runtime.run(agent, "go")
        assert isinstance(rest, Failed)
        assert rest.error.type == "SystemExit"


def test_a_cancelled_correction_ends_the_run() -> None:
    agent = forecaster("warm", hang(), ROME)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "how is it?"))
        world.settle()
        process.do(process.runtime.cancel(execution.id))
        rest = process.do(execution.terminal())
        assert isinstance(rest, Cancelled)
        assert rest.usage == Usage()


def _faults() -> list[Fault]:
    agent = forecaster(call("look", city="Rome"), "warm", ROME)
    with World(agent) as world:
        Client(world, agent).see_through()
        return single_faults(world)


@pytest.mark.parametrize("fault", _faults(), ids=named)
def test_one_fault_anywhere_around_a_correction_changes_nothing(fault: Fault) -> None:
    agent = forecaster(call("look", city="Rome"), "warm", ROME)
    with World(agent, faults=[fault]) as world:
        rest = Client(world, agent).see_through()
        assert isinstance(rest, Completed)
        assert rest.value == Weather("Rome", 21.0)
        assert world.kinds("weather").count("correction") == 1
