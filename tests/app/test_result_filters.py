"""Filters of tool results: what they pass goes on, and nothing else is ever seen of a result."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from pawl import (
    Agent,
    Block,
    Cancelled,
    Completed,
    Failed,
    FilterQuery,
    Found,
    InvalidArguments,
    NeedsResolution,
    OutcomeUnknown,
    ResultQuery,
    Runtime,
    call,
    scripted,
    tool,
)
from pawl.runtime.loop.pool import JobSkipped
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World

SECRET = "the-launch-code-is-0000"
SEEN: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


def read() -> str:
    """Read a file."""
    return SECRET


async def read_async() -> str:
    return SECRET


def agent(*filters: Any, body: Any = read, own: Any = None, script: Any = None, **options: Any) -> Agent:
    settings = {name: options.pop(name) for name in ("on_error", "timeout", "recovery", "probe") if name in options}
    one = tool(name="read", result_filter=own, **settings)(body)
    return Agent(
        name="reader",
        model=scripted(script or [call("read"), "all done"], record=False),
        tools=[one],
        tool_result_filters=filters,
        **options,
    )


def told(world: World) -> list[str]:
    """What the model was told of its calls."""
    return [message.text for message in world.witness.requests[-1].messages if message.role == "tool"]


def silent(world: World, process: Process, log: str = "") -> None:
    """Nothing of the result is on record, was told, or was logged."""
    texts = [
        repr(process.events),
        repr(world.journal("reader")),
        repr(world.rows(world.records()[0].execution_id)),
        log,
    ]
    assert not [text for text in texts if SECRET in text]
    assert SECRET not in repr([request.messages for request in world.witness.requests])


def ran(one: Agent, **options: Any) -> tuple[World, Process, Any]:
    world = World(one)
    process = world.open(**options)
    return world, process, process.do(process.runtime.run(one, "go"))


def shout(text: str) -> str:
    return text.upper()


async def whisper(text: str) -> str:
    await asyncio.sleep(1)
    return text.lower()


def note(text: str, query: FilterQuery) -> str:
    SEEN.append((text, query))
    return text


@pytest.mark.parametrize("body", [read, read_async])
@pytest.mark.parametrize("own", [shout, whisper])
def test_what_a_filter_returns_is_the_result(body: Any, own: Any) -> None:
    world, process, end = ran(agent(body=body, own=own))
    with world:
        assert isinstance(end, Completed)
        assert told(world) == [SECRET.upper() if own is shout else SECRET.lower()]
        assert [event.data["text"] for event in process.events if event.kind == "tool_result"] == told(world)
        if own is shout:
            silent(world, process)


def test_the_tool_s_own_filter_comes_first_and_then_the_agent_s_in_order() -> None:
    def first(text: str) -> str:
        return text + "1"

    async def second(text: str) -> str:
        return text + "2"

    def third(text: str) -> str:
        return text + "3"

    world, _, _ = ran(agent(second, third, own=first))
    with world:
        assert told(world) == [f"{SECRET}123"]


def test_a_filter_is_told_whose_result_it_is() -> None:
    def look(path: str) -> dict[str, list[int]]:
        return {"a": [1]}

    one = tool(look, result_filter=note)
    both = Agent(
        name="reader",
        model=scripted([call("look", path="/etc"), "done"], record=False),
        tools=[one],
        tool_result_filters=[shout, note],
    )
    with World(both) as world:
        process = world.open(deps={"who": "ops"})
        end = process.do(process.runtime.run(both, "go", durable_context={"tenant": 7}))
        assert isinstance(end, Completed)
        (text, query), (later, again) = SEEN
        assert (text, later) == ('{"a":[1]}', '{"A":[1]}')
        assert isinstance(query, ResultQuery)
        assert (query.stage, query.tool, query.tool_call_id, query.deps) == (
            "tool_result",
            "look",
            "c1",
            {"who": "ops"},
        )
        assert (dict(query.arguments), dict(query.durable_context)) == ({"path": "/etc"}, {"tenant": 7})
        assert (query.agent_id, query.definition, query.version) == ("reader", "reader", 1)
        assert query.value == {"a": [1]}
        assert again.value is None  # what it is now was made by a filter
        with pytest.raises(TypeError, match="frozen"):
            query.arguments["path"] = "/"  # type: ignore[index]


def test_a_blocked_result_is_told_as_withheld_and_the_run_goes_on() -> None:
    def block(text: str) -> Block:
        return Block("it holds a launch code")

    world, process, end = ran(agent(block, note))
    with world:
        assert isinstance(end, Completed)
        assert told(world) == ["the result was withheld: it holds a launch code"]
        assert SEEN == []
        silent(world, process)


def test_a_block_without_a_reason_names_the_filter() -> None:
    def careful(text: str) -> Block:
        return Block()

    world, _, _ = ran(agent(careful))
    with world:
        assert told(world) == ["the result was withheld: blocked by the tool result filter 'careful'"]


def raises(text: str) -> str:
    raise ValueError(f"bad: {text}")


async def raises_async(text: str) -> str:
    raise LookupError(text)


def exits(text: str) -> str:
    raise SystemExit(text)


def returns_bytes(text: str) -> Any:
    return text.encode()


def returns_nothing(text: str) -> Any:
    return None


def returns_coroutine(text: str) -> Any:
    return whisper(text)


def returns_surrogate(text: str) -> str:
    return f"{text}\ud800"


def returns_too_much(text: str) -> str:
    return text * 100_000


BROKEN = {
    raises: "the tool result filter 'raises' failed with ValueError; the result is withheld",
    raises_async: "the tool result filter 'raises_async' failed with LookupError; the result is withheld",
    returns_bytes: "the tool result filter 'returns_bytes' returned a bytes instead of text or Block(reason)",
    returns_nothing: "the tool result filter 'returns_nothing' returned a NoneType instead of text",
    returns_coroutine: "the tool result filter 'returns_coroutine' returned a coroutine instead of text",
    returns_surrogate: "the tool result filter 'returns_surrogate' returned text that is not Unicode",
    returns_too_much: "returned 2300000 bytes, more than the 1048576 that a result may have; the result is withheld",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda one: one.__name__)
def test_a_filter_that_fails_fails_the_call_and_nothing_leaks(broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    world, process, end = ran(agent(broken, note))
    with world:
        assert isinstance(end, Completed)
        assert BROKEN[broken] in told(world)[0]
        assert SEEN == []
        silent(world, process, caplog.text)
        assert [str(row.status) for row in world.rows(end.execution_id)] == ["failed"]


def test_a_filter_that_fails_ends_the_run_where_the_tool_says_so() -> None:
    world, process, end = ran(agent(raises, on_error="fail"))
    with world:
        assert isinstance(end, Failed)
        assert "failed with ValueError; the result is withheld" in end.error.message
        silent(world, process)


def test_a_body_that_fails_is_not_filtered() -> None:
    def fails() -> str:
        raise LookupError("no such file")

    world, _, _ = ran(agent(note, body=fails))
    with world:
        assert told(world) == ["error: no such file"]
        assert SEEN == []


# time -------------------------------------------------------------------------------------------------------------


async def hangs(text: str) -> str:
    await asyncio.sleep(1000)
    return text


def test_a_filter_that_hangs_is_stopped_and_the_call_fails() -> None:
    world, process, end = ran(agent(hangs, preparation_timeout=7.0))
    with world:
        assert isinstance(end, Completed)
        assert told(world) == ["error: the tool result filter 'hangs' took over 7 s; the result is withheld"]
        assert world.now - 1_800_000_000 < 8
        silent(world, process)


async def deaf(text: str) -> str:
    for _ in range(20):
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            continue
    return "at last"


def test_a_filter_that_does_not_listen_is_waited_for_and_what_it_says_counts() -> None:
    world, _, end = ran(agent(deaf, preparation_timeout=7.0))
    with world:
        assert isinstance(end, Completed)
        assert told(world) == ["at last"]


def test_a_filter_that_never_ends_closes_the_run_when_it_was_waited_for_long_enough() -> None:
    async def never(text: str) -> str:
        while True:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                continue

    one = agent(never, preparation_timeout=7.0, drain_timeout=20.0)
    world = World(one)
    process = world.open()
    with pytest.raises(OutcomeUnknown):
        process.do(process.runtime.run(one, "go"))
    world.close()


def test_a_cancellation_waits_for_the_filter_and_the_filtered_result_is_on_record() -> None:
    one = agent(whisper)
    with World(one) as world:
        process = world.open()
        execution = process.do(process.runtime.start(one, "go"))
        world.advance(0.5)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution.terminal()), Cancelled)
        (row,) = world.rows(execution.id)
        assert str(row.status) == "completed"


def test_a_process_that_is_lost_while_a_filter_runs_leaves_the_call_pending() -> None:
    one = agent(whisper)
    with World(one) as world:
        process = world.open()
        execution = process.do(process.runtime.start(one, "go"))
        world.advance(0.5)
        world.lose(process)
        second = world.open()
        assert isinstance(second.do(second.runtime.result(execution.id)), NeedsResolution)
        silent(world, second)


# probes -----------------------------------------------------------------------------------------------------------


def found(key: str) -> Found:
    return Found(SECRET)


@pytest.mark.parametrize(
    ("own", "kind", "text"),
    [
        (shout, Completed, SECRET.upper()),
        (lambda text: Block("secret"), Completed, "the result was withheld: secret"),
        (raises, NeedsResolution, None),
    ],
    ids=["passed", "blocked", "failed"],
)
def test_a_result_that_a_probe_has_found_is_filtered_as_well(own: Any, kind: type[Any], text: str | None) -> None:
    one = agent(own=own, recovery="probe", probe=found)
    with World(one, faults=[Fault("tool:read#1", "crash_during_effect")]) as world:
        first = world.open()
        execution = first.do(first.runtime.start(one, "go"))
        world.settle()
        second = world.open()
        world.settle()
        end = second.do(second.runtime.result(execution.id))
        assert isinstance(end, kind)
        if text is not None:
            assert told(world) == [text]
        silent(world, second)


# in threads -------------------------------------------------------------------------------------------------------


def test_a_blocking_filter_runs_on_the_pool_and_an_async_one_on_the_loop() -> None:
    threads: dict[str, bool] = {}

    def blocking(text: str) -> str:
        threads["blocking"] = threading.current_thread() is threading.main_thread()
        return text

    async def asynchronous(text: str) -> str:
        threads["asynchronous"] = threading.current_thread() is threading.main_thread()
        return text

    one = agent(blocking, asynchronous, own=blocking)

    async def main() -> Any:
        async with Runtime("memory://", [one]) as runtime:
            return await runtime.run(one, "go")

    assert isinstance(asyncio.run(main()), Completed)
    assert threads == {"blocking": False, "asynchronous": True}


def test_a_filter_that_exits_is_a_filter_that_fails() -> None:
    one = agent(exits)

    async def main() -> Any:
        async with Runtime("memory://", [one]) as runtime:
            end = await runtime.run(one, "go")
            history = await (await runtime.execution(end.execution_id)).history()
            return [event.data["text"] for event in history if event.kind == "tool_result"]

    assert asyncio.run(main()) == [
        "error: the tool result filter 'exits' failed with SystemExit; the result is withheld"
    ]


def test_a_filter_that_finds_the_pool_full_withholds_the_result() -> None:
    async def body() -> str:
        process.environment.full = True
        return SECRET

    one = agent(body=body, own=shout)
    with World(one) as world:
        process = world.open()
        execution = process.do(process.runtime.start(one, "go"))
        world.settle()
        process.environment.full = False
        assert isinstance(process.do(execution.terminal()), Completed)
        assert told(world) == [
            "error: the result filter 'shout' could not be asked: Backpressure; the result is withheld"
        ]
        silent(world, process)


# what may be a filter ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (5, "tool read: result_filter: 5 is no result filter; give a function, async or not"),
        (str, "the class str is no result filter"),
        (lambda: "", "takes none, and is given 1 or 2; a result filter takes the text, or the text and a ResultQuery"),
        (lambda a, b, c: "", "takes 3 arguments, and is given 1 or 2"),
    ],
)
def test_what_cannot_be_a_filter_is_refused(given: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        tool(read, result_filter=given)
    assert says in str(caught.value)


class Unwritable(str):
    """Text that is none of its own making."""

    def encode(self, *_: Any, **__: Any) -> bytes:
        raise ValueError(f"not {SECRET}")


class Hollow(Block):
    """A block that does not give its reason."""

    def __getattribute__(self, name: str) -> Any:
        if name == "reason":
            raise SystemExit(SECRET)
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: Unwritable("fine"), "fine"),
        (lambda: Block(Unwritable("secret things")), "the result was withheld: secret things"),
        (Hollow, "returned what raises SystemExit when it is read; the result is withheld"),
    ],
    ids=["text", "reason", "no reason"],
)
def test_what_a_filter_returns_cannot_hold_up_the_run_by_code_of_its_own(made: Any, says: str) -> None:
    world, process, end = ran(agent(lambda text: made()))
    with world:
        assert isinstance(end, Completed)
        assert told(world)[0].endswith(says)
        silent(world, process)


def test_a_filter_that_no_thread_was_free_for_is_not_said_to_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    one = agent(shout, body=read_async, preparation_timeout=7)
    with World(one) as world:
        process = world.open()

        class Queued:
            def __init__(self, _: Any, done: Any) -> None:
                self._done = done

            def cancel(self) -> None:
                process.environment.soon(lambda: self._done(None, JobSkipped()))

        monkeypatch.setattr(process.environment, "offload", Queued)
        assert isinstance(process.do(process.runtime.run(one, "go")), Completed)
        says = "error: no thread was free for the tool result filter 'shout' within 7 s; the result is withheld"
        assert told(world) == [says]


@pytest.mark.parametrize(("waits", "takes", "asked_to_stop"), [(6, 6, False), (6, 8, True)])
def test_the_time_of_a_filter_begins_when_it_does(
    waits: float, takes: float, asked_to_stop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(text: str) -> str:
        process.environment.takes(takes)
        return text.upper()

    one = agent(slow, body=read_async, preparation_timeout=7)
    with World(one) as world:
        process = world.open()
        offload = process.environment.offload
        monkeypatch.setattr(
            process.environment,
            "offload",
            lambda body, done: process.environment.later(waits, lambda: offload(body, done)),
        )
        assert isinstance(process.do(process.runtime.run(one, "go")), Completed)
        assert told(world) == [SECRET.upper()]
        assert any(move.target == "stopping" for _, _, move in world.moves) is asked_to_stop
