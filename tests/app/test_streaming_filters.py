"""Tokens where an output filter has the last word: nothing is shown before it has passed, or that it blocked."""

from __future__ import annotations

from typing import Any

import pytest

from app.test_streaming import add, streaming, told
from pawl import Agent, Block, Blocked, Completed, Event, EventKind, Failed, call, scripted, streamed
from pawl.runtime.simulation.world import World


def shout(text: str) -> str:
    return text.upper()


def refuse(text: str) -> Block:
    return Block("not fit to print")


def broken(text: str) -> str:
    raise ZeroDivisionError


SCRIPT = [streamed("Let me ", "add.", call("add", a=1, b=2)), streamed("it ", "is ", "three")]


def filtered(*filters: Any, **options: Any) -> Agent:
    return Agent(name="a", model=scripted(SCRIPT, record=False), tools=[add], output_filters=list(filters), **options)


def tokens(events: list[Event]) -> list[str]:
    return [event.data["text"] for event in events if event.kind is EventKind.TOKEN]


def test_only_the_filtered_text_of_the_final_answer_is_shown() -> None:
    whom = filtered(shout)
    with World(whom) as world:
        process = world.open()
        events, rest = streaming(process, whom)
        assert isinstance(rest, Completed)
        assert told(events) == [("tool_call", 4), ("tool_result", 5), "IT IS THREE", ("done", 10)]
        assert [event for event in process.events if event.kind is EventKind.TOKEN] == [
            event for event in events if event.kind is EventKind.TOKEN
        ], "listeners are told no more than consumers"


def test_the_released_text_names_the_call_that_it_is_of() -> None:
    whom = filtered(shout)
    with World(whom) as world:
        events, _ = streaming(world.open(), whom)
        recorded = [e.meta["llm_call_id"] for e in world.journal("a") if str(e.kind) == "llm_call_recorded"]
        (token,) = (event for event in events if event.kind is EventKind.TOKEN)
        assert token.data["llm_call_id"] == recorded[-1]


@pytest.mark.parametrize(("bad", "kind"), [(refuse, Blocked), (broken, Failed)])
def test_nothing_is_shown_of_an_answer_that_did_not_pass(bad: Any, kind: type) -> None:
    whom = filtered(bad)
    with World(whom) as world:
        process = world.open()
        events, rest = streaming(process, whom)
        assert isinstance(rest, kind)
        assert tokens(events) == tokens(process.events) == []


def test_an_agent_may_say_that_tokens_come_unfiltered() -> None:
    whom = filtered(shout, stream_unfiltered=True)
    with World(whom) as world:
        events, rest = streaming(world.open(), whom)
        assert isinstance(rest, Completed)
        assert rest.output == "IT IS THREE"
        assert tokens(events) == ["Let me ", "add.", "it ", "is ", "three"]


def test_nobody_who_streams_is_told_nothing() -> None:
    whom = filtered(shout)
    with World(whom) as world:
        process = world.open()
        process.do(process.runtime.run(whom, "go"))
        assert tokens(process.events) == []


def test_filters_of_the_input_withhold_nothing() -> None:
    whom = Agent(name="a", model=scripted(SCRIPT, record=False), tools=[add], input_filters=[shout])
    with World(whom) as world:
        events, _ = streaming(world.open(), whom)
        assert tokens(events) == ["Let me ", "add.", "it ", "is ", "three"]
