"""Input and output filters in a run: what goes on, what is blocked, and what becomes of filters that misbehave."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pawl import (
    Agent,
    Block,
    Blocked,
    Cancelled,
    Completed,
    Failed,
    FilterQuery,
    InvalidArguments,
    Rejected,
    Rest,
    Runtime,
    Suspended,
    call,
    calls,
    scripted,
    sync,
    tool,
)
from pawl.runtime.execution.preparation import Preparation
from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World


def loud(text: str) -> str:
    return text.upper()


async def marked(text: str, query: FilterQuery) -> str:
    await asyncio.sleep(1)
    return f"{text} ({query.stage})"


def run(agent: Agent, text: str = "hello", **options: Any) -> tuple[Rest, list[JournalRecord]]:
    """What it came to, and its journal."""
    with World(agent, **options) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, text, durable_context={"user": 7}))
        return rest, world.journal("a")


def kinds(journal: list[JournalRecord]) -> list[str]:
    return [str(entry.kind) for entry in journal]


def echo(**options: Any) -> Agent:
    """Says what it is told."""
    model = scripted([lambda request: f"You said {request.messages[-1].text}"] * 3)
    return Agent(name="a", model=model, **options)


def test_filters_run_in_order_and_what_they_make_is_what_the_model_and_later_runs_see() -> None:
    agent = echo(input_filters=[loud, marked, str.strip])
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "  hello  "))
        assert isinstance(rest, Completed)
        assert rest.output == "You said HELLO   (input)"
        bodies = {entry.kind: entry.body for entry in world.journal("a")}
        assert bodies[JournalKind.INPUT_RECEIVED] == "  hello  "
        assert bodies[JournalKind.EXTERNAL_MESSAGE] == "HELLO   (input)"


def test_output_filters_change_what_the_caller_gets_and_not_what_the_model_said() -> None:
    rest, journal = run(echo(output_filters=[loud, marked]))
    assert isinstance(rest, Completed)
    assert rest.output == "YOU SAID HELLO (output)"
    said = [entry.body for entry in journal if entry.kind is JournalKind.ASSISTANT_MESSAGE]
    assert said == ["You said hello"]


def test_a_filter_is_told_whose_text_it_is() -> None:
    asked: list[FilterQuery] = []

    def look(text: str, query: FilterQuery) -> str:
        asked.append(query)
        return text

    rest, _ = run(echo(input_filters=[look], output_filters=[look], version=3), deps="database")
    assert isinstance(rest, Completed)
    first, last = asked
    assert (first.stage, last.stage) == ("input", "output")
    assert (first.agent_id, first.definition, first.version) == ("a", "a", 3)
    assert (first.execution_id, first.deps) == (rest.execution_id, "database")
    assert first.durable_context == {"user": 7}
    with pytest.raises(TypeError, match="frozen"):
        first.durable_context["user"] = 8  # type: ignore[index]


def test_a_blocked_input_ends_the_run_before_any_model_call() -> None:
    never: list[str] = []
    rest, journal = run(echo(input_filters=[lambda text: Block("no greetings"), never.append]))
    assert isinstance(rest, Blocked)
    assert (rest.error.type, rest.error.message) == ("FilterBlocked", "no greetings")
    assert kinds(journal) == ["input_received", "execution_blocked"]
    assert never == []


def test_a_blocked_output_is_not_the_callers_but_its_call_is_paid_for() -> None:
    async def censor(text: str) -> str | Block:
        return Block() if "hello" in text else text

    rest, journal = run(echo(output_filters=[censor]))
    assert isinstance(rest, Blocked)
    assert rest.error.message == "blocked by the output filter 'censor'"
    assert "llm_call_recorded" in kinds(journal)
    assert "final_output" not in kinds(journal)


class Odd(Exception):
    """An application's own."""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Callable[[str], str]:
    def broken(text: str) -> str:
        raise error

    return broken


def raising_later(error: BaseException) -> Callable[[str], Any]:
    async def broken(text: str) -> str:
        raise error

    return broken


@pytest.mark.parametrize("stage", ["input", "output"])
@pytest.mark.parametrize("kind", [raising, raising_later])
@pytest.mark.parametrize(
    ("error", "type_", "said"),
    [
        (Odd("away"), "Odd", "away"),
        (Odd(), "Odd", "it raised"),
        (Mute(), "Mute", "the error cannot be shown: its __str__ raises"),
        (KeyError("\ud800"), "KeyError", "'\\ud800'"),
    ],
)
def test_a_filter_that_raises_fails_the_run_with_its_error(
    stage: str, kind: Callable[[BaseException], Any], error: Exception, type_: str, said: str
) -> None:
    rest, _ = run(echo(**{f"{stage}_filters": [kind(error)]}))
    assert isinstance(rest, Failed)
    assert rest.error.type == type_
    assert rest.error.message == f"{stage} filter 'broken': {said}"


def test_not_even_a_filter_that_stops_an_iteration_or_exits_stops_anything_else() -> None:
    for error in (StopIteration("over"), SystemExit(3), asyncio.CancelledError()):
        agent = echo(input_filters=[raising(error)])
        with sync.Runtime("memory://", agents=[agent]) as runtime:
            rest = runtime.run(agent, "hello")
            assert isinstance(rest, Failed)
            assert rest.error.type == type(error).__name__


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "it returned None; return the text that goes on, or Block(reason)"),
        (7, "it returned a value of type int; return"),
        (True, "it returned a value of type bool; return"),
        (b"bytes", "it returned a value of type bytes; return"),
        (Block, "it returned a value of type type; return"),
        ("\ud800", "it returned no Unicode text (a lone surrogate at character 0)"),
        ((one for one in "ab"), "it returned a value of type generator"),
    ],
)
def test_a_filter_that_returns_something_else_fails_the_run_and_is_named(value: object, said: str) -> None:
    rest, journal = run(echo(output_filters=[lambda text: value]))
    assert isinstance(rest, Failed)
    assert rest.error.type in ("TypeError", "ValueError")
    assert rest.error.message.startswith(f"output filter '<lambda>': {said}")
    assert kinds(journal)[-1] == "execution_failed"


def test_a_reason_that_is_no_text_is_shown_all_the_same() -> None:
    for reason, shown in ((7, "7"), ("\ud800", "\\ud800")):
        rest, _ = run(echo(input_filters=[lambda text, reason=reason: Block(reason)]))
        assert isinstance(rest, Blocked)
        assert rest.error.message == shown


def test_a_plain_function_that_returns_an_awaitable_is_awaited() -> None:
    rest, _ = run(echo(input_filters=[lambda text: asyncio.sleep(1, result=loud(text))]))
    assert isinstance(rest, Completed)
    assert rest.output == "You said HELLO"


@pytest.mark.parametrize("stage", ["input", "output"])
def test_an_async_filter_that_hangs_is_abandoned_and_the_run_fails(stage: str) -> None:
    stopped: list[str] = []

    async def hangs(text: str) -> str:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            stopped.append(text)
        return text

    agent = echo(preparation_timeout=7, **{f"{stage}_filters": [hangs]})
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "hello"))
        assert isinstance(rest, Failed)
        assert rest.error.type == "PreparationTimeout"
        assert "7 s" in rest.error.message
        assert len(stopped) == 1
        assert 7 <= world.clock.time < 8


def test_a_blocking_filter_that_hangs_holds_neither_the_run_nor_the_next_one() -> None:
    gate = threading.Event()

    def hangs(text: str) -> str:
        if text == "hang":
            gate.wait(60)
        return text

    agent = echo(input_filters=[hangs], preparation_timeout=0.05)
    try:
        with sync.Runtime("memory://", agents=[agent], close_timeout=1.0) as runtime:
            rest = runtime.run(agent, "hang")
            assert isinstance(rest, Failed)
            assert rest.error.type == "PreparationTimeout"
            assert isinstance(runtime.run(agent, "go on"), Completed)
    finally:
        gate.set()


@pytest.mark.parametrize("stage", ["input", "output"])
def test_a_filter_that_no_thread_was_free_for_is_not_said_to_be_slow(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    agent = echo(preparation_timeout=7, **{f"{stage}_filters": [asked.append]})
    with World(agent) as world:
        process = world.open()
        queued: list[Any] = []
        monkeypatch.setattr(process.environment, "offload", lambda body, done: Queued(queued))
        rest = process.do(process.runtime.run(agent, "hello"))
        assert isinstance(rest, Failed)
        assert rest.error.type == "PreparationTimeout"
        assert f"no thread was free for the {stage} filter 'append' of " in rest.error.message
        assert "7 s" in rest.error.message
        assert queued == ["cancelled"]
        assert not asked


@pytest.mark.parametrize("stage", ["input", "output"])
@pytest.mark.parametrize(
    ("waits", "takes", "count", "says"),
    [
        (6, 6, 1, ""),
        (3, 3, 2, ""),
        (6, 8, 1, "took longer than its 7 s"),
        (3, 4, 2, "took longer than its 7 s"),
        (8, 1, 1, "no thread was free for the {} filter 'slow' of a within 7 s"),
        (4, 1, 2, "no thread was free for the {} filter 'slow' of a within 7 s"),
    ],
)
def test_the_time_of_filters_begins_when_they_do_and_they_wait_for_threads_as_long_again(
    stage: str, waits: float, takes: float, count: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with World() as world:

        def slow(text: str) -> str:
            process.environment.takes(takes)
            return text

        agent = echo(preparation_timeout=7, **{f"{stage}_filters": [slow] * count})
        process = world.open(agent)
        offload = process.environment.offload
        monkeypatch.setattr(
            process.environment,
            "offload",
            lambda body, done: process.environment.later(waits, lambda: offload(body, done)),
        )
        rest = process.do(process.runtime.run(agent, "hello"))
        if not says:
            assert isinstance(rest, Completed)
            assert count * (waits + takes) <= world.clock.time < count * (waits + takes) + 1
        else:
            assert isinstance(rest, Failed)
            assert rest.error.type == "PreparationTimeout"
            assert says.format(stage) in rest.error.message
            assert 7 <= world.clock.time <= 15


class Queued:
    """A body that waits for a thread."""

    def __init__(self, told: list[Any]) -> None:
        self._told = told

    def cancel(self) -> bool:
        self._told.append("cancelled")
        return True


def held(stage: str) -> tuple[Agent, list[asyncio.Future[None]]]:
    """An agent whose filter waits until somebody resolves its future."""
    waiting: list[asyncio.Future[None]] = []

    async def waits(text: str) -> str:
        waiting.append(asyncio.get_running_loop().create_future())
        await asyncio.shield(waiting[-1])
        return text

    return echo(**{f"{stage}_filters": [waits]}), waiting


@pytest.mark.parametrize("stage", ["input", "output"])
def test_a_run_is_cancelled_in_the_middle_of_a_filter(stage: str) -> None:
    agent, waiting = held(stage)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "hello"))
        world.settle()
        assert len(waiting) == 1
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution.terminal()), Cancelled)
        waiting[0].set_result(None)
        world.settle()
        assert world.kinds("a")[-1] == "execution_cancelled"


def test_a_filter_that_swallows_its_cancellation_is_waited_for_by_nobody() -> None:
    ended: list[str] = []

    async def stubborn(text: str) -> str:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(1000)
        ended.append(text)
        return text

    agent = echo(input_filters=[stubborn])
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "hello"))
        world.settle()
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution.terminal(), within=5), Cancelled)
        world.advance(2000)
        assert ended == ["hello"]
        assert process.dropped == {}  # what was abandoned is not even an event


def test_a_process_that_is_lost_in_a_filter_is_made_up_for() -> None:
    agent, waiting = held("input")
    with World(agent) as world:
        first = world.open()
        execution = first.do(first.runtime.start(agent, "hello", id="r1"))
        world.settle()
        world.lose(first)
        second = world.open()
        again = second.do(second.runtime.start(agent, "hello", id="r1"))
        assert again.id == execution.id
        world.settle()
        assert len(waiting) == 2  # at least once
        waiting[1].set_result(None)
        assert isinstance(second.do(again.terminal()), Completed)


def test_a_full_pool_is_the_runs_failure_and_nothing_else() -> None:
    agent = echo(input_filters=[loud])
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.open(agent, "a"))
        started = process.begin(execution.start("hello"))
        process.environment.full = True
        rest = process.do(_rest(process, started))
        assert isinstance(rest, Failed)
        assert rest.error.type == "Backpressure"


async def _rest(process: Process, started: Any) -> Rest:
    return await (await started)


def test_filters_of_typed_output_see_valid_text_and_must_leave_it_valid() -> None:
    seen: list[str] = []

    def look(text: str) -> str:
        seen.append(text)
        return text.replace("1", "x") if "11" in text else text

    @attrs.frozen
    class Number:
        number: int

    model = scripted(["no number", '{"number": 2}', '{"number": 11}'])
    agent = Agent(name="a", model=model, output_type=Number, output_filters=[look])
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "a number"))
        assert isinstance(rest, Completed)
        assert rest.value == Number(2)
        assert seen == ['{"number": 2}']
        rest = process.do(process.runtime.run(agent, "another"))
        assert isinstance(rest, Failed)
        assert rest.error.type == "InvalidOutput"
        assert rest.error.message.startswith("output filters: their text is not of the output type")


def test_what_a_rejected_run_had_said_is_not_given_out_past_its_filters() -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    for filters, output in (([], "the secret is 7"), ([loud], "")):
        said = calls(call("pay"), text="the secret is 7")
        agent = Agent(name="a", model=scripted([said]), tools=[pay], output_filters=filters)
        with World(agent) as world:
            process = world.open()
            rest = process.do(process.runtime.run(agent, "go"))
            assert isinstance(rest, Suspended)
            rest = process.do(process.runtime.decide(rest.request.id, approve=False))
            assert isinstance(rest, Rejected)
            assert rest.output == output


def test_an_agent_without_any_of_it_starts_no_work_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("work was started")

    monkeypatch.setattr(Preparation, "filter", refuse)
    monkeypatch.setattr(Preparation, "request", refuse)
    rest, _ = run(echo())
    assert isinstance(rest, Completed)
    for filters in ({"input_filters": [loud]}, {"output_filters": [loud]}, {"before_llm": [lambda query: None]}):
        rest, _ = run(echo(**filters))
        assert isinstance(rest, Failed)
        assert rest.error.message == "work was started"


CASES = [
    ({"input_filters": loud}, "agent a: input_filters=<function loud", "must be a list; put it in brackets: [loud]"),
    ({"output_filters": ["x"]}, "agent a: output_filters[0]: 'x' is no output filter", "give a function"),
    ({"output_filters": [str]}, "agent a: output_filters[0]: the class str is no output filter", "give a function"),
    (
        {"input_filters": [loud, lambda: ""]},
        "agent a: input_filters[1]: '<lambda>' takes none",
        "the text, or the text and a FilterQuery",
    ),
    ({"input_filters": [lambda a, b, c: ""]}, "agent a: input_filters[0]: '<lambda>' takes 3 arguments", "1 or 2"),
    ({"tool_result_filters": [lambda a, *, b: ""]}, "agent a: tool_result_filters[0]", "wants the keyword 'b'"),
    ({"tool_result_filters": "x"}, "agent a: tool_result_filters='x'", "must be a list"),
    ({"stream_unfiltered": 1}, "agent a: stream_unfiltered=1", "must be True or False"),
    ({"preparation_timeout": 0}, "agent a: preparation_timeout=0", "must be a number of seconds above 0"),
]


@pytest.mark.parametrize(("options", "place", "said"), CASES)
def test_a_filter_that_cannot_be_one_is_refused_where_it_is_given(
    options: dict[str, Any], place: str, said: str
) -> None:
    with pytest.raises(InvalidArguments) as error:
        echo(**options)
    assert str(error.value).startswith(place)
    assert said in str(error.value)


def test_filters_work_on_a_real_loop_and_file(tmp_path: Any) -> None:
    agent = echo(input_filters=[loud, lambda text: asyncio.sleep(0, result=text)], output_filters=[loud])

    async def main() -> Rest:
        async with Runtime(f"sqlite:///{tmp_path / 'runs.db'}", agents=[agent]) as runtime:
            return await runtime.run(agent, "hello")

    rest = asyncio.run(main())
    assert isinstance(rest, Completed)
    assert rest.output == "YOU SAID HELLO"


@pytest.mark.parametrize("error", [KeyError("boo"), SystemExit(3), asyncio.CancelledError(), BaseException("boo")])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_filter_is_named_whatever_it_raises_async_or_not(error: BaseException, is_async: bool) -> None:
    def fails(text: str) -> str:
        raise error

    async def fails_async(text: str) -> str:
        raise error

    fails_async.__name__ = "fails"
    agent = echo(input_filters=[fails_async if is_async else fails])
    with sync.Runtime("memory://", agents=[agent]) as runtime:
        rest = runtime.run(agent, "hello")
    assert isinstance(rest, Failed)
    assert rest.error.type == type(error).__name__
    assert rest.error.message == f"input filter 'fails': {error if str(error) else 'it raised'}"
